package fit

import "fmt"

// cache works out keys, values and states.
func (m Model) cache(n *Need, o Options) {
	if m.Unknown != "" {
		n.Unknown = m.Unknown
		return
	}
	layers := m.Layers
	if o.Speculative {
		layers = append(append([]Layers(nil), layers...), m.Predict...)
	}
	var kv, each, expanded, state uint64
	states, latent, untold := false, false, false
	for _, l := range layers {
		states = states || l.Kind == Recurrent || l.Kind == Both || l.Kind == Cross
		if l.State != nil {
			bytes := times(uint64(l.Count), *l.State, uint64(n.Slots))
			state = plus(state, bytes)
			n.step(PartState, bytes, "%d × %d B%s", l.Count, *l.State, slots(n.Slots))
		} else if l.Kind == Recurrent || l.Kind == Both {
			untold = true
		}
		stored, values, other := l.values(o)
		if values == 0 {
			continue
		}
		latent = latent || l.Kind == Latent
		cells := l.cells(n.Context, n.Slots, o)
		bytes := n.Cache.bytes(times(uint64(l.Count), stored, cells))
		kv = plus(kv, bytes)
		if l.Kind != Window {
			each = plus(each, n.Cache.bytes(times(uint64(l.Count), stored)))
		}
		if other > 0 {
			expanded = plus(expanded, n.Cache.bytes(times(uint64(l.Count), other, cells)))
		} else {
			expanded = plus(expanded, bytes)
		}
		if !n.quiet {
			n.step(PartKV, bytes, "%d × %s × %s × %s", l.Count, l.shape(stored == other), perValue(n.Cache), l.cellsFormula(n.Context, n.Slots, o, cells))
		}
	}
	if kv > maxBytes || state > maxBytes {
		n.Unknown = ReasonImplausible
		return
	}
	n.KV, n.PerToken = &kv, &each
	if untold {
		n.Notes = append(n.Notes, NoteStateUnknown)
	} else if states || len(layers) == 0 {
		n.State = &state
	}
	if kv == 0 {
		n.Notes = append(n.Notes, NoteNoCache)
	}
	if latent && expanded != kv && expanded <= maxBytes {
		n.Expanded = &expanded
		n.Notes = append(n.Notes, NoteExpanded)
	}
}

// values is how many values a token takes in one layer: as it is stored, at the
// least, and expanded (0 for layers that know no such thing).
func (l Layers) values(o Options) (stored, least, expanded uint64) {
	switch l.Kind {
	case Full, Window, Both:
		least = uint64(l.KVHeads) * uint64(l.Key+l.Value)
	case Latent:
		least, expanded = uint64(l.Key+l.Value), uint64(l.Expanded)
		if expanded > 0 && (o.Expanded || l.Only) {
			return expanded, least, expanded
		}
	}
	return least, least, expanded
}

// windowPadding is what llama.cpp rounds the cells of a window up to
// (llama-kv-cache-iswa.cpp).
const windowPadding = 256

// windowMemory is what Ollama's engine keeps of a window at the least, for families
// of which it keeps more than the window so that a prompt can be taken up again
// (NewSWAMemCache in model/models/gptoss).
const windowMemory = 4096

// cells is for how many tokens a layer keeps something, in all slots.
func (l Layers) cells(context, slots int, o Options) uint64 {
	all := times(uint64(context), uint64(slots))
	if l.Kind != Window {
		return all
	}
	batch := uint64(first(o.Batch, defaultBatch))
	window := uint64(l.Window)
	switch o.Engine {
	case EngineOllama: // the slots share one batch
		if window <= shortWindow {
			window = windowMemory
		}
		if window >= uint64(context) {
			return all
		}
		if slots > 1 {
			window = max(window, uint64(l.Window)+1)
		}
		return plus(times(window, uint64(slots)), batch)
	case EngineLlama:
		one := min(uint64(context), window+batch)
		return times((one+windowPadding-1)/windowPadding*windowPadding, uint64(slots))
	case EngineMLX: // it reads the prompt without keeping a batch beside the window
		return times(min(uint64(context), window), uint64(slots))
	}
	return times(min(uint64(context), window+batch), uint64(slots))
}

// shortWindow is the longest window (gpt-oss has 128) of which Ollama's engine
// keeps windowMemory. The next longer one of a family it runs is 512 (Gemma 3).
const shortWindow = 128

// shape is how many values a token takes, as a formula.
func (l Layers) shape(expanded bool) string {
	switch {
	case l.Kind == Latent && expanded:
		return fmt.Sprint(l.Expanded)
	case l.Kind == Latent:
		return fmt.Sprintf("(%d + %d)", l.Key, l.Value)
	}
	return fmt.Sprintf("%d × (%d + %d)", l.KVHeads, l.Key, l.Value)
}

// cellsFormula is how the cells come about.
func (l Layers) cellsFormula(context, count int, o Options, cells uint64) string {
	if l.Kind != Window {
		return fmt.Sprintf("%d%s", context, slots(count))
	}
	batch := first(o.Batch, defaultBatch)
	if plain := times(min(uint64(context), uint64(l.Window+batch)), uint64(count)); plain == cells {
		return fmt.Sprintf("min(%d, %d + %d)%s", context, l.Window, batch, slots(count))
	}
	return fmt.Sprint(cells)
}

// perValue is what a value takes, as a formula.
func perValue(t CacheType) string {
	b := blocks[t]
	if b.values <= 1 {
		return fmt.Sprintf("%d B", max(b.bytes, 1))
	}
	return fmt.Sprintf("%d/%d B", b.bytes, b.values)
}

// slots is a factor for more than one slot.
func slots(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" × %d", n)
}
