package fit

import "fmt"

// Need is what a model takes when it runs as Options say, in bytes. A part that
// cannot be told is absent, with its Reason; then Total is absent too, and Least is
// what is certain.
type Need struct {
	// Context is what it is planned for, in tokens for each of Slots; Asked what
	// was asked for.
	Context int `json:"context_tokens"`
	Asked   int `json:"asked_context_tokens,omitzero"`
	Slots   int `json:"slots"`
	// Cache is the type that the cache will have, Wanted the one that was asked for.
	Cache  CacheType `json:"cache_type"`
	Wanted CacheType `json:"wanted_cache_type,omitzero"`
	Flash  Flash     `json:"flash_attention,omitzero"`

	Weights *uint64 `json:"weights_bytes,omitempty"`
	// KV is the cache of keys and values, PerToken what one more token of context
	// adds to it in each slot.
	KV       *uint64 `json:"kv_bytes,omitempty"`
	PerToken *uint64 `json:"kv_bytes_per_token,omitempty"`
	// State is what does not depend on the context: of recurrent layers, and of
	// cross-attention layers for a picture.
	State *uint64 `json:"state_bytes,omitempty"`
	// Compute is an estimate of the buffers of the arithmetic.
	Compute   *uint64 `json:"compute_bytes,omitempty"`
	Projector *uint64 `json:"projector_bytes,omitempty"`
	// Draft is a draft model's weights, cache and buffers.
	Draft *uint64 `json:"draft_bytes,omitempty"`
	Total *uint64 `json:"total_bytes,omitempty"`
	// Least is the sum of what is known.
	Least uint64 `json:"least_bytes"`
	// Expanded is the cache as an engine keeps it that does not compress.
	Expanded *uint64 `json:"kv_expanded_bytes,omitempty"`

	// Unknown is why Total is absent.
	Unknown Reason `json:"unknown,omitzero"`
	Notes   []Note `json:"notes,omitempty"`
	// Steps are the sums behind the parts, for a hand check.
	Steps []Step `json:"steps,omitempty"`

	quiet bool // no Steps are wanted
}

// Note is a fact about a plan that is worth a word.
type Note string

const (
	// NoteFloor: the family runs with no less context than this.
	NoteFloor Note = "context_floor"
	// NoteTrained: more was asked for than the model was made for.
	NoteTrained Note = "context_trained"
	// NoteReported: the server runs it with another context than was asked for.
	NoteReported Note = "context_mismatch"
	// NoteCacheFallback: a quantised cache was asked for and needs flash attention,
	// which nobody confirmed.
	NoteCacheFallback Note = "cache_type_fallback"
	// NoteOneSlot: this family runs with one slot whatever is asked.
	NoteOneSlot Note = "one_slot"
	// NoteExpanded: an engine may keep its compressed cache expanded.
	NoteExpanded Note = "kv_expanded"
	// NoteNoCache: the model needs no cache.
	NoteNoCache Note = "no_cache"
	// NoteStateUnknown: the recurrent state cannot be worked out; it is small.
	NoteStateUnknown Note = "state_unknown"
	// NoteWeightsRough: the weights are parameters × bits.
	NoteWeightsRough Note = "weights_rough"
	// NoteHeadsRough: the length of a head is width ÷ heads.
	NoteHeadsRough Note = "heads_rough"
	// NoteBuffersRough: the buffers are a lump sum.
	NoteBuffersRough Note = "buffers_rough"
	// NoteVision: pictures take more, up to VisionReserve.
	NoteVision Note = "vision_reserve"
)

// VisionReserve is what Ollama keeps for the projector of a model that sees
// (github.com/ollama/ollama/issues/17099).
const VisionReserve = 1 << 30

// defaultBatch is Ollama's num_batch and llama-server's --ubatch-size.
const defaultBatch = 512

// defaultContext is the context of a server that nobody configured.
const defaultContext = 4096

// Need works out what the model takes.
func (m Model) Need(o Options) Need { return m.need(o, false) }

// need is Need, with or without the steps.
func (m Model) need(o Options, quiet bool) Need {
	n := Need{Asked: o.Context, quiet: quiet}
	m.plan(&n, o)
	if m.Cloud {
		n.Unknown = ReasonCloud
		return n
	}
	n.Weights, n.Projector = m.Weights, m.Projector
	if o.Weights != nil {
		n.Weights = o.Weights
	}
	if m.WeightsRough && o.Weights == nil {
		n.Notes = append(n.Notes, NoteWeightsRough)
	}
	if n.Weights != nil && *n.Weights > maxBytes {
		n.Weights, n.Unknown = nil, ReasonImplausible
	}
	if n.Weights != nil {
		n.step(PartWeights, *n.Weights, "%d B", *n.Weights)
	}
	if n.Projector != nil {
		n.step(PartProjector, *n.Projector, "%d B", *n.Projector)
	}
	m.cache(&n, o)
	m.buffers(&n, o)
	if o.Draft != nil {
		n.draft(o)
	}
	n.sum()
	return n
}

// plan settles context, slots and cache type.
func (m Model) plan(n *Need, o Options) {
	n.Context = first(o.Context, m.Own, o.Default, defaultContext)
	if floor := m.floor(); o.Engine != EngineMLX && n.Context < floor {
		n.Context = floor
		n.Notes = append(n.Notes, NoteFloor)
	}
	if m.Trained > 0 && n.Context > m.Trained {
		n.Context = m.Trained
		n.Notes = append(n.Notes, NoteTrained)
	}
	if o.Reported > 0 && o.Reported != n.Context {
		if asked := first(o.Context, m.Own); asked > 0 && !m.raised(asked, o.Reported) {
			n.Asked = asked
			n.Notes = append(n.Notes, NoteReported)
		}
		n.Context = o.Reported
	}
	n.Slots = max(o.Slots, 1)
	if n.Slots > 1 && (singleSlot[m.family()] || m.Embedding || o.Engine == EngineMLX) {
		n.Slots = 1
		n.Notes = append(n.Notes, NoteOneSlot)
	}
	n.Flash = m.flash(o)
	n.Cache, n.Wanted = o.Cache, o.Cache
	if n.Cache == "" {
		n.Cache = F16
	}
	if n.Cache.quantised() && n.Flash != FlashOn && m.keepsValues() {
		n.Cache = F16
		n.Notes = append(n.Notes, NoteCacheFallback)
	}
	if m.Rough {
		n.Notes = append(n.Notes, NoteHeadsRough)
	}
	if m.Vision && m.Projector == nil {
		n.Notes = append(n.Notes, NoteVision)
	}
}

// floor is the least context that the server runs the model with.
func (m Model) floor() int {
	if f := floors[m.family()]; f > 0 {
		return f
	}
	if m.Vision {
		return visionFloor
	}
	return 0
}

// raised tells whether a server runs the model with more context than was asked for
// as it always does: up to a floor that versions of it differ in, or to the next
// contextStep (llama.cpp pads n_ctx).
func (m Model) raised(asked, reported int) bool {
	return reported > asked && (m.floor() > 0 && reported <= highestFloor || reported-asked < contextStep)
}

// flash tells whether flash attention is used: as somebody told, else as Ollama
// decides for the family, else unknown.
func (m Model) flash(o Options) Flash {
	family := m.family()
	switch {
	case noFlash[family]:
		return FlashOff
	case o.Flash != FlashUnknown:
		return o.Flash
	case flashFamilies[family] && !m.Embedding:
		return FlashOn
	}
	return FlashUnknown
}

// keepsValues tells whether the cache holds values beside keys. A quantised cache
// of keys alone goes without flash attention.
func (m Model) keepsValues() bool {
	for _, l := range m.Layers {
		if l.Kind != Latent && l.Kind != Recurrent && l.Kind != Cross {
			return true
		}
	}
	return false
}

// first is the first number above zero.
func first(numbers ...int) int {
	for _, n := range numbers {
		if n > 0 {
			return n
		}
	}
	return 0
}

// draft adds a draft model at the same context.
func (n *Need) draft(o Options) {
	d := o.Draft.need(Options{Context: n.Context, Slots: n.Slots, Flash: o.Flash, Batch: o.Batch, Engine: o.Engine}, n.quiet)
	for _, s := range d.Steps {
		s.Draft = true
		n.Steps = append(n.Steps, s)
	}
	if d.Total == nil {
		n.Least = plus(n.Least, d.Least)
		n.Unknown = firstReason(n.Unknown, d.Unknown)
		return
	}
	n.Draft = d.Total
}

// sum adds the parts up.
func (n *Need) sum() {
	for _, part := range []*uint64{n.Weights, n.KV, n.State, n.Compute, n.Projector, n.Draft} {
		if part != nil {
			n.Least = plus(n.Least, *part)
		}
	}
	if n.Weights == nil {
		n.Unknown = firstReason(n.Unknown, ReasonNoWeights)
	}
	if n.Least > maxBytes {
		n.Unknown, n.Least = firstReason(n.Unknown, ReasonImplausible), 0
	}
	if n.Unknown == "" {
		n.Total = new(n.Least)
	}
}

// firstReason is the first that is one.
func firstReason(reasons ...Reason) Reason {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// Step is one sum: Formula comes to Bytes. It is of numbers and units alone, so
// that it needs no translation.
type Step struct {
	Part    Part   `json:"part"`
	Formula string `json:"formula"`
	Bytes   uint64 `json:"bytes"`
	// Draft marks a sum of the draft model's.
	Draft bool `json:"draft,omitzero"`
}

// Part names what a Step is of.
type Part string

// The parts.
const (
	PartWeights   Part = "weights"
	PartKV        Part = "kv"
	PartState     Part = "state"
	PartCompute   Part = "compute"
	PartProjector Part = "projector"
)

// step notes a sum.
func (n *Need) step(part Part, bytes uint64, format string, args ...any) {
	if n.quiet {
		return
	}
	n.Steps = append(n.Steps, Step{Part: part, Formula: fmt.Sprintf(format, args...), Bytes: bytes})
}
