package fit

import "math"

// Class parts models whose share of the bandwidth differs.
type Class string

const (
	// Dense models read all their weights for each token.
	Dense Class = "dense"
	// Mixture is a mixture of experts: which are read differs from token to token.
	Mixture Class = "mixture"
	// Deep is any model at a depth where the cache is a good part of what is read.
	Deep Class = "deep"
)

// deepShare is the part of the bytes read per token from which on the cache makes
// a rate deep.
const deepShare = 0.25

// Band is a share of the memory bandwidth that engines reach, 0 to 1.
type Band struct {
	Low    float64 `json:"low_ratio"`
	Centre float64 `json:"centre_ratio"`
	High   float64 `json:"high_ratio"`
}

// bands are the shares as long as nothing was learned here. Dense Q4 models on
// Apple's GPU reach 0.55 to 0.75 (github.com/ggml-org/llama.cpp/discussions/4167:
// tables of tg128 by chip); published outliers reach 0.3, all of them mixtures or at
// deep context. Of a mixture's active weights a third is reached
// (github.com/AlexsJones/llmfit/issues/449: 150 to 180 of 472).
var bands = map[Class]Band{Dense: {0.55, 0.65, 0.75}, Mixture: {0.15, 0.35, 0.75}, Deep: {0.30, 0.55, 0.75}}

// BandOf is the band of a class before anything was learned.
func BandOf(c Class) Band { return bands[c] }

// Learned is what one engine reaches on this machine, of its own runs.
type Learned struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitzero"`
	Class   Class  `json:"class"`
	// Runs is how many requests are behind it; fewer than LeastRuns teach nothing.
	Runs int  `json:"runs"`
	Band Band `json:"efficiency"`
}

// LeastRuns is how many requests an efficiency must rest on.
const LeastRuns = 3

// Source says where an efficiency comes from.
type Source string

const (
	SourceLearned Source = "learned"
	SourceDefault Source = "default"
)

// Expected is how fast a model can be at a depth, in tokens/s. It is an estimate,
// shown with "~"; absent numbers have a Reason.
type Expected struct {
	// Depth is how many tokens are in the context.
	Depth int `json:"depth_tokens"`
	// Low, Centre and High are what engines reach.
	Low    *float64 `json:"low_tokens_per_second,omitempty"`
	Centre *float64 `json:"centre_tokens_per_second,omitempty"`
	High   *float64 `json:"high_tokens_per_second,omitempty"`
	// Ceiling is bandwidth ÷ bytes read per token: nothing is faster. Floor is the
	// same for a mixture whose every expert is read; what is slower has another
	// cause. Both are equal for a dense model.
	Ceiling *float64 `json:"ceiling_tokens_per_second,omitempty"`
	Floor   *float64 `json:"floor_tokens_per_second,omitempty"`
	// Read is the bytes read per token, of which KV are the cache's.
	Read *uint64 `json:"read_bytes_per_token,omitempty"`
	KV   *uint64 `json:"kv_read_bytes_per_token,omitempty"`
	// Upper says that the experts in use are not told: the true rate lies between
	// Floor and a ceiling that is not known, and absent.
	Upper  bool   `json:"upper_bound,omitzero"`
	Class  Class  `json:"class,omitzero"`
	Source Source `json:"efficiency_source,omitzero"`
	Runs   int    `json:"efficiency_runs,omitzero"`
	Reason Reason `json:"reason,omitzero"`
}

// Speed is what a machine and an engine bring to a rate.
type Speed struct {
	// Bandwidth is the memory's, in bytes/s; nil is not known.
	Bandwidth *float64
	// Engine and Version choose among Learned.
	Engine, Version string
	Learned         []Learned
}

// Rate is how fast the model can be with so many tokens in the context. Options
// are those of its Need.
func (m Model) Rate(o Options, s Speed, depth int) Expected {
	e := Expected{Depth: max(depth, 0)}
	if m.Cloud {
		e.Reason = ReasonCloud
		return e
	}
	weights := m.Weights
	if o.Weights != nil {
		weights = o.Weights
	}
	switch {
	case s.Bandwidth == nil || !(*s.Bandwidth > 0) || math.IsInf(*s.Bandwidth, 0):
		e.Reason = ReasonNoBandwidth
	case weights == nil || *weights == 0 || *weights > maxBytes:
		e.Reason = ReasonNoWeights
	case m.Unknown != "" && e.Depth > 0:
		e.Reason = m.Unknown
	default:
		m.rate(&e, o, s, *weights)
	}
	return e
}

func (m Model) rate(e *Expected, o Options, s Speed, weights uint64) {
	active, told := m.activeOf(weights)
	kv, ok := m.readAt(o, e.Depth)
	if !ok {
		e.Reason = ReasonImplausible
		return
	}
	read := plus(active, kv)
	e.Read, e.KV = &read, &kv
	e.Ceiling, e.Floor = new(*s.Bandwidth/float64(read)), new(*s.Bandwidth/float64(plus(max(weights, active), kv)))
	e.Class = Dense
	switch {
	case float64(kv) >= deepShare*float64(read):
		e.Class = Deep
	case m.Mixture():
		e.Class = Mixture
	}
	e.Upper = !told
	band := bands[e.Class]
	if m.Mixture() { // a deep one is no better at its share than a short one
		band = band.atMost(bands[Mixture])
	}
	e.Source = SourceDefault
	for _, l := range s.Learned {
		if l.Engine == s.Engine && l.Version == s.Version && l.Class == e.Class && l.Runs >= LeastRuns && l.Band.sound() {
			band, e.Source, e.Runs = l.Band, SourceLearned, l.Runs
		}
	}
	e.Low, e.Centre, e.High = new(*e.Ceiling*band.Low), new(*e.Ceiling*band.Centre), new(*e.Ceiling*band.High)
	if m.Mixture() && e.Source == SourceDefault {
		// Nothing is slower than reading every expert, nor faster than the ceiling.
		e.Low = e.Floor
		if !told {
			e.Centre, e.High, e.Ceiling = nil, nil, nil
			return
		}
		e.Centre, e.High = new(max(*e.Centre, *e.Low)), new(max(*e.High, *e.Low))
	}
}

// activeOf is how much of the weights is read for one token, in bytes: all of a dense
// model's. Of a mixture that does not tell its experts it is false, and all of them.
func (m Model) activeOf(weights uint64) (uint64, bool) {
	switch {
	case m.Active != nil && *m.Active > 0:
		return min(*m.Active, weights), true
	case m.Mixture() && m.ActiveShare > 0:
		return uint64(float64(weights) * m.ActiveShare), true
	}
	return weights, !m.Mixture()
}

// atMost is the lower of two bands.
func (b Band) atMost(other Band) Band {
	return Band{min(b.Low, other.Low), min(b.Centre, other.Centre), min(b.High, other.High)}
}

// sound tells whether a band is one.
func (b Band) sound() bool {
	return b.Low > 0 && b.Low <= b.Centre && b.Centre <= b.High && b.High <= 1.5
}

// readAt is how many bytes of cache and state are read for one token at a depth.
func (m Model) readAt(o Options, depth int) (uint64, bool) {
	o.Context, o.Reported, o.Slots, o.Default, o.Draft, o.Compute = max(depth, 1), 0, 1, 0, nil, nil
	n := Need{quiet: true}
	m.plan(&n, o)
	n.Context = depth    // no floor: what is not there is not read
	o.Engine = EngineMLX // nor is a batch beside a window
	m.cache(&n, o)
	if n.Unknown != "" && depth == 0 {
		return 0, true
	}
	if n.KV == nil {
		return 0, false
	}
	read := *n.KV
	if n.State != nil {
		read = plus(read, *n.State)
	}
	return read, read <= maxBytes
}

// Efficiency is the share of the bandwidth that a measured decode rate comes to, at
// a depth. False where one of the numbers is not known or makes no sense.
func (m Model) Efficiency(o Options, bandwidth *float64, depth int, rate float64) (float64, Class, bool) {
	e := m.Rate(o, Speed{Bandwidth: bandwidth}, depth)
	if e.Ceiling == nil || e.Upper || !(rate > 0) || math.IsInf(rate, 0) {
		return 0, "", false
	}
	return rate / *e.Ceiling, e.Class, true
}
