package monitor

import (
	"strings"
	"sync"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// requests is the list of requests that slots, meter and log tell of together.
type requests struct {
	mu      sync.Mutex
	tracker *request.Tracker
}

// change lets one goroutine at a time tell something.
func (r *requests) change(tell func(*request.Tracker)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tell(r.tracker)
}

// moment is now, as package request wants it.
func (m *Monitor) moment() request.Moment {
	return request.Moment{Wall: m.config.Clock.Now(), Awake: m.config.Clock.Awake()}
}

// Observe takes what the meter says of a request, in flight or ended, under the
// meter's own ID. It may be called from any goroutine.
func (m *Monitor) Observe(r request.Request) {
	began := false
	m.requests.change(func(t *request.Tracker) {
		before := t.InFlight(m.moment(), "", "")
		t.Meter(r)
		began = !before && r.Phase != request.PhaseDone
	})
	if began || r.Phase == request.PhaseDone {
		m.wakeSlots()
		m.hurry()
	}
}

// ObserveLine takes what a line of a server's log says of a request. It may be
// called from any goroutine. A model named by its file is found among those in memory.
func (m *Monitor) ObserveLine(l request.Line) {
	if strings.HasPrefix(l.Model, "sha256-") {
		l.Model = m.named(l.Backend, l.Model)
	}
	m.requests.change(func(t *request.Tracker) { t.Log(m.moment(), l) })
}

// named is the model that a server holds in the file of that name, "" when it is
// not known.
func (m *Monitor) named(server, file string) string {
	s := m.snapshot()
	r := find(s.Residents, func(r *Resident) bool {
		return r.Backend == server && (strings.HasSuffix(r.Weights, file) || r.Digest != "" && strings.HasSuffix(file, r.Digest))
	})
	if r == nil {
		return ""
	}
	return r.Model
}

// tellRequests puts the requests and what is usual into the snapshot.
func (m *Monitor) tellRequests(s *Snapshot) {
	now := m.moment()
	m.requests.change(func(t *request.Tracker) {
		for i := range s.Residents {
			r := &s.Residents[i]
			if share := m.engine.state(residentKey(r)).share; share != nil && *share >= busyShare {
				t.Working(now, r.Backend, r.Model)
			}
		}
		s.Requests, s.Speeds = t.Requests(now), t.Speeds(now)
	})
	markBoundary(s.Requests)
	for i := range s.Requests {
		if q := &s.Requests[i]; q.Phase == request.PhasePrefill && q.ReadTokens == nil && comesIn(s, q) {
			q.Phase = request.PhaseLoading
		}
	}
}

// boundary is what requests are held against that no meter has held against its own.
var boundary = request.Boundary{Context: new(BoundaryContext), Queue: new(BoundaryQueue)}

// markBoundary marks the requests that are over the boundary, for information. One
// that the meter carries has its marks from there.
func markBoundary(list []request.Request) {
	working := 0
	for i := range list {
		r := &list[i]
		if r.Phase != request.PhaseDone {
			working++
		}
		if r.Boundary != nil {
			continue
		}
		r.Boundary = &boundary
		if r.PromptTokens != nil && *r.PromptTokens > BoundaryContext {
			r.Note(request.NoteOverContext)
		}
		if r.Phase != request.PhaseDone && working > BoundaryQueue {
			r.Note(request.NoteOverQueue)
		}
	}
}

// comesIn reports a request whose model is not in memory though its server, which
// has others to name, answers: it is on its way there.
func comesIn(s *Snapshot, q *request.Request) bool {
	b := find(s.Backends, func(b *backend.Status) bool { return b.Name == q.Backend || q.Backend == "" && len(s.Backends) == 1 })
	if b == nil || b.State != backend.Running || b.Kind != "ollama" || q.Model == "" || strings.HasSuffix(q.Model, "cloud") || b.Answered == nil || b.Answered.Before(q.Began) {
		return false
	}
	return find(s.Residents, func(r *Resident) bool {
		return r.Backend == b.Name && (r.Model == q.Model || r.Model == q.Model+":latest")
	}) == nil
}

// serving is the request in flight that keeps a resident model at work, nil when
// there is none. What waits for others keeps nothing at work.
func serving(s *Snapshot, r *Resident) *request.Request {
	return find(s.Requests, func(q *request.Request) bool {
		return q.Phase != request.PhaseDone && q.Phase != request.PhaseQueued && (q.Backend == "" || q.Backend == r.Backend) &&
			(q.Model == r.Model || q.Model+":latest" == r.Model)
	})
}

// inFlight reports any request that is not over.
func (s *Snapshot) inFlight() bool {
	return find(s.Requests, func(q *request.Request) bool { return q.Phase != request.PhaseDone }) != nil
}

// decodingRate is the decode rate of the one request at work and what is usual for
// its model at that depth of context. Several at once share the GPU, and an answer
// that stands still for another's prompt says nothing of the machine.
func decodingRate(s *Snapshot) (rate, usual float64, ok bool) {
	var one *request.Request
	for i := range s.Requests {
		switch q := &s.Requests[i]; {
		case q.Phase == request.PhaseDone:
		case one != nil:
			return 0, 0, false
		default:
			one = q
		}
	}
	if one == nil || one.Phase != request.PhaseDecode || one.Live == nil || one.Live.Approximate || s.Taken.Sub(one.Live.At) > longest {
		return 0, 0, false
	}
	if find(one.Notes, func(n *request.Note) bool { return *n == request.NoteOtherPrompt }) != nil {
		return 0, 0, false
	}
	speed := find(s.Speeds, func(v *request.Speed) bool { return v.Model == one.Model && v.Backend == one.Backend })
	if speed == nil {
		return 0, 0, false
	}
	depth := 0
	for _, n := range []*int{one.PromptTokens, one.OutputTokens} {
		if n != nil {
			depth += *n
		}
	}
	median, deep := usualAt(speed, depth)
	if median == nil || !deep && depth >= request.ShallowContext {
		return 0, 0, false // slower for its depth, and nobody knows by how much
	}
	return one.Live.Value, *median, true
}

// reading reports a model that reads a prompt: its watts are not those of decoding.
func reading(s *Snapshot, r *Resident) bool {
	q := serving(s, r)
	return q != nil && q.Phase == request.PhasePrefill
}

// fatSnapshots is how many snapshots of the past keep the requests that were over.
const fatSnapshots = 60

// slim is an old snapshot without requests that were over: ten minutes of lists
// would be megabytes.
func (s *Snapshot) slim() *Snapshot {
	if len(s.Requests) == 0 && len(s.Speeds) == 0 {
		return s
	}
	thin := *s
	thin.Requests, thin.Speeds = nil, nil
	for _, q := range s.Requests {
		if q.Phase != request.PhaseDone {
			thin.Requests = append(thin.Requests, q)
		}
	}
	return &thin
}
