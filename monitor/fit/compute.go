package fit

// lumpBuffers is what the buffers are taken for where too little is known of the
// model: those of an 8B model at 8K are 0.25 to 0.55 GiB.
const lumpBuffers = 512 << 20

// buffers estimates the buffers of the arithmetic for one batch of a prompt, from
// the largest arrays that live at once, in f32:
//
//	batch × (width + vocabulary)                     the logits
//	batch × (4 × width + feed-forward)               a layer's feed-forward part
//	batch × heads × context × slots                  scores, without flash attention
//	batch × context × slots × 2 bytes                the mask, with it
//
// The larger of logits and layer counts, as they do not live at once. Held against
// logs (TestBuffersAgainstLogs): gpt-oss 20B on Metal 404 MiB, Phi 3 at 131,328
// tokens without flash attention 8500.51 MiB, both within 4 %; tiny models of
// Ollama's own engine within 7 %. Graphs that fuse less, pictures and several
// devices take more: an estimate, which is what BorderlineBytes is for.
func (m Model) buffers(n *Need, o Options) {
	if o.Compute != nil {
		n.Compute = o.Compute
		n.step(PartCompute, *o.Compute, "%d B", *o.Compute)
		return
	}
	flash := n.Flash
	if flash == FlashUnknown && o.Engine == EngineOllama {
		flash = FlashOff // it turns it on for the families above alone
	}
	if m.Width == 0 || m.Heads == 0 && flash == FlashOff {
		n.Compute = new(uint64(lumpBuffers))
		n.Notes = append(n.Notes, NoteBuffersRough)
		n.step(PartCompute, lumpBuffers, "~%d MiB", lumpBuffers>>20)
		return
	}
	batch, width, feed := uint64(first(o.Batch, defaultBatch)), uint64(m.Width), uint64(m.Feed)
	cells := times(uint64(n.Context), uint64(n.Slots))
	if !m.attends() {
		cells = batch
	}
	if m.Experts > 0 {
		feed = min(feed, 4*width) // a token's experts are narrow
	}
	logits := times(4, batch, plus(width, uint64(m.Vocabulary)))
	var layer, mask uint64
	formula := ""
	if flash == FlashOff {
		layer = times(4, batch, plus(times(4, width), feed, times(uint64(m.Heads), cells)))
		formula = "4 B × %d × max(%d + %d, 4 × %d + %d + %d × %d)"
	} else {
		layer, mask = times(4, batch, plus(times(4, width), feed)), times(2, batch, cells)
		formula = "4 B × %d × max(%d + %d, 4 × %d + %d) + 2 B × %d × %d"
	}
	sum := plus(max(logits, layer), mask)
	if sum > maxBytes {
		n.Unknown = firstReason(n.Unknown, ReasonImplausible)
		return
	}
	n.Compute = &sum
	if flash == FlashOff {
		n.step(PartCompute, sum, "~ "+formula, batch, width, m.Vocabulary, width, feed, m.Heads, cells)
		return
	}
	n.step(PartCompute, sum, "~ "+formula, batch, width, m.Vocabulary, width, feed, batch, cells)
}

// attends tells whether some layer looks back at other tokens' keys.
func (m Model) attends() bool {
	for _, l := range m.Layers {
		if l.Kind != Recurrent {
			return true
		}
	}
	return false
}
