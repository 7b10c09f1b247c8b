package view

// bar draws memory from the left: what is used (wired, app, compressed), what
// can be dropped, what is free. The parts a system tells do not add up to its
// total (on Linux some overlap, on macOS some belong to nobody), so the bar is
// laid out from the sure figures: the used parts fill exactly Used, where that
// is known, the free part is never more than told, and the cache is the rest.
func (sc *scene) bar() Bar {
	total, ok := sc.total()
	m := sc.s.Memory
	if !ok || m == nil || m.Used == nil && m.App == nil && m.Wired == nil {
		return Bar{}
	}
	b := Bar{Total: total}
	rest := total
	take := func(n *uint64, most uint64) uint64 {
		if n == nil {
			return 0
		}
		return min(*n, most)
	}
	used := take(m.Used, total)
	if m.Used == nil {
		used = total
	}
	wired := take(m.Wired, used)
	compressed := take(m.Compressed, used-wired)
	app := used - wired - compressed
	if m.Used == nil {
		app = take(m.App, app)
	}
	rest -= wired + compressed + app
	free := rest
	switch {
	case m.Free != nil:
		free = min(*m.Free, rest)
	case m.Cached != nil:
		free = rest - min(*m.Cached, rest)
	}
	for _, s := range []struct {
		kind  SegmentKind
		bytes uint64
	}{
		{SegmentWired, wired}, {SegmentApp, app}, {SegmentCompressed, compressed},
		{SegmentCached, rest - free}, {SegmentFree, free},
	} {
		if s.bytes > 0 {
			b.Segments = append(b.Segments, Segment{
				Kind: s.kind, Label: sc.Text("view.segment." + string(s.kind)), Text: size(s.bytes), Bytes: s.bytes})
		}
	}
	b.Marks = sc.marks(total)
	return b
}

// marks are where the GPU limit stands, and two ticks: seven tenths of RAM, which
// people keep models below by rule of thumb, and RAM less what the system needs.
func (sc *scene) marks(total uint64) []Mark {
	var marks []Mark
	if g := sc.s.GPU; g != nil && g.WorkingSet != nil && *g.WorkingSet > 0 && *g.WorkingSet <= total {
		marks = append(marks, Mark{Label: sc.Text("view.mark.gpu_limit"), At: *g.WorkingSet})
	}
	marks = append(marks, Mark{Label: sc.Text("view.mark.share"), At: total / 10 * 7, Minor: true})
	if h := sc.s.Headroom; h != nil && h.Reserve != nil && *h.Reserve < total {
		marks = append(marks, Mark{Label: sc.Text("view.mark.reserve"), At: total - *h.Reserve, Minor: true})
	}
	return marks
}
