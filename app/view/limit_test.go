package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

const mib = uint64(mebibyte)

// roomy is a Mac of 32 GiB on which programs use 5.5 GiB and a model 9.8.
func roomy(change func(*monitor.Limit)) monitor.Update {
	u := zeroSwap()
	s := u.Snapshot
	s.Memory.Used = new(15*g + g*3/10)
	s.Residents = s.Residents[1:]
	s.Consumers = nil
	s.Limit = &monitor.Limit{Key: "iogpu.wired_limit_mb", Effective: new(21845 * mib), Default: new(21845 * mib), Helper: monitor.HelperInstalled}
	if change != nil {
		change(s.Limit)
	}
	if e := s.Limit.Effective; e != nil {
		s.GPU.WorkingSet = e
	}
	s.GPU.WiredLimit = new(s.Limit.Set)
	return u
}

func inForce(l *monitor.Limit, n uint64) { l.Set, l.Effective = n, &n }

// Case 19, in numbers: the cache grows by more than the limit does.
func TestTheContextStepEatsTheGain(t *testing.T) {
	u := roomy(nil)
	c := In("en").LimitChange(u.Snapshot, 26000*mib, nil)
	text := fmt.Sprint(c.Rows, c.Notes)
	for _, want := range []string{"21.3 GiB", "25.4 GiB", "+4.1 GiB", "4,096 tokens", "32,768 tokens", "160 KiB", "0.63 GiB", "5.0 GiB", "more than the 4.1 GiB gained"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if c.Pin.Command != "launchctl setenv OLLAMA_CONTEXT_LENGTH 4096" || c.Hand.Command != "sudo sysctl iogpu.wired_limit_mb=26000" {
		t.Errorf("commands %+v %+v", c.Pin, c.Hand)
	}
	// An Ollama on another machine has not read this machine's limit.
	status := u.Snapshot.Backends[0]
	status.Address = "http://192.168.1.20:11434"
	u.Snapshot.Backends = []backend.Status{status}
	if c := In("en").LimitChange(u.Snapshot, 26000*mib, nil); strings.Contains(fmt.Sprint(c.Rows, c.Notes, c.Pin), "Ollama") {
		t.Errorf("Ollama runs elsewhere: %+v", c)
	}
	// Without an Ollama there is no such step.
	u.Snapshot.Backends = []backend.Status{{Name: "lmstudio", Kind: "lmstudio", State: backend.Running}}
	c = In("en").LimitChange(u.Snapshot, 26000*mib, nil)
	if text := fmt.Sprint(c.Rows, c.Notes, c.Pin); strings.Contains(text, "Ollama") {
		t.Errorf("no Ollama runs: %s", text)
	}
	// On macOS 13 the key counts bytes.
	u.Snapshot.Limit.Key = "debug.iogpu.wired_limit"
	if c = In("en").LimitChange(u.Snapshot, 24*g, nil); c.Hand.Command != "sudo sysctl debug.iogpu.wired_limit=25769803776" {
		t.Errorf("by hand %q", c.Hand.Command)
	}
}

// Case 48: an untouched Mac of 64 GB.
func TestAnUntouchedMac(t *testing.T) {
	u := roomy(func(l *monitor.Limit) {
		l.Effective, l.Default = new(uint64(55662788608)), new(uint64(55662788608))
	})
	u.Snapshot.Machine.RAMBytes, u.Snapshot.Memory.Total = new(64*g), new(64*g)
	v := In("en").Render(u, at).Limit
	if v.Row.Text != "51.8 GiB, system default" || !strings.Contains(v.Row.Detail, "51.84 GiB (81 % of memory)") {
		t.Errorf("%q, %q", v.Row.Text, v.Row.Detail)
	}
	if v.Back != nil || v.Keep != nil || v.Choices[0].Action.Enabled {
		t.Errorf("there is nothing to go back to: %+v", v)
	}
}

func TestNoAdjustableLimit(t *testing.T) {
	u := zeroSwap()
	if v := In("en").Render(u, at); v.Limit != nil {
		t.Errorf("%+v", v.Limit)
	}
	if c := In("en").LimitChange(u.Snapshot, 26000*mib, nil); c != nil {
		t.Errorf("%+v", c)
	}
	if c := In("en").LimitChange(nil, 26000*mib, nil); c != nil {
		t.Errorf("%+v", c)
	}
}

// What fits then is a planner's to say.
func TestWhatFitsThen(t *testing.T) {
	u := roomy(nil)
	if c := In("en").LimitChange(u.Snapshot, 26000*mib, nil); c.FitsTitle != "" || c.Fits != nil {
		t.Errorf("without a planner: %+v", c.Fits)
	}
	asked := uint64(0)
	c := In("en").LimitChange(u.Snapshot, 26000*mib, func(limit uint64) []Row {
		asked = limit
		return []Row{{Label: "qwen3:32b", Text: "fits"}}
	})
	if asked != 26000*mib || len(c.Fits) != 1 || c.FitsTitle == "" {
		t.Errorf("asked for %d, %+v", asked, c)
	}
}

// The countdown is right at every moment, and never below nothing.
func TestCountdown(t *testing.T) {
	for _, test := range []struct {
		left time.Duration
		want string
	}{{103 * time.Second, "1:43"}, {2 * time.Minute, "2:00"}, {9600 * time.Millisecond, "0:10"}, {0, "0:00"}, {-time.Hour, "0:00"}, {1000 * time.Hour, "10:00"}} {
		u := roomy(func(l *monitor.Limit) {
			l.Lease = &monitor.LimitLease{Value: 26000 * mib, Until: at.Add(test.left)}
		})
		if got := In("en").Render(u, at).Limit.Trial; got != "on trial, "+test.want+" left" {
			t.Errorf("%v: %q", test.left, got)
		}
	}
}

// No choice that can be clicked is one that the helper refuses, or that measured
// use forbids, on any machine.
func TestChoicesAreSafe(t *testing.T) {
	for _, ram := range []uint64{8, 16, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512} {
		for _, used := range []uint64{0, 3, 6, 12, ram / 2, ram} {
			u := roomy(nil)
			s := u.Snapshot
			s.Machine.RAMBytes, s.Memory.Total, s.Residents = new(ram*g), new(ram*g), nil
			s.Memory.Used = new(used * g)
			s.Limit.Default = new(ram * g * 2 / 3)
			s.Limit.Effective = s.Limit.Default
			for _, c := range In("en").Render(u, at).Limit.Choices[1:] {
				if !c.Action.Enabled {
					continue
				}
				if err := wired.BoundsOf(ram * g).Check(wired.MiB(c.Bytes / mib)); err != nil || c.Bytes+used*g > ram*g {
					t.Errorf("%d GiB with %d in use: %s can be chosen (%v)", ram, used, c.Label, err)
				}
				if change := In("en").LimitChange(s, c.Bytes, nil); !change.Action.Enabled {
					t.Errorf("%d GiB: %s can be chosen and its dialog says no: %+v", ram, c.Label, change.Notes)
				}
			}
		}
	}
}

// A trial of a minute and less is over before the agent may keep it: a person has to.
func TestBriefTrialNotice(t *testing.T) {
	for _, seconds := range []float64{30, 60} {
		u := roomy(func(l *monitor.Limit) { inForce(l, 26000*mib) })
		u.Events = []monitor.Event{{Time: at, Kind: monitor.EventLimit, Evidence: monitor.Evidence{State: monitor.LimitTrial, Bytes: new(26000 * mib), Seconds: &seconds}}}
		for language, want := range map[string]string{"en": "too short to be kept by itself", "zh": "时间太短，不会自动保留"} {
			if text := In(language).Notices(u)[0].Text; !strings.Contains(text, want) || strings.Contains(text, "minute of normal") {
				t.Errorf("%v s: %q", seconds, text)
			}
		}
	}
}

// A trial, its end and what was kept are announced, each in place of the one before.
func TestLimitNotices(t *testing.T) {
	for _, test := range []struct {
		state    string
		title    string
		action   monitor.CommandKind
		withdraw bool
	}{
		{monitor.LimitTrial, "GPU limit 25.4 GiB on trial", monitor.CommandConfirmLimit, false},
		{monitor.LimitKept, "GPU limit 25.4 GiB kept", "", false},
		{monitor.LimitEnded, "The trial of the GPU limit is over", "", false},
		{monitor.LimitDefault, "", "", true},
		{monitor.LimitSet, "", "", true},
		{"something_new", "", "", true},
	} {
		u := roomy(func(l *monitor.Limit) { inForce(l, 26000*mib) })
		u.Events = []monitor.Event{{Time: at, Kind: monitor.EventLimit, Evidence: monitor.Evidence{State: test.state, Bytes: new(26000 * mib), Seconds: new(120.0)}}}
		list := In("en").Notices(u)
		if len(list) != 1 || list[0].ID != "limit" || list[0].Withdraw != test.withdraw || list[0].Title != test.title {
			t.Fatalf("%s: %+v", test.state, list)
		}
		if a := list[0].Action; (a != nil) != (test.action != "") || a != nil && a.Command.Kind != test.action {
			t.Errorf("%s: action %+v", test.state, a)
		}
		if test.state == monitor.LimitTrial && list[0].Text != "For 2 min: it is kept after a minute of normal memory pressure, else the limit before comes back. Ollama must be restarted to notice. Ollama's default context is 32,768 tokens then." {
			t.Errorf("text %q", list[0].Text)
		}
	}
}
