package wired

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// story is a sequence of requests and what else happens, with what may be in force
// for good as a consequence.
type story struct {
	mac    *fakeMac
	server *Server
	random *rand.Rand
	// good are the limits that somebody confirmed, or lowered to.
	good map[MiB]bool
	// cut tells that the process was cut off and is to be started again.
	cut bool
	log []string
}

// TestCutOffAtEveryStep plays random stories, and each of them again for every
// step at which the helper can be ended. However it ends: the limit is within its
// bounds, is good or on trial, and in the end it is good.
func TestCutOffAtEveryStep(t *testing.T) {
	cuts := 0
	for seed := range uint64(150) {
		whole := play(t, seed, 0)
		for cut := range whole.mac.steps {
			play(t, seed, cut+1)
			cuts++
		}
	}
	if cuts < 2000 {
		t.Errorf("only %d steps", cuts)
	}
}

func play(t *testing.T, seed uint64, cut int) *story {
	t.Helper()
	s := &story{mac: newFakeMac(32 * gib), random: rand.New(rand.NewPCG(seed, 0)), good: map[MiB]bool{0: true}}
	s.server = NewServer(s.mac, "1")
	s.mac.cut = cut
	for range 8 {
		s.turn()
		s.again()
		s.check(t, seed, cut)
	}
	s.log = append(s.log, "11 minutes")
	s.mac.now += 11 * time.Minute
	s.guard(func() { s.server.Tick() })
	s.again()
	s.check(t, seed, cut)
	if !s.good[s.mac.limit()] || s.mac.state(t).Lease != nil {
		t.Fatalf("seed %d, cut %d: %d is left in force\n%q", seed, cut, s.mac.limit(), s.log)
	}
	return s
}

// turn is one thing that happens.
func (s *story) turn() {
	limits := []MiB{0, 16384, 20000, 24000, 26624, 28672}
	do := func(r request) { s.guard(func() { s.server.do(r, 0) }) }
	switch limit := limits[s.random.IntN(len(limits))]; s.random.IntN(8) {
	case 0, 1, 2:
		s.log = append(s.log, fmt.Sprintf("set %d", limit))
		state, _ := ReadState(s.mac)
		base := state.Set
		if state.Lease != nil {
			base = state.Lease.Previous
		}
		if limit < base {
			s.good[limit] = true
		}
		do(request{verb: "set", limit: limit, lease: time.Minute})
	case 3, 4:
		s.log = append(s.log, "confirm")
		if state, _ := ReadState(s.mac); state.Lease != nil && state.Lease.Left > 0 {
			s.good[state.Lease.Value] = true
		}
		do(request{verb: "confirm"})
	case 5:
		s.log = append(s.log, "reset")
		do(request{verb: "reset"})
	case 6:
		s.log = append(s.log, "time")
		s.mac.now += time.Duration(s.random.IntN(90)) * time.Second
		s.guard(func() { s.server.Tick() })
	case 7:
		s.log = append(s.log, "restart")
		s.mac.restart()
		s.server = NewServer(s.mac, "1")
		s.guard(func() { s.server.Tick() })
	}
}

// again starts the process again when it was cut off, as launchd does.
func (s *story) again() {
	if s.cut {
		s.server, s.cut = NewServer(s.mac, "1"), false
		s.guard(func() { s.server.Tick() })
	}
}

// guard runs until the process is cut off.
func (s *story) guard(f func()) {
	defer func() {
		if r := recover(); r == errCut {
			s.log = append(s.log, "cut off")
			s.cut = true
			return
		} else if r != nil {
			panic(r)
		}
	}()
	f()
}

func (s *story) check(t *testing.T, seed uint64, cut int) {
	t.Helper()
	state := s.mac.state(t)
	bad := ""
	switch {
	case BoundsOf(s.mac.ram).Check(state.Set) != nil:
		bad = "out of bounds"
	case !s.good[state.Set] && (state.Lease == nil || state.Lease.Left > LeaseMost):
		bad = "neither good nor on trial"
	case state.Remembered != nil && !s.good[*state.Remembered]:
		bad = "remembered and not good"
	case state.Refused != "" && state.Refused != RefusedPending:
		bad = "refused: " + state.Refused
	}
	if bad != "" {
		t.Fatalf("seed %d, cut %d: %+v: %s\n%q", seed, cut, state, bad, s.log)
	}
}
