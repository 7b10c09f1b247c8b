package monitor

import (
	"bytes"
	"strconv"
	"testing"

	"plimsoll/monitor/backend"
)

// Cases 17 and 18: a context that was asked for and is not what runs is told, unless
// the server only keeps to what its family takes at the least.
func TestContextThatWasAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		own, set, reported int
		sees               bool
		want               int
	}{
		"the Modelfile asks, another runs":       {own: 16384, reported: 262144, want: 16384},
		"the Modelfile asks and gets it":         {own: 16384, reported: 16384},
		"nobody asks":                            {reported: 262144},
		"the server is set to another":           {set: 16384, reported: 262144, want: 16384},
		"the Modelfile counts before the server": {own: 32768, set: 16384, reported: 32768},
		"less than was asked for":                {own: 32768, reported: 4096, want: 32768},
		"no more than it was trained for":        {own: 262144, reported: 131072},
		"a floor of models that see":             {own: 4096, reported: 8192, sees: true},
		"no floor of one that reads":             {own: 4096, reported: 8192, want: 4096},
		"rounded up":                             {own: 10000, reported: 10240},
	} {
		t.Run(name, func(t *testing.T) {
			m, size := New(Config{Local: newFakeMachine(), Clock: SystemClock()}), uint64(4.9e9)
			reply := show8B(size)
			if c.own > 0 {
				reply = bytes.Replace(reply, []byte(`{"details"`), []byte(`{"parameters":"num_ctx `+strconv.Itoa(c.own)+`","details"`), 1)
			}
			if c.sees {
				reply = bytes.Replace(reply, []byte(`"details"`), []byte(`"capabilities":["vision"],"details"`), 1)
			}
			m.builds.learn("ollama", []backend.Description{{Model: "8b", Digest: "8b", Size: &size, Reply: reply}})
			s := proMac(resident("8b", c.reported, size))
			if c.set > 0 {
				s.ServerSettings = []ServerSettings{{Backend: "ollama", Context: &c.set, ContextSet: true, Sources: map[string]SettingSource{"context_tokens": SettingLog}}}
			}
			m.foresee(s)
			got := 0
			if asked := s.Residents[0].Asked; asked != nil {
				got = *asked
			}
			if got != c.want {
				t.Errorf("asked %d, want %d", got, c.want)
			}
			if cache := s.Residents[0].PlannedCache; cache == nil || *cache != uint64(131072*c.reported) {
				t.Errorf("the cache is planned for another context than %d: %v", c.reported, cache)
			}
		})
	}
}
