package view

import (
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// example is a Mac with two models, one of which is pinned, while memory
// begins to move to disk. All of it is made up; it is the same every time.
func example() monitor.Update {
	at := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	const g = uint64(gibibyte)
	alert := monitor.Alert{
		ID: "swapping", Rule: "swapping", Severity: monitor.SeverityWarning, Since: at.Add(-30 * time.Second),
		Evidence: monitor.Evidence{
			Consumer: "qwen3:14b", ConsumerIsModel: true, ConsumerBytes: new(g * 93 / 10),
			SwapUsed: new(g * 12 / 10), SwapTotal: new(4 * g), SwapOutRate: new(38e6), Pressure: "warning",
		},
		Action: &monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: "qwen3:14b"},
	}
	return monitor.Update{
		Snapshot: &monitor.Snapshot{
			Taken: at, Awake: new(8130.0), Interval: new(2.0),
			Machine: &metal.Machine{
				Chip: "Apple M5", Model: "Mac17,3", Cores: new(10),
				Levels:   []metal.CoreLevel{{Name: "Super", Cores: 4}, {Name: "Efficiency", Cores: 6}},
				RAMBytes: new(32 * g), OS: "macOS 26.4", Uptime: new(273600.0),
				Generation: "M5", Bandwidth: new(153e9), BandwidthCertain: new(true),
			},
			Memory: &metal.Memory{
				Total: new(32 * g), Used: new(27 * g), App: new(9 * g), Wired: new(15 * g), Compressed: new(3 * g),
				Cached: new(4 * g), Free: new(g), Available: new(5 * g),
				Pressure: metal.PressureWarning, PressureSource: "kernel",
			},
			Swap: &monitor.Swap{
				Swap:    metal.Swap{Used: new(g * 12 / 10), Total: new(4 * g), In: new(uint64(301989888)), Out: new(uint64(1610612736))},
				InRate:  new(1.2e6),
				OutRate: new(38e6),
			},
			GPU: &metal.GPU{
				Source: "iokit", Name: "Apple M5", Cores: new(10), WorkingSet: new(uint64(21845 << 20)), LimitSource: "metal", WiredLimit: new(uint64(0)),
				InUse: new(14 * g), Utilisation: new(0.84), Temperature: new(71.5), Sensor: "Tg0X",
				Power: new(17.2), Clock: new(1578.0), Requested: true, TopClock: new(1620.0),
			},
			Thermal:  &metal.Thermal{Pressure: metal.ThermalNominal, Source: "notify"},
			Power:    &metal.Power{OnBattery: new(false)},
			Headroom: &monitor.Headroom{Bytes: 5 * g, Binding: monitor.BindingReclaimable, GPU: new(uint64(7873757184)), Reclaimable: new(5 * g), RAM: new(6 * g), Reserve: new(6 * g)},
			Backends: []backend.Status{{
				Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running, Version: "0.17.4",
				Answered: new(at.Add(-time.Second)), RoundTrip: new(0.0012), Installed: new(9), Cloud: new(1),
			}},
			Residents: []monitor.Resident{
				exampleModel("nomic-embed-text:latest", "137M", "F16", "nomic-bert", g*6/10, 2048, at, nil),
				exampleModel("qwen3:14b", "14.8B", "Q4_K_M", "qwen3", g*93/10, 8192, at, new(at.Add(4*time.Minute))),
			},
			Consumers: []monitor.Consumer{{Name: "Chrome", Footprint: g * 61 / 10, Processes: 23}, {Name: "Xcode", Footprint: 2 * g, Processes: 4}},
		},
		Alerts: []monitor.Alert{alert},
		Events: []monitor.Event{{Time: at, Kind: monitor.EventAlertRaised, Alert: &alert}},
	}
}

// exampleModel is a resident model wholly on the GPU; without an expiry it is pinned.
func exampleModel(name, parameters, quantization, family string, size uint64, context int, at time.Time, expires *time.Time) monitor.Resident {
	return monitor.Resident{
		Resident: backend.Resident{
			Backend: "ollama", Model: name, Size: &size, GPU: &size, Context: &context, TrainedContext: new(4 * context),
			Quantization: quantization, Parameters: parameters, Family: family, Capabilities: []string{"completion"},
			Expires: expires, Pinned: expires == nil,
		},
		Activity: monitor.ActivityIdle, Since: new(at.Add(-time.Minute)),
		RunnerPID: new(4211), Footprint: new(size + size/20), Answered: new(at.Add(-time.Second)),
	}
}
