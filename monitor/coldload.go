package monitor

import (
	"time"

	"plimsoll/monitor/request"
)

// coldLoads remembers how long requests waited for their model. A meter and a log
// tell it of a request; where neither does, it is the time from the first moment that
// the request was seen to wait for the load to the first that it did not.
type coldLoads struct{ of map[string]coldWait }

type coldWait struct {
	began time.Time
	over  *float64 // seconds; nil while it lasts
}

// note looks at the requests of the newest snapshot and forgets those that no list
// has any more.
func (l *coldLoads) note(s *Snapshot) {
	there := map[string]coldWait{}
	for i := range s.Requests {
		r := &s.Requests[i]
		was, known := l.of[r.ID]
		switch {
		case r.Phase == request.PhaseLoading:
			if !known {
				was = coldWait{began: r.Began}
			}
			was.over = nil
		case !known:
			continue
		case was.over == nil:
			was.over = new(max(0, s.Taken.Sub(was.began).Seconds()))
		}
		there[r.ID] = was
	}
	l.of = there
}

// seconds is how long a request waited for its model, nil when it did not or waits.
func (l *coldLoads) seconds(r *request.Request) *float64 {
	if r.Load != nil {
		return r.Load
	}
	return l.of[r.ID].over
}
