package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plimsoll/monitor/backend"
)

// engine is what turns facts into an Update: history, rules and the memory of
// what models were doing. The tick and the replay run the very same one.
type engine struct {
	history   History
	latch     *latch
	residents map[string]*residentState
	throttle  throttling
	diagnosis diagnosing
	wear      wear
	// claims tells what live programs have in memory; nil in a replay.
	claims func(*Snapshot) (uint64, bool)
	now    time.Duration // time awake, summed over the snapshots
}

func newEngine() *engine {
	e := &engine{latch: newLatch(rules), residents: map[string]*residentState{}, throttle: throttling{decoding: decodingRate}}
	e.diagnosis.loaded = func(r *Resident) uint64 { return e.state(residentKey(r)).footprints.loaded }
	return e
}

// complete takes a new snapshot into the history and fills in what follows from
// it and those before it. step comes next.
func (e *engine) complete(s *Snapshot) {
	if before := e.history.back(0); before != nil {
		derive(before, s)
		e.now += max(0, elapsed(before, s))
	}
	e.wear.note(s)
	e.judge(s)
	if s.Headroom == nil {
		s.Headroom = headroom(s)
	}
	e.history.add(s)
	e.history.hot.note(&e.history)
	if s.Throttle == nil {
		s.Throttle = e.throttle.step(&e.history)
	}
	if s.Leaked == nil {
		s.Leaked = leaked(&e.history, e.claims)
	}
	found := e.diagnosis.step(&e.history) // also for what a recording has: the next line may have none
	if s.Diagnosis == nil {
		s.Diagnosis = found
	}
}

// wantsConsumers reports whether an alert is about to begin whose text names
// the biggest memory user.
func (e *engine) wantsConsumers() bool { return e.latch.wants(&e.history) }

// step makes the Update of the newest snapshot. events are those that only the
// live monitor can know; the rest follows from the snapshots.
func (e *engine) step(events []Event) Update {
	s, previous := e.history.back(0), e.history.back(1)
	all := slices.Concat(interruptions(previous, s), problems(previous, s), servers(previous, s), models(previous, s), limits(previous, s), e.diagnosis.news.of(s, e.now), events)
	alerts, changes := e.latch.step(&e.history)
	return Update{Snapshot: s, Alerts: alerts, Events: append(all, changes...)}
}

// judge says what every resident model is doing and forgets those that are gone.
func (e *engine) judge(s *Snapshot) {
	there := map[string]bool{}
	var ahead time.Duration
	if previous := e.history.back(0); previous != nil {
		slept, changed := interruption(previous, s)
		ahead = slept + changed
	}
	for i := range s.Residents {
		r := &s.Residents[i]
		key := residentKey(r)
		there[key] = true
		st := e.state(key)
		st.ahead(ahead)
		st.judge(r, serving(s, r) != nil, s.Taken)
		if r.Footprint != nil && r.Growth == nil {
			pid := 0
			if r.RunnerPID != nil {
				pid = *r.RunnerPID
			}
			r.Growth = st.footprints.note(pid, *r.Footprint, e.now)
		}
	}
	for key := range e.residents {
		if !there[key] {
			delete(e.residents, key)
		}
	}
}

func (e *engine) state(key string) *residentState {
	if e.residents[key] == nil {
		e.residents[key] = &residentState{}
	}
	return e.residents[key]
}

func residentKey(r *Resident) string { return r.Backend + "/" + r.Model }

// interruptions tells of sleep and clock changes between two snapshots.
func interruptions(previous, s *Snapshot) []Event {
	if previous == nil {
		return nil
	}
	var events []Event
	slept, changed := interruption(previous, s)
	if slept != 0 {
		events = append(events, Event{Time: s.Taken, Kind: EventSlept, Evidence: Evidence{Seconds: new(slept.Seconds())}})
	}
	if changed != 0 {
		events = append(events, Event{Time: s.Taken, Kind: EventClock, Evidence: Evidence{Seconds: new(changed.Seconds())}})
	}
	return events
}

// problems tells of sections that became absent or came back. The first
// snapshot's are no news.
func problems(previous, s *Snapshot) []Event {
	if previous == nil {
		return nil
	}
	var events []Event
	for section, p := range s.Problems {
		if _, was := previous.Problems[section]; !was {
			events = append(events, Event{Time: s.Taken, Kind: EventProblem, Evidence: Evidence{State: string(section), Cause: p.Reason, Detail: p.Detail}})
		}
	}
	for section := range previous.Problems {
		if _, is := s.Problems[section]; !is {
			events = append(events, Event{Time: s.Taken, Kind: EventProblemGone, Evidence: Evidence{State: string(section)}})
		}
	}
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Evidence.State, b.Evidence.State))
	})
	return events
}

// servers tells of servers whose state changed.
func servers(previous, s *Snapshot) []Event {
	if previous == nil {
		return nil
	}
	var events []Event
	for _, b := range s.Backends {
		was := find(previous.Backends, func(p *backend.Status) bool { return p.Name == b.Name })
		if was != nil && was.State != b.State {
			events = append(events, Event{Time: s.Taken, Kind: EventServer, Evidence: Evidence{
				Backend: b.Name, Address: b.Address, State: string(b.State), Cause: b.Cause, Detail: b.Detail}})
		}
	}
	return events
}

// models tells of models that came and went.
func models(previous, s *Snapshot) []Event {
	if previous == nil {
		return nil
	}
	return append(appeared(EventModelLoaded, s.Residents, previous.Residents, s.Taken),
		appeared(EventModelGone, previous.Residents, s.Residents, s.Taken)...)
}

// appeared makes an event of each model in one list that is not in the other.
func appeared(kind EventKind, in, notIn []Resident, at time.Time) []Event {
	var events []Event
	for _, r := range in {
		if r.Cloud || find(notIn, func(o *Resident) bool { return residentKey(o) == residentKey(&r) }) != nil {
			continue
		}
		events = append(events, Event{Time: at, Kind: kind, Evidence: Evidence{Backend: r.Backend, Model: r.Model, Bytes: r.Size, Planned: r.Planned}})
	}
	return events
}

// find returns the first element that matches, nil when none does.
func find[T any](list []T, match func(*T) bool) *T {
	for i := range list {
		if match(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
