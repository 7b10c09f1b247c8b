package main

import (
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

const gib = 1 << 30

// noon is when every scene takes place.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func gibs(n float64) *uint64 { return new(uint64(n * gib)) }

// calm is a Mac of 32 GiB with one model and no trouble.
func calm() monitor.Update {
	return monitor.Update{Snapshot: &monitor.Snapshot{
		Taken: noon, Interval: new(2.0),
		Machine: &metal.Machine{Chip: "Apple M5", Model: "Mac17,3", Cores: new(10), RAMBytes: gibs(32), OS: "macOS 26.4", Uptime: new(90000.0)},
		Memory: &metal.Memory{Total: gibs(32), Used: gibs(18.4), App: gibs(6.1), Wired: gibs(11.2), Compressed: gibs(1.1),
			Cached: gibs(7.8), Free: gibs(5.8), Available: gibs(13.6), Pressure: metal.PressureNormal, PressureSource: "kernel"},
		Swap:     &monitor.Swap{Swap: metal.Swap{Used: gibs(0.4), Total: gibs(2)}, InRate: new(0.0), OutRate: new(0.0)},
		GPU:      &metal.GPU{Name: "Apple M5", Cores: new(10), WorkingSet: gibs(21.33), InUse: gibs(9.6), Utilisation: new(0.41), Temperature: new(58.0)},
		Thermal:  &metal.Thermal{Pressure: metal.ThermalNominal, Source: "notify"},
		Headroom: &monitor.Headroom{Bytes: 11*gib + 700<<20, Binding: monitor.BindingGPU, GPU: gibs(11.7), Reclaimable: gibs(13.6), RAM: gibs(14.2)},
		Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running,
			Version: "0.17.4", Answered: new(noon), RoundTrip: new(0.0012), Installed: new(7), Cloud: new(1)}},
		Residents: []monitor.Resident{resident("qwen3:14b", 9.3, 9.3)},
		Consumers: []monitor.Consumer{{Name: "Safari", Footprint: 2600 << 20, Processes: 23},
			{Name: "Xcode", Footprint: 1900 << 20, Processes: 6}, {Name: "Docker Desktop", Footprint: 1400 << 20, Processes: 9}},
	}, Events: []monitor.Event{
		{Time: noon.Add(-3 * time.Minute), Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Model: "qwen3:14b", Backend: "ollama", Bytes: gibs(9.3)}},
	}}
}

func resident(name string, size, gpu float64) monitor.Resident {
	return monitor.Resident{Activity: monitor.ActivityIdle, Answered: new(noon), Resident: backend.Resident{
		Backend: "ollama", Model: name, Size: gibs(size), GPU: gibs(gpu), Context: new(8192), TrainedContext: new(40960),
		Quantization: "Q4_K_M", Parameters: "14.8B", Family: "qwen3", Expires: new(noon.Add(4 * time.Minute))}}
}

// swapping is the same Mac with a second model that does not fit.
func swapping() monitor.Update {
	u := calm()
	s := *u.Snapshot
	s.Memory = &metal.Memory{Total: gibs(32), Used: gibs(30.1), App: gibs(5.2), Wired: gibs(21.3), Compressed: gibs(3.6),
		Cached: gibs(1.2), Free: gibs(0.7), Available: gibs(1.8), Pressure: metal.PressureWarning, PressureSource: "kernel"}
	s.Swap = &monitor.Swap{Swap: metal.Swap{Used: gibs(7.4), Total: gibs(8)}, InRate: new(9.0 * (1 << 20)), OutRate: new(140.0 * (1 << 20))}
	s.GPU = &metal.GPU{Name: "Apple M5", WorkingSet: gibs(21.33), InUse: gibs(21.2), Utilisation: new(0.97), Temperature: new(91.0)}
	s.Thermal = &metal.Thermal{Pressure: metal.ThermalHeavy, Source: "notify"}
	s.Headroom = &monitor.Headroom{Bytes: 0, Binding: monitor.BindingReclaimable, GPU: gibs(0.1), Reclaimable: new(uint64(0)), RAM: gibs(1)}
	busy := resident("qwen3:32b", 20.6, 17.9)
	busy.Activity, busy.Parameters = monitor.ActivityBusy, "32.8B"
	s.Residents = []monitor.Resident{resident("qwen3:14b", 9.3, 9.3), busy}
	u.Snapshot = &s
	unload := &monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: "qwen3:32b"}
	alert := monitor.Alert{ID: "swapping", Rule: "swapping", Severity: monitor.SeverityCritical, Since: noon.Add(-time.Minute), Action: unload,
		Evidence: monitor.Evidence{Consumer: "qwen3:32b", ConsumerIsModel: true, ConsumerBytes: gibs(20.6), Model: "qwen3:32b", Backend: "ollama",
			SwapUsed: gibs(7.4), SwapTotal: gibs(8), SwapOutRate: new(140.0 * (1 << 20)), SwapGrowth: gibs(6.2)}}
	pressure := monitor.Alert{ID: "pressure", Rule: "pressure", Severity: monitor.SeverityWarning, Since: noon.Add(-30 * time.Second),
		Evidence: monitor.Evidence{Pressure: "warning"}}
	u.Alerts = []monitor.Alert{alert, pressure}
	u.Events = append(u.Events,
		monitor.Event{Time: noon.Add(-90 * time.Second), Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Model: "qwen3:32b", Backend: "ollama", Bytes: gibs(20.6)}},
		monitor.Event{Time: noon.Add(-time.Minute), Kind: monitor.EventAlertRaised, Alert: &alert, Evidence: alert.Evidence})
	return u
}

// atWork is the same Mac with a request in flight and others behind it.
func atWork() monitor.Update {
	u := calm()
	s := *u.Snapshot
	r := resident("qwen3:14b", 9.3, 9.3)
	r.Activity, r.Comfort, r.Efficiency = monitor.ActivityBusy, fit.Comfortable, new(0.62)
	s.Residents = []monitor.Resident{r}
	number := func(v float64, source request.Source, ago time.Duration) *request.Number {
		return &request.Number{Value: v, Source: source, At: noon.Add(-ago)}
	}
	done := func(id string, ago time.Duration, decode float64) request.Request {
		return request.Request{ID: id, Backend: "ollama", Model: "qwen3:14b", Endpoint: "/api/chat", Sources: []request.Source{request.SourceMeter, request.SourceSlots},
			Phase: request.PhaseDone, Outcome: request.OutcomeFinished, Began: noon.Add(-ago - 40*time.Second), Ended: new(noon.Add(-ago)),
			PromptTokens: new(3120), CachedTokens: new(2048), OutputTokens: new(412), TTFT: number(1.42, request.SourceMeter, ago),
			Prefill: number(640, request.SourceServer, ago), Decode: number(decode, request.SourceServer, ago), Live: number(decode*1.009, request.SourceSlots, ago),
			Session: number(decode*0.8, request.SourceMeter, ago)}
	}
	cancelled := done("3", 4*time.Minute, 11)
	cancelled.Outcome, cancelled.Decode, cancelled.Session, cancelled.OutputApproximate = request.OutcomeCancelled, nil, nil, true
	failed := request.Request{ID: "2", Backend: "ollama", Model: "qwen3:14b", Sources: []request.Source{request.SourceMeter}, Phase: request.PhaseDone,
		Outcome: request.OutcomeFailed, Error: "model runner has unexpectedly stopped", Began: noon.Add(-7 * time.Minute), Ended: new(noon.Add(-7 * time.Minute)),
		Notes: []request.Note{request.NoteOverContext}}
	s.Requests = []request.Request{
		{ID: "5", Backend: "ollama", Model: "qwen3:14b", Sources: []request.Source{request.SourceSlots}, Phase: request.PhaseDecode, Began: noon.Add(-9 * time.Second),
			PromptTokens: new(812), OutputTokens: new(74), Live: number(11.2, request.SourceSlots, 0),
			TTFT: &request.Number{Value: 1.4, Spread: new(0.5), Approximate: true, Source: request.SourceSlots, At: noon}},
		done("4", time.Minute, 11.3), cancelled, failed,
	}
	s.Speeds = []request.Speed{{Backend: "ollama", Model: "qwen3:14b", Runs: 7, Decode: number(11.4, request.SourceServer, time.Minute)}}
	s.Diagnosis = &monitor.Diagnosis{Cause: monitor.SlowNot, Backend: "ollama", Model: "qwen3:14b", Since: noon,
		Evidence: monitor.Evidence{DecodeRate: new(11.2), UsualDecodeRate: new(11.4)}}
	s.LargestFit = &monitor.LargestFit{Backend: "ollama", Model: "gemma3:12b", Needs: 9 << 30, Context: 8192}
	u.Snapshot = &s
	return u
}

// hot is the same Mac after a quarter of an hour of answers: heat slows its GPU
// while Spotlight works beside.
func hot() monitor.Update {
	u := calm()
	s := *u.Snapshot
	s.GPU = &metal.GPU{Source: "iokit", Name: "Apple M5", WorkingSet: gibs(21.33), LimitSource: "metal", InUse: gibs(9.6), Utilisation: new(0.99),
		Temperature: new(101.0), Sensor: "Tg0X", Power: new(11.2), Clock: new(1010.0), TopClock: new(1620.0), Requested: true}
	s.Thermal = &metal.Thermal{Pressure: metal.ThermalHeavy, Source: "notify"}
	s.Throttle = &monitor.Throttle{Throttled: true, Since: new(noon.Add(-4 * time.Minute)), Cause: monitor.CauseHeat, Evidence: []monitor.Sign{
		{Reason: monitor.SignClock, Clock: new(1010.0), TopClock: new(1620.0), UsualClock: new(1578.0), Power: new(11.2), UsualPower: new(18.1)},
		{Reason: monitor.SignPressure, Pressure: metal.ThermalHeavy}, {Reason: monitor.SignHot, Temperature: new(101.0)}}}
	s.Background = []monitor.Background{{Name: "mds_stores", Cores: 1.24, Processes: 1}, {Name: "mdworker_shared", Cores: 0.4, Processes: 6}}
	u.Snapshot = &s
	u.Alerts = []monitor.Alert{{ID: "overheat", Rule: "overheat", Severity: monitor.SeverityWarning, Since: noon.Add(-4 * time.Minute),
		Evidence: monitor.Evidence{Cause: "heat", Temperature: new(101.0), Clock: new(1010.0), TopClock: new(1620.0), UsualClock: new(1578.0),
			Power: new(11.2), UsualPower: new(18.1), ThermalPressure: "heavy"}}}
	return u
}

// away is a Linux machine without model server, GPU or heat.
func away() monitor.Update {
	return monitor.Update{Snapshot: &monitor.Snapshot{
		Taken: noon, Interval: new(5.0),
		Machine:  &metal.Machine{Chip: "AMD EPYC 7B13", RAMBytes: gibs(24), OS: "Debian 12"},
		Memory:   &metal.Memory{Total: gibs(24), Used: gibs(2.2), App: gibs(1.1), Wired: gibs(0.3), Cached: gibs(3.1), Free: gibs(18.7), Available: gibs(21.6), Pressure: metal.PressureNormal, PressureSource: "psi"},
		Swap:     &monitor.Swap{Swap: metal.Swap{Used: new(uint64(0)), Total: new(uint64(0))}},
		Headroom: &monitor.Headroom{Bytes: 19 * gib, Binding: monitor.BindingRAM, RAM: gibs(19)},
		Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.NotRunning}},
		Problems: map[monitor.Section]monitor.Problem{monitor.SectionGPU: {Reason: monitor.ReasonUnsupported}, monitor.SectionThermal: {Reason: monitor.ReasonUnsupported}},
	}}
}

// crowd is twelve models with long names, some pinned, stuck or in the cloud.
func crowd() monitor.Update {
	u := calm()
	s := *u.Snapshot
	s.Residents = nil
	names := []string{"hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF:UD-Q4_K_XL", "nomic-embed-text:latest", "深度求索-混合专家:7b",
		"gpt-oss:120b-cloud", "a", "llama3.3:70b-instruct-q2_K", "m7", "m8", "m9", "mistral-small3.2:24b-instruct-2506-q4_K_M", "m11", "phi4-mini:3.8b"}
	for i, name := range names {
		r := resident(name, 0.5+float64(i)/4, 0.5+float64(i)/8)
		switch i {
		case 1:
			r.Pinned, r.Expires = true, nil
		case 3:
			r.Cloud, r.Size, r.GPU, r.Activity, r.Expires = true, nil, nil, "", nil
		case 4:
			r.Activity, r.Since = monitor.ActivityStuck, new(noon.Add(-2*time.Minute))
		case 5:
			r.Activity, r.Unloading = monitor.ActivityBusy, true
		}
		s.Residents = append(s.Residents, r)
	}
	u.Snapshot = &s
	return u
}

// course is ten minutes that lead up to last.
func course(last monitor.Update) []monitor.Update {
	var all []monitor.Update
	end := last.Snapshot
	for i := 120; i > 0; i-- {
		s := &monitor.Snapshot{Taken: noon.Add(-time.Duration(i) * 5 * time.Second), Machine: end.Machine}
		part := float64(120-i) / 120
		if i < 70 || i > 85 { // the machine slept in between
			s.Headroom = &monitor.Headroom{Bytes: uint64(19*gib + (float64(end.Headroom.Bytes)-19*gib)*part*part)}
			s.Swap = &monitor.Swap{Swap: metal.Swap{Used: new(uint64(float64(*end.Swap.Used) * part * part * part))}}
		}
		if len(end.Requests) > 0 && (i/12)%3 != 1 { // requests with pauses between
			s.Requests = []request.Request{{Phase: request.PhaseDecode, Live: &request.Number{Value: 11 + float64(i%7)/8}}}
		}
		all = append(all, monitor.Update{Snapshot: s})
	}
	return append(all, last)
}
