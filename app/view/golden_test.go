package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

var update = flag.Bool("update", false, "write the goldens in testdata anew")

const g = uint64(gibibyte)

// at is the moment of every golden.
var at = time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)

// scenes are the updates whose Views are kept as text, in both languages.
var scenes = []struct {
	name string
	make func() monitor.Update
}{
	{"full_mac", example},
	{"linux", linux},
	{"nothing", func() monitor.Update { return monitor.Update{} }},
	{"unreadable", unreadable},
	{"zero_swap", zeroSwap},
	{"swap_full", swapFull},
	{"demo", demo},
	{"stale", stale},
	{"servers", servers},
	{"models", models},
	{"alerts", alerts},
	{"hot", hot},
	{"slowed", slowed},
	{"paused", paused},
	{"events", events},
}

func linux() monitor.Update {
	return monitor.Update{Snapshot: &monitor.Snapshot{
		Taken: at, Interval: new(2.0),
		Machine: &metal.Machine{Chip: "AMD Ryzen 7 7840U", Cores: new(8), RAMBytes: new(uint64(33406050304)), OS: "Debian 12"},
		// The parts overlap: locked pages are in Wired and in App.
		Memory: &metal.Memory{Total: new(uint64(33406050304)), Used: new(6 * g), App: new(5 * g), Wired: new(2 * g),
			Cached: new(20 * g), Free: new(9 * g), Available: new(25 * g), Pressure: metal.PressureNormal, PressureSource: "psi"},
		Swap:     &monitor.Swap{Swap: metal.Swap{Used: new(uint64(0)), Total: new(g)}, InRate: new(0.0), OutRate: new(0.0)},
		Headroom: &monitor.Headroom{Bytes: 25 * g, Binding: monitor.BindingReclaimable, Reclaimable: new(25 * g)},
		Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running, Version: "0.17.4"}},
		Residents: []monitor.Resident{{Resident: backend.Resident{Backend: "ollama", Model: "tiny:latest", Size: new(uint64(2411724)), GPU: new(uint64(0)),
			Context: new(2048), Quantization: "F16", Parameters: "119.07K", Expires: new(at.Add(40 * time.Second))}, Activity: monitor.ActivityIdle,
			RunnerPID: new(77), Footprint: new(uint64(61 << 20))}},
		Problems: map[monitor.Section]monitor.Problem{
			monitor.SectionGPU: {Reason: monitor.ReasonUnsupported}, monitor.SectionThermal: {Reason: monitor.ReasonUnsupported}},
	}}
}

// unreadable is a system whose calls fail: sections with a reason, and sections
// with holes in them.
func unreadable() monitor.Update {
	return monitor.Update{Snapshot: &monitor.Snapshot{
		Taken:  at,
		Memory: &metal.Memory{Total: new(32 * g), Free: new(uint64(0))},
		Problems: map[monitor.Section]monitor.Problem{
			monitor.SectionSwap:     {Reason: monitor.ReasonFailed, Detail: "vm.swapusage: no such file\nor directory"},
			monitor.SectionGPU:      {Reason: monitor.ReasonNotPermitted},
			monitor.SectionThermal:  {Reason: "unheard_of", Detail: "x"},
			monitor.SectionHeadroom: {Reason: monitor.ReasonFailed, Detail: "memory is not known"},
		},
	}}
}

func zeroSwap() monitor.Update {
	u := example()
	u.Alerts, u.Events = nil, nil
	u.Snapshot.Swap = &monitor.Swap{Swap: metal.Swap{Used: new(uint64(0)), Total: new(uint64(0)), In: new(uint64(0)), Out: new(uint64(0))}}
	u.Snapshot.Memory.Pressure = metal.PressureNormal
	return u
}

// swapFull is a machine that dies while its pressure is normal
// (github.com/CambrianTech/continuum/pull/3877).
func swapFull() monitor.Update {
	u := zeroSwap()
	used, total := uint64(40.0e9), uint64(40.9e9)
	u.Snapshot.Swap = &monitor.Swap{Swap: metal.Swap{Used: &used, Total: &total}}
	u.Snapshot.Consumers = []monitor.Consumer{{Name: "indexer", Footprint: 26e9, Processes: 1}}
	u.Alerts = []monitor.Alert{{ID: "swap_full", Rule: "swap_full", Severity: monitor.SeverityCritical, Since: at, Evidence: monitor.Evidence{
		SwapUsed: &used, SwapTotal: &total, Consumer: "indexer", ConsumerBytes: new(uint64(26e9)), Pressure: "normal"}}}
	return u
}

func demo() monitor.Update {
	u := example()
	u.Snapshot.Simulated = true
	u.Snapshot.Headroom.Bytes = 114 * g / 10
	u.Snapshot.Headroom.Binding = monitor.BindingGPU
	return u
}

func stale() monitor.Update {
	u := zeroSwap()
	u.Snapshot.Taken = at.Add(-40 * time.Second)
	for i := range u.Snapshot.Residents {
		u.Snapshot.Residents[i].Answered = new(at.Add(-3 * time.Minute))
	}
	u.Snapshot.Backends[0].State = backend.NotAnswering
	u.Snapshot.Backends[0].Answered = new(at.Add(-3 * time.Minute))
	return u
}

func servers() monitor.Update {
	s := &monitor.Snapshot{Taken: at}
	add := func(state backend.State, cause, detail, address string) {
		s.Backends = append(s.Backends, backend.Status{Name: "ollama", Kind: "ollama", Address: address, State: state, Cause: cause, Detail: detail})
	}
	const local, remote = "http://127.0.0.1:11434", "https://192.168.1.13:11434"
	add(backend.Running, "", "", local)
	add(backend.NotRunning, "", "", local)
	add(backend.NotAnswering, "", "", local)
	add(backend.LoginNeeded, "", "", remote)
	add(backend.Failed, "", "500 Internal Server Error", local)
	add(backend.Failed, "tls_to_plain", "http: server gave HTTP response to HTTPS client", remote)
	add(backend.Failed, "plain_to_tls", "", "http://192.168.1.13:443")
	add(backend.Failed, "no_such_host", "", "http://nowhere:11434")
	add(backend.Failed, "bad_address", "", "http://:x")
	add(backend.Failed, "port_taken", "python3", local)
	add(backend.Failed, "not_this_server", "", local)
	add(backend.Failed, "forbidden_host", "", "http://box:11434")
	add(backend.Failed, "bad_certificate", "x509: certificate signed by unknown authority", remote)
	add(backend.NotAnswering, "unreachable", "i/o timeout", "http://192.168.1.13:11434")
	add(backend.Failed, "closed", "EOF", local)
	add(backend.Failed, "proxy", "407 Proxy Authentication Required", "http://models.example.com:11434")
	add("", "", "", local)
	add("sleepy", "new_cause", "", local)
	s.Backends = append(s.Backends,
		backend.Status{Name: "lmstudio", Kind: "lmstudio", Address: "http://127.0.0.1:1234", State: backend.NotRunning},
		backend.Status{Name: "second", Kind: "ollama", Address: "http://box:1", State: backend.Running, Version: "0.6.5"})
	return monitor.Update{Snapshot: s}
}

func models() monitor.Update {
	u := zeroSwap()
	u.Snapshot.Residents = nil
	add := func(name string, change func(*monitor.Resident)) {
		m := exampleModel(name, "32.8B", "Q4_K_M", "qwen3", 20*g, 40960, at, new(at.Add(4*time.Minute)))
		change(&m)
		u.Snapshot.Residents = append(u.Snapshot.Residents, m)
	}
	add("z-in-an-hour", func(m *monitor.Resident) { m.Expires = new(at.Add(time.Hour)) })
	add("busy", func(m *monitor.Resident) { m.Activity, m.Expires = monitor.ActivityBusy, new(at.Add(-time.Minute)) })
	add("stopping", func(m *monitor.Resident) { m.Activity = monitor.ActivityStopping })
	add("stuck", func(m *monitor.Resident) { m.Activity = monitor.ActivityStuck })
	add("past", func(m *monitor.Resident) { m.Expires = new(at.Add(-time.Minute)) })
	add("pinned", func(m *monitor.Resident) { m.Pinned, m.Expires = true, nil })
	add("year-2319", func(m *monitor.Resident) { m.Expires = new(at.AddDate(293, 0, 0)) })
	add("unloading", func(m *monitor.Resident) { m.Unloading = true })
	add("unloading-busy", func(m *monitor.Resident) { m.Unloading, m.Activity = true, monitor.ActivityBusy })
	add("partly", func(m *monitor.Resident) { m.GPU = new(g * 124 / 10) })
	add("on-cpu", func(m *monitor.Resident) { m.GPU = new(uint64(0)) })
	add("estimate", func(m *monitor.Resident) {
		m.Size, m.GPU, m.Footprint = new(uint64(31e9)), new(uint64(31e9)), new(uint64(20932722688))
	})
	add("bare", func(m *monitor.Resident) {
		*m = monitor.Resident{Resident: backend.Resident{Backend: "ollama", Model: "bare"}}
	})
	add("measured", func(m *monitor.Resident) { m.Size, m.GPU = nil, nil })
	add("big:cloud", func(m *monitor.Resident) {
		*m = monitor.Resident{Resident: backend.Resident{Backend: "ollama", Model: "big:cloud", Parameters: "671B", Cloud: true}}
	})
	return u
}

func alerts() monitor.Update {
	u := zeroSwap()
	add := func(rule string, severity monitor.Severity, e monitor.Evidence, action *monitor.Command) {
		u.Alerts = append(u.Alerts, monitor.Alert{ID: fmt.Sprint(rule, len(u.Alerts)), Rule: rule, Severity: severity, Since: at.Add(-2 * time.Minute), Evidence: e, Action: action})
	}
	program := monitor.Evidence{Consumer: "Chrome", ConsumerBytes: new(6 * g)}
	for _, rule := range []string{"swapping", "swap_full", "pressure"} {
		add(rule, monitor.SeverityWarning, monitor.Evidence{}, nil)
		add(rule, monitor.SeverityCritical, program, &monitor.Command{Kind: monitor.CommandUnloadAll})
	}
	add("swapping", monitor.SeverityWarning, monitor.Evidence{SwapGrowth: new(g / 2), Consumer: "qwen3:14b", ConsumerIsModel: true}, nil)
	add("swapping", monitor.SeverityCritical, monitor.Evidence{SwapInRate: new(210e6)}, nil)
	add("pressure", monitor.SeverityWarning, monitor.Evidence{SwapOutRate: new(2e6), Consumer: "Chrome", ConsumerBytes: new(6 * g)}, nil)
	add("server_down", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("server_down", monitor.SeverityInfo, monitor.Evidence{Backend: "ollama", Address: "http://127.0.0.1:11434", State: "not_running"}, nil)
	add("server_down", monitor.SeverityWarning, monitor.Evidence{Backend: "ollama", Address: "https://h:1", State: "failed", Cause: "tls_to_plain"}, nil)
	add("model_stuck", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("model_stuck", monitor.SeverityWarning, monitor.Evidence{Backend: "ollama", Model: "gpt-oss:120b", Bytes: new(uint64(89e9)), PID: new(812), Seconds: new(630.0)}, nil)
	add("memory_held", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("memory_held", monitor.SeverityWarning, monitor.Evidence{Backend: "mlx", Model: "m", Bytes: new(uint64(18e9)), PID: new(7), Process: "mlx_runner"},
		&monitor.Command{Kind: monitor.CommandEndRunner, Model: "m", PID: new(7)})
	add("overheat", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("overheat", monitor.SeverityWarning, monitor.Evidence{Cause: "heat", Temperature: new(101.4), Clock: new(1010.0), TopClock: new(1620.0),
		UsualClock: new(1578.0), Power: new(11.2), UsualPower: new(18.1), DecodeRate: new(8.1), UsualDecodeRate: new(11.4), ThermalPressure: "heavy"}, nil)
	add("overheat", monitor.SeverityWarning, monitor.Evidence{Cause: "policy", Clock: new(540.0), TopClock: new(1620.0), Power: new(7.9), UsualPower: new(50.0), ThermalPressure: "nominal"}, nil)
	add("overheat", monitor.SeverityWarning, monitor.Evidence{Cause: "threshold", Temperature: new(93.2), TemperatureLimit: new(90.0), Clock: new(1600.0), TopClock: new(1620.0)}, nil)
	add("overheat", monitor.SeverityWarning, monitor.Evidence{Cause: "threshold"}, nil)
	add("overheat", monitor.SeverityWarning, monitor.Evidence{Cause: "heat", Temperature: new(101.4), TemperatureLimit: new(90.0)}, nil)
	add("overheat", monitor.SeverityCritical, monitor.Evidence{Cause: "paused", Power: new(1.0), UsualPower: new(30.0)}, nil)
	add("memory_leaked", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("memory_leaked", monitor.SeverityWarning, monitor.Evidence{Bytes: new(402 * g), Since: new(at.Add(-time.Hour))}, nil)
	add("runner_grows", monitor.SeverityWarning, monitor.Evidence{}, nil)
	for cause, limit := range ordered("growing", nil, "over_gpu_limit", new(48*g), "over_ram", new(128*g), "over_size", new(4*g)) {
		add("runner_grows", monitor.SeverityWarning, monitor.Evidence{Backend: "ollama", Model: "qwen3:4b", Cause: cause, Bytes: new(146 * g), PID: new(812), Limit: limit,
			GrowthRate: new(3.4e6)}, &monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: "qwen3:4b"})
	}
	add("swap_wear", monitor.SeverityWarning, monitor.Evidence{}, nil)
	add("swap_wear", monitor.SeverityWarning, monitor.Evidence{Bytes: new(61 * g), Since: new(at.Add(-9 * time.Hour)), SwapOutRate: new(12e6)}, nil)
	add("gpu_hot", monitor.SeverityWarning, monitor.Evidence{}, &monitor.Command{Kind: "cool_down"})
	add("gpu_hot", "terrible", monitor.Evidence{Model: "m", Bytes: new(g), Detail: "why"}, nil)
	return u
}

func hot() monitor.Update {
	u := zeroSwap()
	u.Snapshot.Thermal = &metal.Thermal{Pressure: metal.ThermalHeavy, Source: "notify"}
	u.Snapshot.GPU = &metal.GPU{InUse: new(26 * g), WorkingSet: new(25 * g), WiredLimit: new(25 * g), Utilisation: new(0.94), Temperature: new(0.0), Power: new(0.0)}
	u.Snapshot.Memory.Pressure = metal.PressureCritical
	return u
}

// ordered goes through pairs of a cause and a limit.
func ordered(pairs ...any) func(yield func(string, *uint64) bool) {
	return func(yield func(string, *uint64) bool) {
		for i := 0; i < len(pairs); i += 2 {
			limit, _ := pairs[i+1].(*uint64)
			if !yield(pairs[i].(string), limit) {
				return
			}
		}
	}
}

// slowed is a GPU slowed by heat with a stuck sensor beside, while Spotlight
// works and a model's weights are pages of its file.
func slowed() monitor.Update {
	u := zeroSwap()
	s := u.Snapshot
	s.Taken = at.Add(-20 * time.Second)
	s.Thermal = &metal.Thermal{Pressure: metal.ThermalModerate, Source: "process_info", State: "fair"}
	s.GPU.Temperature, s.GPU.Stuck, s.GPU.Clock, s.GPU.Power, s.GPU.Utilisation = new(80.0), true, new(1010.0), new(11.2), new(0.99)
	s.Throttle = &monitor.Throttle{Throttled: true, Since: new(at.Add(-12 * time.Minute)), Cause: monitor.CauseHeat, Evidence: []monitor.Sign{
		{Reason: monitor.SignClock, Clock: new(1010.0), TopClock: new(1420.0), UsualClock: new(1398.0), Power: new(11.2), UsualPower: new(18.1)},
		{Reason: monitor.SignPower, Power: new(11.2), UsualPower: new(18.1)},
		{Reason: monitor.SignDecodeRate, DecodeRate: new(8.1), UsualDecodeRate: new(11.4)},
		{Reason: monitor.SignPressure, Pressure: metal.ThermalModerate},
		{Reason: monitor.SignHot, Temperature: new(101.0)},
	}}
	s.Background = []monitor.Background{{Name: "mds_stores", Cores: 1.24, Processes: 1}, {Name: "mdworker_shared", Cores: 0.4, Processes: 6}}
	s.Headroom.Mapped = new(8 * g)
	s.Residents[1].Growth = new(3.4e6)
	s.Swap = &monitor.Swap{Swap: metal.Swap{Used: new(g), Total: new(2 * g)}, OutToday: new(12 * g), OutSince: new(at.Add(-9*time.Hour - 41*time.Minute))}
	return u
}

// paused is a GPU that stands still to cool, and a sensor that is stuck where
// nothing else tells of heat.
func paused() monitor.Update {
	u := zeroSwap()
	s := u.Snapshot
	s.Thermal = nil
	s.GPU.Temperature, s.GPU.Stuck, s.GPU.Clock, s.GPU.Power, s.GPU.Utilisation = new(80.0), true, nil, new(1.0), new(0.02)
	s.Throttle = &monitor.Throttle{Throttled: true, Since: new(at.Add(-40 * time.Second)), Cause: monitor.CausePaused,
		Evidence: []monitor.Sign{{Reason: monitor.SignPaused, Power: new(1.0), UsualPower: new(30.0)}}}
	return u
}

func events() monitor.Update {
	u := zeroSwap()
	full := monitor.Evidence{Backend: "ollama", Address: "http://127.0.0.1:11434", State: "busy", Model: "qwen3:14b", Bytes: new(9 * g), Freed: new(9 * g),
		PID: new(7), Process: "ollama", Seconds: new(-90.0), Count: new(3), Detail: "why not"}
	raised := &monitor.Alert{ID: "a", Rule: "model_stuck", Severity: monitor.SeverityWarning, Evidence: full}
	for _, kind := range eventKinds {
		for _, e := range []monitor.Evidence{{}, full} {
			event := monitor.Event{Time: at, Kind: kind, Evidence: e}
			if kind == monitor.EventProblem || kind == monitor.EventProblemGone {
				event.Evidence.State, event.Evidence.Cause = "gpu", monitor.ReasonFailed
			}
			if kind == monitor.EventServer {
				event.Evidence.State = string(backend.NotAnswering)
			}
			if strings.HasPrefix(string(kind), "alert_") {
				event.Alert = raised
			}
			u.Events = append(u.Events, event)
		}
	}
	return u
}

var eventKinds = []monitor.EventKind{
	monitor.EventAlertRaised, monitor.EventAlertCleared, monitor.EventAlertChanged, monitor.EventModelLoaded, monitor.EventModelGone,
	monitor.EventServer, monitor.EventUnloadAsked, monitor.EventUnloaded, monitor.EventUnloadHeld, monitor.EventUnloadFailed, monitor.EventSlept,
	monitor.EventClock, monitor.EventGap, monitor.EventProblem, monitor.EventProblemGone, "something_new",
}

func TestGoldens(t *testing.T) {
	for _, scene := range scenes {
		for _, language := range []string{"en", "zh"} {
			t.Run(scene.name+"/"+language, func(t *testing.T) {
				r, u := In(language), scene.make()
				got := print(r.Render(u, at)) + printNotices(r.Notices(u)) + printEvents(r, u)
				file := filepath.Join("testdata", scene.name+"."+language+".txt")
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s differs; run go test ./app/view -update and read the difference:\n%s", file, difference(string(want), got))
				}
			})
		}
	}
}

// print writes a View as text, one fact a line. Figure spaces are shown as "_".
func print(v View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "demo %q icon %d badge %q title %q\ntooltip %s\n", v.Demo, v.Icon, v.Badge, strings.ReplaceAll(v.Title, figureSpace, "_"), v.Tooltip)
	if v.Stale != "" {
		fmt.Fprintf(&b, "stale %s\n", v.Stale)
	}
	rows := reflect.ValueOf(v)
	for i := range rows.NumField() {
		if row, ok := rows.Field(i).Interface().(Row); ok {
			printRow(&b, row)
		}
	}
	for _, row := range v.Consumers {
		printRow(&b, row)
	}
	fmt.Fprintf(&b, "\nbar %d\n", v.Bar.Total)
	for _, s := range v.Bar.Segments {
		fmt.Fprintf(&b, "  %-10s %s %s\n", s.Kind, s.Label, s.Text)
	}
	for _, m := range v.Bar.Marks {
		fmt.Fprintf(&b, "  mark %s %d\n", m.Label, m.At)
	}
	for _, s := range v.Servers {
		fmt.Fprintf(&b, "\nserver %s: %s (level %d)\n", s.Name, s.Text, s.Level)
		printLines(&b, "next", s.Next)
		printLines(&b, "detail", s.Row.Detail)
	}
	for _, m := range v.Models {
		fmt.Fprintf(&b, "\nmodel %s [%s]: %s\n  state %q level %d bytes %d\n", m.Name, m.Key, m.Text, m.State, m.Level, m.Bytes)
		printLines(&b, "detail", m.Detail)
		for _, a := range m.Actions {
			printAction(&b, &a)
		}
	}
	printAction(&b, v.UnloadAll)
	for _, a := range v.Alerts {
		fmt.Fprintf(&b, "\nalert %s %s (level %d)\n  %s\n", a.ID, a.Title, a.Level, a.Text)
		printAction(&b, a.Action)
	}
	for _, row := range v.Recent {
		fmt.Fprintf(&b, "recent %s %s (level %d)\n", row.Label, row.Text, row.Level)
	}
	return b.String()
}

func printRow(b *strings.Builder, row Row) {
	fmt.Fprintf(b, "\n%s: %s (level %d, share %.3f)\n", row.Label, row.Text, row.Level, row.Share)
	printLines(b, "detail", row.Detail)
}

func printLines(b *strings.Builder, name, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %s %s\n", name, strings.ReplaceAll(text, "\n", "\n    "))
	}
}

func printAction(b *strings.Builder, a *Action) {
	if a == nil {
		return
	}
	keep, pid := "", ""
	if a.Command.Keep != nil {
		keep = fmt.Sprintf(" keep %.0f", *a.Command.Keep)
	}
	if a.Command.PID != nil {
		pid = fmt.Sprintf(" pid %d", *a.Command.PID)
	}
	fmt.Fprintf(b, "  [%s] %s %s%s%s enabled %t\n", a.Label, a.Command.Kind, a.Command.Model, keep, pid, a.Enabled)
}

func printNotices(notices []Notice) string {
	var b strings.Builder
	for _, n := range notices {
		if n.Withdraw {
			fmt.Fprintf(&b, "\nwithdraw %s\n", n.ID)
			continue
		}
		fmt.Fprintf(&b, "\nnotice %s (%s) %s\n  %s\n", n.ID, n.Severity, n.Title, n.Text)
		printAction(&b, n.Action)
	}
	return b.String()
}

func printEvents(r *Renderer, u monitor.Update) string {
	var b strings.Builder
	for _, e := range u.Events {
		fmt.Fprintf(&b, "event %s: %s\n", e.Kind, r.Event(e))
	}
	return b.String()
}

// difference shows the lines that are in one text only.
func difference(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, c string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			c = g[i]
		}
		if a != c {
			fmt.Fprintf(&b, "line %d\n  want %s\n  got  %s\n", i+1, a, c)
		}
	}
	return b.String()
}
