package monitor_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/request"
	"plimsoll/monitor/sim"
)

// slowed is one cause of slowness as the simulated Mac produces it.
type slowed struct {
	cause monitor.DiagnosisCause
	// before is done before the model is loaded for the first time, begin when it has
	// answered often enough for a median, during when it makes the tokens of the answer
	// that is looked at, whose request prompt may change.
	before, begin, during func(*machine)
	prompt                func(*sim.Prompt)
}

const other = sim.Model14B

// slowCauses are all of them in the order of evidence.
var slowCauses = []slowed{
	{cause: monitor.SlowSwapping, begin: func(m *machine) {
		m.StartApp("Xcode", 300e9)
		m.until(2*time.Minute, "swap", func() bool { return m.Truth().Swapping })
	}},
	{cause: monitor.SlowSpill, before: func(m *machine) { m.SetGPUShare(sim.Model7B, 0.8) }},
	{cause: monitor.SlowThrottled, during: func(m *machine) { m.SetLowPower(true) }},
	{cause: monitor.SlowSecondModel,
		before: func(m *machine) { m.answer(sim.Prompt{Model: other, Tokens: 50, Output: 10}) },
		during: func(m *machine) { m.send(sim.Prompt{Model: other, Tokens: 50, Output: 400}) }},
	{cause: monitor.SlowSecondUser, during: func(m *machine) { m.send(sim.Prompt{Model: sim.Model7B, Context: deepest, Tokens: 50, Output: 2000}) }},
	{cause: monitor.SlowDeepContext, prompt: func(p *sim.Prompt) { p.Tokens = 30000 }},
	{cause: monitor.SlowReread, prompt: func(p *sim.Prompt) { p.Chat = "talk" }, begin: func(m *machine) { m.lost = true }},
	{cause: monitor.SlowColdLoad, begin: func(m *machine) {
		m.Unload(sim.Model7B)
		m.until(time.Minute, "the unload", func() bool { return m.resident(sim.Model7B) == nil })
		m.SetVolume(metal.Volume{Name: "nas", Kind: metal.VolumeNetwork}, 0.4e9)
	}},
	{cause: monitor.SlowOtherGPU, begin: func(m *machine) { m.SetGPUWork("Blender", 0.5) }},
	{cause: monitor.SlowBattery, begin: func(m *machine) { m.SetBattery(true) }},
	{cause: monitor.SlowBackground, begin: func(m *machine) { m.SetWork("mdworker_shared", 2.5) }},
	{cause: monitor.SlowGrown, begin: func(m *machine) {
		m.SetGrown(sim.Model7B, 4e9)
		m.pass(20 * time.Second)
	}},
	{cause: monitor.SlowEngine, begin: func(m *machine) { m.SetEngine(0.5) }},
}

// deepest is the context of the model here, in tokens.
const deepest = 32768

// never are the pairs that cannot be, and why.
var never = map[[2]monitor.DiagnosisCause]string{
	{monitor.SlowReread, monitor.SlowColdLoad}: "a model that was just loaded has no prompt to lose",
	{monitor.SlowColdLoad, monitor.SlowGrown}:  "a runner begins anew with the load",
}

// said is what was told of the model at work at one moment.
type said struct {
	at    time.Duration
	cause monitor.DiagnosisCause
	also  []monitor.DiagnosisCause
	full  monitor.Diagnosis
}

func (s said) String() string { return fmt.Sprintf("%v %s %v", s.at, s.cause, s.also) }

// diagnosed produces causes and returns all that was said of the model meanwhile, each
// once in a row, from the request on that is looked at.
func diagnosed(t *testing.T, causes ...slowed) []said {
	t.Helper()
	m := watched(t)
	m.Pace(sim.Model7B, 0, 6000) // prompts pass quickly
	prompt := sim.Prompt{Model: sim.Model7B, Context: deepest, Tokens: 200, Output: 450}
	do := func(step func(slowed) func(*machine)) {
		for _, c := range causes {
			if f := step(c); f != nil {
				f(m)
			}
		}
	}
	for _, c := range causes {
		if c.prompt != nil {
			c.prompt(&prompt)
		}
	}
	if prompt.Chat != "" {
		prompt.Tokens = max(prompt.Tokens, 2000)
	}
	do(func(c slowed) func(*machine) { return c.before })
	m.until(5*time.Minute, "three runs", func() bool {
		m.answer(sim.Prompt{Model: sim.Model7B, Context: deepest, Tokens: 100, Output: 80})
		m.pass(3 * time.Second)
		return m.runs(sim.Model7B) >= 3
	})
	m.pass(70 * time.Second) // what a runner takes once it is loaded is known now
	do(func(c slowed) func(*machine) { return c.begin })
	if m.lost {
		for _, less := range []int{600, 300} {
			m.answer(sim.Prompt{Model: sim.Model7B, Context: deepest, Tokens: prompt.Tokens - less, Output: 100, Chat: prompt.Chat})
		}
		m.LosePrompts()
		m.pass(3 * time.Second)
	}
	var all []said
	from := m.clock.Awake()
	m.pass(0)
	m.each = func(u monitor.Update) {
		d := u.Snapshot.Diagnosis
		if d == nil || d.Model != sim.Model7B {
			return
		}
		one := said{m.clock.Awake() - from, d.Cause, d.Also, *d}
		if n := len(all); n == 0 || all[n-1].cause != d.Cause || !slices.Equal(all[n-1].also, d.Also) {
			all = append(all, one)
		}
	}
	job := m.send(prompt)
	m.until(5*time.Minute, "the first tokens", func() bool { return m.inFlight(sim.Model7B, request.PhaseDecode) })
	do(func(c slowed) func(*machine) { return c.during })
	m.until(10*time.Minute, "the answer", func() bool { return job.Result().Finished })
	m.pass(5 * time.Second)
	return all
}

func lines(all []said) string {
	var text []string
	for _, s := range all {
		text = append(text, s.String())
	}
	return strings.Join(text, "\n")
}

// Each cause alone is what is said, and nothing else is; without any the model runs
// at its normal rate.
func TestEachCauseOfSlownessInTheSimulator(t *testing.T) {
	t.Run("normal", func(t *testing.T) {
		t.Parallel()
		all := diagnosed(t)
		if len(all) != 1 || all[0].cause != monitor.SlowNot {
			t.Errorf("said:\n%s", lines(all))
		}
	})
	for _, c := range slowCauses {
		t.Run(string(c.cause), func(t *testing.T) {
			t.Parallel()
			all := diagnosed(t, c)
			named := false
			for _, s := range all {
				if s.cause != c.cause && s.cause != monitor.SlowNot || len(s.also) > 0 {
					t.Errorf("said too: %v", s)
				}
				named = named || s.cause == c.cause && s.full.Evidence != (monitor.Evidence{})
			}
			if !named {
				t.Errorf("it is not named:\n%s", lines(all))
			}
		})
	}
}

// Of two the first in the order of evidence is said, and the other beside it. All
// pairs take a minute of processor time: without PLIMSOLL_LONG only those of
// neighbours in the order are tried.
func TestPairsOfCausesOfSlownessInTheSimulator(t *testing.T) {
	few := raced || os.Getenv("PLIMSOLL_LONG") == ""
	for i, first := range slowCauses {
		for _, second := range slowCauses[i+1:] {
			if never[[2]monitor.DiagnosisCause{first.cause, second.cause}] != "" || few && second.cause != slowCauses[i+1].cause {
				continue
			}
			t.Run(fmt.Sprintf("%s and %s", first.cause, second.cause), func(t *testing.T) {
				t.Parallel()
				all := diagnosed(t, first, second)
				named := false
				for _, s := range all {
					if !slices.Contains([]monitor.DiagnosisCause{first.cause, second.cause, monitor.SlowNot}, s.cause) {
						t.Errorf("said too: %v", s)
					}
					beside := slices.Contains(s.also, second.cause)
					if second.cause == monitor.SlowEngine { // which says that nothing else is seen
						beside = !beside
					}
					named = named || s.cause == first.cause && beside
				}
				if !named {
					t.Errorf("they are not named together:\n%s", lines(all))
				}
			})
		}
	}
}
