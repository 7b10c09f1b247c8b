package sim

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"plimsoll/monitor/backend"
	requests "plimsoll/monitor/request"
)

// follower reads a runner's slots as a monitor does, on a clock that a test steps:
// one question at a time, time standing still but for what the server takes.
type follower struct {
	t       *testing.T
	mac     *Mac
	clock   *Clock
	slots   *backend.Slots
	tracker *requests.Tracker
	origin  requests.Origin
}

func follow(t *testing.T, m *Mac, clock *Clock) *follower {
	t.Helper()
	port := m.Truth().Models[0].Port
	f := &follower{t: t, mac: m, clock: clock, slots: backend.ChildSlots(port), tracker: requests.NewTracker(),
		origin: requests.Origin{Backend: "ollama", Model: Model7B, Process: strconv.Itoa(port)}}
	t.Cleanup(func() { f.slots.Close() })
	return f
}

func (f *follower) now() requests.Moment {
	return requests.Moment{Wall: f.clock.Now(), Awake: f.clock.Awake()}
}

// poll asks once; the clock goes on in steps while the server is in a pass.
func (f *follower) poll(step time.Duration) {
	f.t.Helper()
	asked, done := f.now(), make(chan error, 1)
	var slots []requests.Slot
	go func() {
		var err error
		slots, err = f.slots.Read(deadline(f.t))
		done <- err
	}()
	for end := deadline(f.t); ; {
		select {
		case err := <-done:
			if err != nil {
				f.t.Fatal(err)
			}
			f.tracker.Slots(requests.Reading{Origin: f.origin, Asked: asked, Came: f.now(), Slots: slots})
			return
		case <-end.Done():
			f.t.Fatal(context.Cause(end))
		default:
			if waits(f.mac) {
				f.clock.Advance(step)
				if f.clock.Awake()-asked.Awake >= requests.Silence {
					f.tracker.Silent(f.now(), f.origin, asked)
				}
			}
			runtime.Gosched()
		}
	}
}

// TestPassiveRates: the rates that are made of a runner's slots come to the true
// ones, however fast it is and however many slots work, also where a token takes
// longer than a question is waited for.
func TestPassiveRates(t *testing.T) {
	for _, slots := range []int{1, 4} {
		for _, rate := range []float64{0.03, 0.7, 5, 31, 300} {
			t.Run(fmt.Sprintf("%d slots at %v", slots, rate), func(t *testing.T) {
				m, clock := serveSlots(t, Config{Slots: slots})
				load(t, m, clock, Model7B)
				f := follow(t, m, clock)
				f.poll(stepTime)
				m.Pace(Model7B, rate, 1e6)
				tokens := int(max(12, 40*rate))
				for range slots {
					ask(t, m, Model7B, 5, tokens)
				}
				step := max(stepTime, time.Duration(0.004/rate*float64(time.Second)).Round(stepTime))
				checked := 0
				for begun := clock.Awake(); (clock.Awake() - begun).Seconds() < 0.9*float64(tokens)/rate; {
					f.poll(step)
					list := f.tracker.Requests(f.now())
					if len(list) > slots {
						t.Fatalf("%d requests on %d slots: %+v", len(list), slots, list)
					}
					for _, r := range list {
						if r.Live == nil || r.Live.Approximate || clock.Awake()-begun < 3*time.Second {
							continue
						}
						checked++
						if math.Abs(r.Live.Value/rate-1) > 0.03 {
							t.Fatalf("live %.4f after %v", r.Live.Value, clock.Awake()-begun)
						}
					}
					clock.Advance(500 * time.Millisecond)
				}
				if checked < 4*slots { // how often it is asked depends on the machine
					t.Errorf("only %d live rates were shown as exact", checked)
				}
				for f.tracker.InFlight(f.now(), "", "") {
					f.poll(step)
					clock.Advance(500 * time.Millisecond)
				}
				for _, r := range f.tracker.Requests(f.now()) {
					if r.Phase != requests.PhaseDone || r.Decode == nil || math.Abs(r.Decode.Value/rate-1) > 0.03 || *r.OutputTokens != tokens {
						t.Errorf("the whole answer: %+v %+v", r, r.Decode)
					}
				}
			})
		}
	}
}

// TestPassivePrompt: a prompt that keeps the server from answering is a prompt, and
// how fast it was read comes out of its slots.
func TestPassivePrompt(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 2})
	load(t, m, clock, Model7B)
	f := follow(t, m, clock)
	f.poll(stepTime)
	m.Pace(Model7B, 20, 200)
	clock.Advance(700 * time.Millisecond)
	began := clock.Awake()
	ask(t, m, Model7B, 3000, 100)
	clock.Advance(time.Second)
	phases := map[requests.Phase]bool{}
	for clock.Awake()-began < 19*time.Second {
		f.poll(stepTime)
		list := f.tracker.Requests(f.now())
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		phases[list[0].Phase] = true
		clock.Advance(500 * time.Millisecond)
	}
	r := f.tracker.Requests(f.now())[0]
	if !phases[requests.PhasePrefill] || r.Phase != requests.PhaseDecode || math.Abs(r.Live.Value-20) > 0.6 || *r.PromptTokens != 3000 {
		t.Errorf("%+v %+v", r, r.Live)
	}
	if r.Prefill == nil || math.Abs(r.Prefill.Value-200) > 6 {
		t.Errorf("prefill %+v, truly 200", r.Prefill)
	}
	if r.TTFT == nil || math.Abs(r.TTFT.Value-15.05) > *r.TTFT.Spread || *r.TTFT.Spread > 2 {
		t.Errorf("time to the first token %+v, truly 15.05", r.TTFT)
	}
}
