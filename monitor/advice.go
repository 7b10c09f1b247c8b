package monitor

import (
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

// Task is what a router knows of a request before it is sent. What is absent is
// not asked for.
type Task struct {
	// Private says that the text must not leave this machine.
	Private bool `json:"private,omitzero"`
	// Context is the length of the prompt and Output that of the answer, in tokens.
	Context *int `json:"context_tokens,omitempty"`
	Output  *int `json:"output_tokens,omitempty"`
	// Interactive says that somebody waits for the first words.
	Interactive bool `json:"interactive,omitzero"`
	// Demanding says that a larger model than fits here would answer better.
	Demanding bool `json:"demanding,omitzero"`
	// Model is the local model that would do it; "" is the one used last.
	Model string `json:"model,omitzero"`
	// Boundary is where local work ends; absent parts have their defaults.
	Boundary Boundary `json:"boundary,omitzero"`
	Prices   *Prices  `json:"prices,omitempty"`
}

// Boundary is up to where a machine like this one serves well. The defaults are
// what people with 32 GB Macs find.
type Boundary struct {
	Context *int `json:"context_tokens,omitempty"` // 8,192
	Output  *int `json:"output_tokens,omitempty"`  // 1,024
	// Queue is how many requests at once, this one included: 2.
	Queue *int `json:"requests_at_once,omitempty"`
	// TTFT is how late a first token may come and Decode the least rate: fit.Usable.
	TTFT   *float64 `json:"ttft_seconds,omitempty"`
	Decode *float64 `json:"decode_tokens_per_second,omitempty"`
}

// The defaults of a Boundary.
const (
	BoundaryContext = 8192
	BoundaryOutput  = 1024
	BoundaryQueue   = 2
)

// Prices make a month's cost of both. In and Out are per million tokens, KWh per
// kilowatt hour, all in one currency.
type Prices struct {
	In             *float64 `json:"in_per_million_tokens,omitempty"`
	Out            *float64 `json:"out_per_million_tokens,omitempty"`
	KWh            *float64 `json:"per_kilowatt_hour,omitempty"`
	RequestsPerDay *float64 `json:"requests_per_day,omitempty"`
}

// Advice says where a task belongs.
type Advice struct {
	Choice Choice `json:"choice"`
	// Vetoes speak against one side each, in the order in which they count.
	Vetoes []Veto `json:"vetoes,omitempty"`
	// Model is the local model it was judged by. Absent when there is none.
	Model string `json:"model,omitzero"`
	// TTFT, Decode and Seconds are what the task would take here, by this model's
	// own requests so far. Absent where nothing measured tells them.
	TTFT    *float64 `json:"expected_ttft_seconds,omitempty"`
	Decode  *float64 `json:"expected_decode_tokens_per_second,omitempty"`
	Seconds *float64 `json:"expected_seconds,omitempty"`
	Cost    *Cost    `json:"cost,omitempty"`
}

// Choice is where a task belongs.
type Choice string

const (
	ChooseLocal  Choice = "local"
	ChooseCloud  Choice = "cloud"
	ChooseEither Choice = "either"
)

// Veto is a reason against one side.
type Veto struct {
	Against Choice     `json:"against"`
	Reason  VetoReason `json:"reason"`
	// Have is what there is and Bound what it is held against, in the unit of the
	// reason: tokens, requests, seconds, tokens/s. Absent where there is no number.
	Have  *float64 `json:"have,omitempty"`
	Bound *float64 `json:"bound,omitempty"`
}

// VetoReason names a veto.
type VetoReason string

// The vetoes, the strongest first. Privacy is final: no other one outweighs it.
const (
	VetoPrivate   VetoReason = "private"   // against the cloud
	VetoNoServer  VetoReason = "no_server" // no local server answers
	VetoNoModel   VetoReason = "no_model"  // no local model, or not this one
	VetoContext   VetoReason = "context"   // tokens over the boundary
	VetoOutput    VetoReason = "output"    // tokens over the boundary
	VetoQueue     VetoReason = "queue"     // requests at once over the boundary
	VetoSwapping  VetoReason = "swapping"  // the machine swaps now
	VetoThrottled VetoReason = "throttled" // the GPU is slowed, and somebody waits
	VetoTTFT      VetoReason = "ttft"      // too long until the first word, and somebody waits
	VetoDecode    VetoReason = "decode"    // too slow to read along, and somebody waits
	VetoDemanding VetoReason = "demanding" // a better model is wanted than fits
)

// daysOfMonth is what a month's cost counts.
const daysOfMonth = 365.0 / 12

// Cost is a month's cost in the currency of the prices.
type Cost struct {
	Cloud *float64 `json:"cloud_per_month,omitempty"`
	// Local is electricity for the GPU alone, absent without a price for it, a
	// measured power or a measured rate. LocalHours is how long the machine works.
	Local      *float64 `json:"local_per_month,omitempty"`
	LocalHours *float64 `json:"local_hours_per_month,omitempty"`
}

// Advise says where a task belongs, from a snapshot of this machine. swapping tells
// that the alert of that name stands.
func Advise(t Task, s *Snapshot, swapping bool) Advice {
	b := t.Boundary.filled()
	a := Advice{Model: localModel(t, s)}
	if speed := find(s.Speeds, func(sp *request.Speed) bool { return sp.Model == a.Model }); speed != nil {
		a.expect(t, speed)
	}
	veto := func(against Choice, holds bool, reason VetoReason, have, bound float64) {
		if !holds {
			return
		}
		v := Veto{Against: against, Reason: reason}
		if bound > 0 {
			v.Have, v.Bound = &have, &bound
		}
		a.Vetoes = append(a.Vetoes, v)
	}
	number := func(n *int) float64 {
		if n == nil {
			return 0
		}
		return float64(*n)
	}
	waiting := float64(inFlight(s) + 1)
	veto(ChooseCloud, t.Private, VetoPrivate, 0, 0)
	veto(ChooseLocal, !answers(s), VetoNoServer, 0, 0)
	veto(ChooseLocal, answers(s) && a.Model == "", VetoNoModel, 0, 0)
	veto(ChooseLocal, number(t.Context) > number(b.Context), VetoContext, number(t.Context), number(b.Context))
	veto(ChooseLocal, number(t.Output) > number(b.Output), VetoOutput, number(t.Output), number(b.Output))
	veto(ChooseLocal, waiting > number(b.Queue), VetoQueue, waiting, number(b.Queue))
	veto(ChooseLocal, swapping, VetoSwapping, 0, 0)
	veto(ChooseLocal, t.Interactive && s.Throttle != nil && s.Throttle.Throttled, VetoThrottled, 0, 0)
	if a.TTFT != nil {
		veto(ChooseLocal, t.Interactive && *a.TTFT > *b.TTFT, VetoTTFT, *a.TTFT, *b.TTFT)
	}
	if a.Decode != nil {
		veto(ChooseLocal, t.Interactive && *a.Decode < *b.Decode, VetoDecode, *a.Decode, *b.Decode)
	}
	veto(ChooseLocal, t.Demanding, VetoDemanding, 0, 0)
	a.Choice = choose(t, a.Vetoes)
	a.Cost = cost(t, s, a.Seconds)
	return a
}

// Advise says where a task belongs now. See the function of that name.
func (m *Monitor) Advise(t Task) Advice {
	m.mu.Lock()
	u := m.latest
	m.mu.Unlock()
	return u.Advise(t)
}

// Advise says where a task belongs, by an update of this machine.
func (u Update) Advise(t Task) Advice {
	s := u.Snapshot
	if s == nil {
		s = &Snapshot{}
	}
	return Advise(t, s, find(u.Alerts, func(a *Alert) bool { return a.Rule == "swapping" || a.Rule == "swap_full" }) != nil)
}

// choose: what must not leave stays; else what speaks against this machine sends
// it away; else it may go either way.
func choose(t Task, vetoes []Veto) Choice {
	switch {
	case t.Private:
		return ChooseLocal
	case find(vetoes, func(v *Veto) bool { return v.Against == ChooseLocal }) != nil:
		return ChooseCloud
	}
	return ChooseEither
}

// filled is the boundary with the defaults in place of what is absent or no number.
func (b Boundary) filled() Boundary {
	for _, p := range []struct {
		at    **int
		usual int
	}{{&b.Context, BoundaryContext}, {&b.Output, BoundaryOutput}, {&b.Queue, BoundaryQueue}} {
		if *p.at == nil || **p.at <= 0 {
			*p.at = new(p.usual)
		}
	}
	for _, p := range []struct {
		at    **float64
		usual float64
	}{{&b.TTFT, fit.Usable.TTFT}, {&b.Decode, fit.Usable.Decode}} {
		if *p.at = positive(*p.at); *p.at == nil {
			*p.at = new(p.usual)
		}
	}
	return b
}

// expect fills in what a task takes by a model's own medians.
func (a *Advice) expect(t Task, s *request.Speed) {
	depth := 0
	if t.Context != nil {
		depth = max(0, *t.Context)
	}
	a.Decode, _ = usualAt(s, depth)
	switch {
	case t.Context != nil && s.Prefill != nil && positive(&s.Prefill.Value) != nil:
		a.TTFT = new(float64(depth) / s.Prefill.Value)
	case t.Context == nil && s.TTFT != nil:
		a.TTFT = positive(&s.TTFT.Value)
	}
	if a.TTFT != nil && a.Decode != nil && t.Output != nil && *t.Output > 0 {
		a.Seconds = new(*a.TTFT + float64(*t.Output) / *a.Decode)
	}
}

// localModel is the model that would do a task here: the one that is asked for
// when it is here, else the one that was used last, else one in memory.
func localModel(t Task, s *Snapshot) string {
	var local []string
	for _, r := range s.Residents {
		if !r.Cloud {
			local = append(local, r.Model)
		}
	}
	for _, sp := range s.Speeds {
		local = append(local, sp.Model)
	}
	if t.Model != "" {
		if find(local, func(m *string) bool { return *m == t.Model }) != nil {
			return t.Model
		}
		return ""
	}
	if r := find(s.Requests, func(r *request.Request) bool {
		return r.Model != "" && find(local, func(m *string) bool { return *m == r.Model }) != nil
	}); r != nil {
		return r.Model
	}
	if len(local) > 0 {
		return local[0]
	}
	return ""
}

func answers(s *Snapshot) bool {
	return find(s.Backends, func(b *backend.Status) bool { return b.State == backend.Running }) != nil
}

func inFlight(s *Snapshot) int {
	n := 0
	for i := range s.Requests {
		if s.Requests[i].Phase != request.PhaseDone {
			n++
		}
	}
	return n
}

// cost is a month's cost of a task that comes so many times a day, nil without prices.
func cost(t Task, s *Snapshot, each *float64) *Cost {
	p := t.Prices
	if p == nil || positive(p.RequestsPerDay) == nil {
		return nil
	}
	month, c := *p.RequestsPerDay*daysOfMonth, &Cost{}
	if in, out := charge(t.Context, p.In), charge(t.Output, p.Out); in != nil && out != nil {
		c.Cloud = new(month * (*in + *out))
	}
	if each != nil {
		c.LocalHours = new(month * *each / 3600)
		if watts := atFullLoad(s); watts != nil && positive(p.KWh) != nil {
			c.Local = new(*c.LocalHours * *watts / 1000 * *p.KWh)
		}
	}
	if c.Cloud == nil && c.LocalHours == nil {
		return nil
	}
	return c
}

// charge is the price of some tokens, nil when either is not told.
func charge(tokens *int, perMillion *float64) *float64 {
	if tokens == nil || *tokens < 0 || perMillion == nil || !(*perMillion >= 0) {
		return nil
	}
	return new(float64(*tokens) / 1e6 * *perMillion)
}

// atFullLoad is the power of a GPU that is at work, in watts.
func atFullLoad(s *Snapshot) *float64 {
	if busyGPU(s) != yes {
		return nil
	}
	return positive(s.GPU.Power)
}
