package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/monitor"
)

// The times of the actions, in seconds.
const (
	keepHour   = 3600
	keepPinned = -1
	// keepUnpinned is Ollama's own keep-alive, which a model has again after its
	// pin is taken away (envconfig.KeepAlive, five minutes).
	keepUnpinned = 300
)

// estimateMargin is how far the engine's figure may be from the measured one
// before both are shown: 15 %.
const estimateMargin = 0.15

// models are the resident models by backend and name.
func (sc *scene) models() []Model {
	residents := slices.Clone(sc.s.Residents)
	slices.SortStableFunc(residents, func(a, b monitor.Resident) int {
		return cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Model, b.Model))
	})
	var list []Model
	seen := map[string]int{}
	for i := range residents {
		m := sc.model(&residents[i])
		if seen[m.Key]++; seen[m.Key] > 1 { // a server must not, but a key must be one
			m.Key = fmt.Sprintf("%s#%d", m.Key, seen[m.Key])
		}
		list = append(list, m)
	}
	return list
}

func (sc *scene) model(m *monitor.Resident) Model {
	state := sc.state(m)
	gpu, level := sc.gpuShare(m)
	if m.Activity == monitor.ActivityStuck {
		level = Warning
	}
	old := ""
	if m.Answered != nil {
		old = sc.since("view.as_of", *m.Answered, sc.now, staleAfter(sc.s.Interval))
	}
	if old != "" {
		level = Unknown
	}
	context := ""
	if m.Context != nil && *m.Context > 0 {
		context = tokens(*m.Context)
		if m.Asked != nil {
			context = sc.Text("view.model.asked", Args{"Value": context, "Asked": tokens(*m.Asked)})
			if old == "" {
				level = max(level, Warning)
			}
		}
	}
	bytes := modelBytes(m)
	memory := ""
	if bytes > 0 {
		memory = size(bytes)
		if estimated(m) {
			memory = "~" + memory
		}
	}
	weights := joined(" ", []string{clean(m.Parameters), clean(m.Quantization)})
	return Model{
		Key:     m.Backend + "/" + m.Model,
		Name:    clean(m.Model),
		Text:    line(weights, memory, gpu, context, sc.comfort(m), sc.efficiency(m), state, old),
		State:   state,
		Detail:  sc.modelDetail(m, old),
		Level:   level,
		Bytes:   bytes,
		Actions: sc.actions(m),
	}
}

// modelBytes is what the server says a model takes, or else what was measured;
// 0 when neither is known or it runs elsewhere.
func modelBytes(m *monitor.Resident) uint64 {
	switch {
	case m.Cloud:
		return 0
	case m.Size != nil:
		return *m.Size
	case m.Footprint != nil:
		return *m.Footprint
	}
	return 0
}

// estimated reports that the measured footprint belies the server's figure.
func estimated(m *monitor.Resident) bool {
	if m.Size == nil || m.Footprint == nil || m.Cloud {
		return false
	}
	return apart(*m.Size, *m.Footprint)
}

// apart tells whether what a server says is more than estimateMargin off what was
// measured.
func apart(told, measured uint64) bool {
	a, b := float64(told), float64(measured)
	return max(a, b)-min(a, b) > estimateMargin*max(a, b)
}

// state is what a model does or when it goes, in words.
func (sc *scene) state(m *monitor.Resident) string {
	switch {
	case m.Cloud:
		return sc.Text("view.model.cloud")
	case m.Activity == monitor.ActivityStuck:
		return sc.Text("view.model.stuck")
	case m.Unloading && m.Activity == monitor.ActivityBusy:
		return sc.Text("view.model.unloading_after")
	case m.Unloading:
		return sc.Text("view.model.unloading")
	case m.Activity == monitor.ActivityBusy:
		return sc.Text("view.model.busy")
	case m.Activity == monitor.ActivityStopping:
		return sc.Text("view.model.stopping")
	case sc.pinned(m):
		return sc.Text("view.model.pinned")
	case m.Expires == nil:
		return ""
	}
	// Expiries are named by the wall clock, so they are counted by it, through
	// sleep and clock changes.
	left := m.Expires.Sub(sc.now)
	if left <= 0 {
		return sc.Text("view.model.stopping")
	}
	return sc.Text("view.model.in", Args{"In": sc.duration(max(left, time.Second))})
}

// pinned reports a model that stays until it is unloaded: marked so, or with an
// expiry that nobody will see.
func (sc *scene) pinned(m *monitor.Resident) bool {
	return m.Pinned || m.Expires != nil && m.Expires.Sub(sc.now) >= longest
}

// gpuShare is "GPU 62 %", and a warning when a part of the model is on the CPU
// of a machine that has a GPU to put it on.
func (sc *scene) gpuShare(m *monitor.Resident) (string, Level) {
	if m.Cloud || m.Size == nil || *m.Size == 0 || m.GPU == nil {
		return "", Normal
	}
	if *m.GPU == 0 {
		if sc.hasGPU() {
			return "CPU", Warning
		}
		return "CPU", Normal
	}
	on := share(*m.GPU, *m.Size)
	if on < 1 {
		return "GPU " + percent(on), Warning
	}
	return "GPU " + percent(on), Normal
}

// hasGPU reports a machine whose GPU could hold models. Every Mac can; elsewhere
// only what was found counts.
func (sc *scene) hasGPU() bool {
	return sc.s.GPU != nil || sc.s.Machine != nil && strings.HasPrefix(sc.s.Machine.OS, "macOS")
}

// modelDetail is the long form, one fact a line.
func (sc *scene) modelDetail(m *monitor.Resident, old string) string {
	server := sc.fact("view.fact.server", serverName(m.Backend))
	if m.Cloud {
		return lines(server, sc.Text("view.model.cloud_detail"), old)
	}
	planned := "view.fact.size"
	if estimated(m) {
		planned = "view.fact.estimate"
	}
	context := ""
	if m.Context != nil && *m.Context > 0 {
		trained := ""
		if m.TrainedContext != nil && *m.TrainedContext > 0 {
			trained = tokens(*m.TrainedContext)
		}
		asked := ""
		if m.Asked != nil {
			asked = tokens(*m.Asked)
		}
		context = sc.Text("view.fact.context", Args{"Value": tokens(*m.Context), "Trained": trained, "Asked": asked})
	}
	capabilities := make([]string, 0, len(m.Capabilities))
	for _, c := range m.Capabilities[:min(len(m.Capabilities), 8)] {
		capabilities = append(capabilities, clean(c))
	}
	expires := ""
	if m.Expires != nil && !sc.pinned(m) {
		expires = sc.fact("view.fact.expires", m.Expires.In(sc.now.Location()).Format("15:04:05"))
	}
	pinned := ""
	if sc.pinned(m) {
		pinned = sc.Text("view.model.pinned")
	}
	return lines(server,
		sc.fact(planned, optional(m.Size)),
		sc.fact("view.fact.measured", optional(m.Footprint)),
		sc.fact("view.fact.growth", perHour(m.Growth)),
		sc.planDetail(m),
		sc.fact("view.fact.on_gpu", optional(m.GPU)),
		context,
		sc.fact("view.fact.parameters", clean(m.Parameters)),
		sc.fact("view.fact.quantization", clean(m.Quantization)),
		sc.fact("view.fact.family", clean(m.Family)),
		sc.fact("view.fact.capabilities", joined(", ", capabilities)),
		sc.fact("view.fact.pid", positive(m.RunnerPID)),
		expires, pinned, old)
}

// actions are what a click may do with a model, none for one in the cloud.
func (sc *scene) actions(m *monitor.Resident) []Action {
	if m.Cloud {
		return nil
	}
	staying := !m.Unloading && m.Activity != monitor.ActivityStopping && m.Activity != monitor.ActivityStuck
	keep := func(label string, seconds float64) Action {
		return Action{Label: sc.Text(label), Enabled: staying, Command: monitor.Command{
			Kind: monitor.CommandKeep, Backend: m.Backend, Model: m.Model, Keep: &seconds}}
	}
	pin := keep("view.action.pin", keepPinned)
	if sc.pinned(m) {
		pin = keep("view.action.unpin", keepUnpinned)
	}
	return []Action{
		{Label: sc.Text("view.action.unload"), Enabled: !m.Unloading, Command: monitor.Command{
			Kind: monitor.CommandUnload, Backend: m.Backend, Model: m.Model}},
		keep("view.action.keep_hour", keepHour),
		pin,
	}
}

// unloadAll is offered from two models on.
func (sc *scene) unloadAll() *Action {
	local, staying := 0, 0
	for i := range sc.s.Residents {
		if m := &sc.s.Residents[i]; !m.Cloud {
			local++
			if !m.Unloading {
				staying++
			}
		}
	}
	if local < 2 {
		return nil
	}
	return &Action{Label: sc.Text("view.action.unload_all", Args{"Count": local}), Enabled: staying > 0,
		Command: monitor.Command{Kind: monitor.CommandUnloadAll}}
}
