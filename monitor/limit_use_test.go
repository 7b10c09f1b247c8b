package monitor

import (
	"testing"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

func TestNonModelUse(t *testing.T) {
	local := []backend.Status{{Name: "ollama", Address: "http://127.0.0.1:11434"}, {Name: "mini", Address: "http://192.168.1.13:11434"}}
	model := func(server string, size, footprint *uint64) Resident {
		return Resident{Resident: backend.Resident{Backend: server, Model: "m", Size: size}, Footprint: footprint}
	}
	gibs := func(n uint64) *uint64 { return new(n * gib) }
	for _, test := range []struct {
		name string
		s    *Snapshot
		want *uint64
	}{
		{"no snapshot", nil, nil},
		{"no memory", &Snapshot{}, nil},
		{"use is not told", &Snapshot{Memory: &metal.Memory{Total: gibs(32)}}, nil},
		{"no models", &Snapshot{Memory: &metal.Memory{Used: gibs(9)}}, gibs(9)},
		{"measured goes before told", &Snapshot{Memory: &metal.Memory{Used: gibs(20)}, Backends: local, Residents: []Resident{model("ollama", gibs(9), gibs(12))}}, gibs(8)},
		{"told where nothing is measured", &Snapshot{Memory: &metal.Memory{Used: gibs(20)}, Backends: local, Residents: []Resident{model("ollama", gibs(9), nil)}}, gibs(11)},
		{"a model elsewhere holds nothing here", &Snapshot{Memory: &metal.Memory{Used: gibs(20)}, Backends: local, Residents: []Resident{model("mini", gibs(9), nil)}}, gibs(20)},
		{"a cloud model neither", &Snapshot{Memory: &metal.Memory{Used: gibs(20)}, Residents: []Resident{{Resident: backend.Resident{Cloud: true, Size: gibs(9)}}}}, gibs(20)},
		{"what a runner kept is a model's", &Snapshot{Memory: &metal.Memory{Used: gibs(20)}, Held: []Held{{PID: new(7), Bytes: gibs(5)}, {Bytes: gibs(3)}}}, gibs(15)},
		{"more than there is", &Snapshot{Memory: &metal.Memory{Used: gibs(5)}, Backends: local, Residents: []Resident{model("ollama", nil, gibs(6))}}, nil},
		{"old swap at normal pressure", &Snapshot{Memory: &metal.Memory{Used: gibs(9), Pressure: metal.PressureNormal}, Swap: &Swap{Swap: metal.Swap{Used: gibs(4)}}}, gibs(9)},
		{"swap under pressure", &Snapshot{Memory: &metal.Memory{Used: gibs(30), Pressure: metal.PressureWarning}, Swap: &Swap{Swap: metal.Swap{Used: gibs(4)}}, Backends: local,
			Residents: []Resident{model("ollama", nil, gibs(24))}}, gibs(10)},
	} {
		got := NonModelUse(test.s)
		if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
