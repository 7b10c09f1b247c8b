package fit

// Limits are what is there for a model now, in bytes: each is what is left below
// one bound of the machine. Nil: that bound is not known.
type Limits struct {
	// GPU is the GPU's limit less what is in use.
	GPU *uint64 `json:"gpu_limit_bytes,omitempty"`
	// Reclaimable is memory that the system can give up.
	Reclaimable *uint64 `json:"reclaimable_bytes,omitempty"`
	// RAM is the machine's memory less the reserve and what other models hold.
	RAM *uint64 `json:"ram_less_reserve_bytes,omitempty"`
}

// Binding names one of the limits, in the words of monitor.Headroom.
type Binding string

// The three limits.
const (
	BindingGPU         Binding = "gpu_limit"
	BindingReclaimable Binding = "reclaimable"
	BindingRAM         Binding = "ram_less_reserve"
)

// Smallest is the limit that binds, "" when none is known.
func (l Limits) Smallest() (uint64, Binding) {
	var least uint64
	var binding Binding
	for _, one := range []struct {
		bytes   *uint64
		binding Binding
	}{{l.GPU, BindingGPU}, {l.Reclaimable, BindingReclaimable}, {l.RAM, BindingRAM}} {
		if one.bytes != nil && (binding == "" || *one.bytes < least) {
			least, binding = *one.bytes, one.binding
		}
	}
	return least, binding
}

// Plus is what is there when so much is given back: after unloading models.
func (l Limits) Plus(bytes uint64) Limits {
	more := func(limit *uint64) *uint64 {
		if limit == nil {
			return nil
		}
		return new(plus(*limit, bytes))
	}
	return Limits{more(l.GPU), more(l.Reclaimable), more(l.RAM)}
}

// State is how a need stands against the limits.
type State string

// The states. Unknown is one of its own: it is no warning and forbids nothing.
const (
	Fits       State = "fits"
	Borderline State = "borderline"
	TooBig     State = "does_not_fit"
	Unknown    State = "unknown"
)

// BorderlineBytes is how little to spare makes a plan borderline: a server's own
// reserve of 1 GiB and what the estimate of the buffers may be off
// (github.com/ollama/ollama/issues/17099: 1.2 GiB took a model from 33.8 to 4.7
// tokens/s).
const BorderlineBytes = 3 << 29

// Risk is what a borderline model may lose.
type Risk string

const (
	// RiskVision: pictures, whose projector needs its own reserve.
	RiskVision Risk = "vision"
	// RiskGPU: part of its layers to the CPU, and most of its speed.
	RiskGPU Risk = "gpu_share"
	// RiskSwap: other programs' memory, to swap.
	RiskSwap Risk = "swap"
)

// Verdict is whether a need fits.
type Verdict struct {
	State State `json:"verdict"`
	// Binding is the limit that is the smallest, Limit what is left below it.
	Binding Binding `json:"binding_limit,omitzero"`
	Limit   *uint64 `json:"limit_bytes,omitempty"`
	// Spare is what is left over, Short what is missing. At most one is there.
	Spare *uint64 `json:"spare_bytes,omitempty"`
	Short *uint64 `json:"short_bytes,omitempty"`
	// AtLeast says that not all of the need is known: Short is the least that is missing.
	AtLeast bool `json:"at_least,omitzero"`
	// Risk is what a borderline model may lose, Share how much of its weights would
	// leave the GPU if BorderlineBytes were to be kept free.
	Risk  Risk     `json:"risk,omitzero"`
	Share *float64 `json:"risk_ratio,omitempty"`
	// Reason is why State is Unknown.
	Reason Reason `json:"reason,omitzero"`
}

// Judge holds a need against the limits. A need that is known in part does not fit
// when that part does not, and is Unknown otherwise.
func (n Need) Judge(l Limits) Verdict {
	limit, binding := l.Smallest()
	if binding == "" {
		return Verdict{State: Unknown, Reason: firstReason(n.Unknown, ReasonNoLimit)}
	}
	v := Verdict{Binding: binding, Limit: &limit}
	switch {
	case n.Least > limit:
		v.State, v.Short, v.AtLeast = TooBig, new(n.Least-limit), n.Total == nil
	case n.Total == nil:
		v.State, v.Reason = Unknown, n.Unknown
	case limit-*n.Total < BorderlineBytes:
		v.State, v.Spare = Borderline, new(limit-*n.Total)
		v.risk(n)
	default:
		v.State, v.Spare = Fits, new(limit-*n.Total)
	}
	return v
}

// risk says what a borderline model may lose.
func (v *Verdict) risk(n Need) {
	vision := n.Projector != nil
	for _, note := range n.Notes {
		vision = vision || note == NoteVision
	}
	switch {
	case v.Binding != BindingGPU:
		v.Risk = RiskSwap
	case vision && *v.Spare < VisionReserve:
		v.Risk = RiskVision
	default:
		v.Risk = RiskGPU
	}
	if v.Binding == BindingGPU && n.Weights != nil && *n.Weights > 0 {
		v.Share = new(min(1, float64(BorderlineBytes-*v.Spare)/float64(*n.Weights)))
	}
}

// mostTokens bounds the search for a context where nobody told how long the model
// was trained.
const mostTokens = 1 << 30

// Largest is the longest context in tokens that fits below the limits, to the
// token. bounded is false where the cache does not grow and no end of it is known.
// 0 with bounded: not even the shortest fits. ok is false when that cannot be told.
func (m Model) Largest(o Options, l Limits) (tokens int, bounded, ok bool) {
	limit, binding := l.Smallest()
	most := first(m.Trained, mostTokens)
	if binding == "" || m.Unknown != "" || m.Cloud {
		return 0, false, false
	}
	o.Reported = 0
	fits := func(context int) (bool, bool) {
		o.Context = context
		n := m.need(o, true)
		if n.Total == nil {
			return false, n.Unknown == ReasonImplausible && n.Weights != nil
		}
		return *n.Total <= limit, true
	}
	if fit, known := fits(1); !known {
		return 0, false, false
	} else if !fit {
		return 0, true, true
	}
	if fit, _ := fits(most); fit {
		return most, m.Trained > 0, true
	}
	low, high := 1, most
	for high-low > 1 {
		middle := low + (high-low)/2
		if fit, _ := fits(middle); fit {
			low = middle
		} else {
			high = middle
		}
	}
	return low, true, true
}

// Change is what another limit of the GPU would mean for one model.
type Change struct {
	Before Verdict `json:"before"`
	After  Verdict `json:"after"`
	// BeforeContext and AfterContext are the contexts that the server takes when
	// nobody asks; BeforeKV and AfterKV what the cache takes then, in bytes.
	BeforeContext int     `json:"before_context_tokens"`
	AfterContext  int     `json:"after_context_tokens"`
	BeforeKV      *uint64 `json:"before_kv_bytes,omitempty"`
	AfterKV       *uint64 `json:"after_kv_bytes,omitempty"`
	// Gain is by how much the limit rises. Eaten says that the longer default
	// context takes more than that: pin the context first.
	Gain  uint64 `json:"gain_bytes"`
	Eaten bool   `json:"gain_eaten,omitzero"`
}

// Raise tells what a model comes to when the GPU's limit changes from one amount to
// another: limits are as of now, each default the context that the server takes
// below that limit when nobody asks.
func (m Model) Raise(o Options, now Limits, from, to uint64, defaultFrom, defaultTo int) Change {
	before, after := o, o
	before.Default, after.Default = defaultFrom, defaultTo
	raised := now
	if now.GPU != nil {
		inUse := less(from, *now.GPU)
		raised.GPU = new(less(to, inUse))
	}
	b, a := m.Need(before), m.Need(after)
	c := Change{
		Before: b.Judge(now), After: a.Judge(raised), BeforeContext: b.Context, AfterContext: a.Context,
		BeforeKV: b.KV, AfterKV: a.KV, Gain: less(to, from),
	}
	if b.KV != nil && a.KV != nil {
		c.Eaten = c.Gain > 0 && *a.KV > *b.KV && *a.KV-*b.KV > c.Gain
	}
	return c
}

// less subtracts down to zero.
func less(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}
