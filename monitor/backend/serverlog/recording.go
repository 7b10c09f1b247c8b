package serverlog

import (
	"strings"
	"time"
)

// recording reads a whole log. What the Parser knows is taken from it; the rest,
// which only a recording is asked for, is read here.
type recording struct {
	Recorded
	parser  Parser
	known   bool
	failure string // the kind of failure that it tells of
	answers []RecordedAnswer
	mlx     []RecordedMLX
	waiting int // the first request of MLX that the server has not told the end of
	heads   *int
	width   *int
}

func (r *recording) line(text string) {
	r.LineCount++
	events := r.parser.Line(text, time.Time{})
	r.known = r.known || len(events) > 0
	for i := range events {
		r.event(&events[i])
	}
	if strings.HasPrefix(text, answerMark) {
		r.answer(text)
		return
	}
	l := split(text)
	if !l.record {
		r.known = r.runnerLine(text) || r.known
		return
	}
	if l.stamp != "" {
		r.TimeCount++
		if len(r.Lines) < mostRecordedLines {
			r.Lines = append(r.Lines, RecordedLine{l.stamp, l.level, l.source})
		}
	}
	r.known = true
	if read := recordedLines[l.msg]; read != nil {
		read(r, &l)
	}
	if n, ok := strings.CutPrefix(l.msg, "total blobs: "); ok {
		r.Blobs = count(n)
	}
	if _, text, ok := strings.Cut(l.msg, " started in "); ok {
		if s := decimal(strings.TrimSuffix(text, " seconds")); s != nil {
			r.LoadSeconds, r.LoadSecondsAll = s, append(r.LoadSecondsAll, *s)
		}
	}
}

func (r *recording) event(e *Event) {
	switch e.Kind {
	case Truncated:
		r.Event = new("prompt_truncated")
		c := RecordedCut{Limit: e.Cut.Limit, Prompt: e.Cut.Prompt, Keep: e.Cut.Keep, New: e.Cut.New, Lost: max(e.Cut.Prompt-e.Cut.New, 0)}
		if e.Stamp != "" {
			c.Time = &e.Stamp
		}
		r.Truncations = append(r.Truncations, c)
	case OutOfMemory:
		r.failure = kindOutOfMemory
	case CacheRefused:
		r.failure = kindCacheRefused
	case Worked:
		if e.Work.Engine == engineMLX {
			r.workMLX(e.Work)
		} else {
			r.work(e.Work)
		}
	}
}

// answer notes the server's line on one request.
func (r *recording) answer(text string) {
	r.known = true
	stamp, a, cut := answer(text)
	if cut {
		r.Cut = new(1 + value(r.Cut))
		return
	}
	r.answers = append(r.answers, RecordedAnswer{stamp, a.Status, a.Duration, a.Method, a.Path})
	switch {
	case a.Path == "/api/ps":
		r.Polls = new(1 + value(r.Polls))
	case a.generates() && r.waiting < len(r.mlx):
		r.mlx[r.waiting].ClientDuration = &a.Duration
		r.waiting++
	}
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// work takes the figures of llama-server's request that is told of last.
func (r *recording) work(w *Work) {
	r.Prompt, r.Cached, r.Read, r.Output, r.Context = w.Prompt, w.Cached, w.Read, w.Output, w.Context
	r.Reread = new(w.Reread)
	r.ReadMs, r.OutputMs, r.TotalMs = milliseconds(w.ReadSeconds), milliseconds(w.OutputSeconds), milliseconds(w.Seconds)
	r.Prefill, r.Decode = rounded(w.Prefill(), 6), rounded(w.Decode(), 6)
}

func milliseconds(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	return rounded(new(*seconds*1000), 3)
}

// workMLX takes the figures of MLX's request of that number.
func (r *recording) workMLX(w *Work) {
	for len(r.mlx) < w.Task {
		r.mlx = append(r.mlx, RecordedMLX{})
	}
	m := &r.mlx[w.Task-1]
	m.Prompt, m.Cached, m.Output, m.Duration = w.Prompt, w.Cached, w.Output, duration(w.Seconds)
	if w.Prompt != nil && w.Cached != nil {
		m.Left = new(max(*w.Prompt-*w.Cached, 0))
	}
	if w.ReadSeconds != nil {
		m.Read, m.ReadSeconds, m.Prefill = w.Read, rounded(w.ReadSeconds, 6), rounded(w.Prefill(), 6)
	}
}

// recordedLines are the messages that only a recording is asked about.
var recordedLines = map[string]func(*recording, *line){
	configMark: func(r *recording, l *line) {
		values := variables(l.attribute("env"))
		r.KeepAlive, r.CacheAsked = said(values["OLLAMA_KEEP_ALIVE"]), said(values["OLLAMA_KV_CACHE_TYPE"])
	},
	"inference compute": func(r *recording, l *line) {
		r.Library, r.DeviceType = said(l.attribute("library")), said(l.attribute("type"))
		r.Device = said(l.attribute("description"))
		r.GPUTotal, r.GPUAvailable = l.gib("total"), l.gib("available")
		if r.LowVRAM == nil {
			r.LowVRAM = new(false)
		}
	},
	"entering low vram mode": func(r *recording, l *line) {
		r.LowVRAM, r.LowVRAMBelow = new(true), l.gib("threshold")
	},
	"vram-based default context": func(r *recording, l *line) { r.Default = l.count("default_num_ctx") },
	"system memory":              func(r *recording, l *line) { r.SystemTotal, r.SystemFree = l.gib("total"), l.gib("free") },
	"gpu memory":                 func(r *recording, l *line) { r.LoadGPU, r.LoadGPUFree = l.gib("available"), l.gib("free") },
	"total memory":               func(r *recording, l *line) { r.Total = l.gib("size") },
	"loaded runners":             func(r *recording, l *line) { r.LoadedRunners = l.count("count") },
	"peak memory": func(r *recording, l *line) {
		if last := len(r.mlx) - 1; last >= 0 {
			r.mlx[last].PeakMemory = l.gib("size")
		}
	},
	"speculative decode stats": func(r *recording, l *line) {
		if last := len(r.mlx) - 1; last >= 0 {
			m := &r.mlx[last]
			m.Iterations, m.Drafted, m.Accepted = l.count("iterations"), l.count("drafted"), l.count("accepted")
		}
	},
}

func said(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// gib is an attribute that is a size, in GiB with as many decimals as it has.
func (l *line) gib(name string) *float64 { return inGiB(size(l.attribute(name))) }

func inGiB(bytes *uint64) *float64 {
	if bytes == nil {
		return nil
	}
	return rounded(new(float64(*bytes)/(1<<30)), 4)
}

func inMiB(bytes *uint64) *float64 {
	if bytes == nil {
		return nil
	}
	return rounded(new(float64(*bytes)/(1<<20)), 4)
}

// conclude puts together what is known at the end.
func (r *recording) conclude() {
	if s := r.parser.settings; s != nil {
		r.Version, r.Parallel, r.MaxQueue, r.MaxLoaded = said(s.Version), s.Parallel, s.MaxQueue, s.MaxLoaded
	}
	if l := r.parser.load; l != nil {
		r.load(l)
	}
	if r.Model == nil {
		r.Model = said(r.parser.model)
	}
	r.Requests = r.answers
	if len(r.mlx) > 0 {
		r.Requests = r.mlx
	} else if r.answers == nil {
		r.Requests = nil
	}
	if r.Blocks != nil && r.KVHeads != nil && r.Context != nil && r.heads != nil && r.width != nil && *r.heads > 0 {
		head := uint64(*r.width / *r.heads)
		r.CacheOfShape = new(uint64(*r.Context) * uint64(*r.Blocks) * uint64(*r.KVHeads) * 2 * head * 2)
	}
}

func (r *recording) load(l *Load) {
	r.Model, r.Layers, r.GPULayers, r.Flash, r.Batch = said(l.Model), l.Layers, l.GPULayers, l.FlashAttention, l.Arguments.Batch
	r.WeightsMiB, r.CacheMiB, r.ComputeMiB = inMiB(l.WeightsBytes), inMiB(l.CacheBytes), inMiB(l.ComputeBytes)
	r.CacheBytes, r.CacheType, r.Slots = l.CacheBytes, said(l.CacheType), l.Slots
	r.Weights, r.Cache, r.Graph = inGiB(l.WeightsBytes), inGiB(l.CacheBytes), inGiB(l.ComputeBytes)
	if r.Port == nil {
		r.Port = l.Arguments.Port
	}
	if r.Context == nil {
		r.Context = l.Context()
	}
	if l.Ready != nil && r.LoadSeconds == nil {
		r.LoadSeconds = rounded(l.Ready, 6)
	}
}
