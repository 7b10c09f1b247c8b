package monitor

import "time"

const (
	// newsAfter is how long a cause must be the one that is named before that is an
	// event, and newsAgain how long the same of the same model is no news then.
	newsAfter = 5 * time.Second
	newsAgain = 10 * time.Minute
	// newsMost is how many causes of models are remembered.
	newsMost = 256
)

// diagnosisNews makes events of diagnoses: causes come and go with every request,
// and who reads what happened wants to know of each once.
type diagnosisNews struct {
	now   string        // the model and its cause
	since time.Duration // awake
	told  map[string]time.Duration
}

// of tells of a cause that has slowed a model for a while. awake is the time that the
// machine was awake.
func (n *diagnosisNews) of(s *Snapshot, awake time.Duration) []Event {
	d := s.Diagnosis
	if d == nil || d.Cause == SlowNot || d.Cause == "" {
		n.now = ""
		return nil
	}
	key := d.Backend + "\n" + d.Model + "\n" + string(d.Cause)
	if key != n.now {
		n.now, n.since = key, awake
	}
	if told, ok := n.told[key]; awake-n.since < newsAfter || ok && awake-told < newsAgain {
		return nil
	}
	if n.told == nil || len(n.told) >= newsMost {
		n.told = map[string]time.Duration{}
	}
	n.told[key] = awake
	e := d.Evidence
	e.State, e.Backend, e.Model = string(d.Cause), d.Backend, d.Model
	return []Event{{Time: s.Taken, Kind: EventDiagnosis, Evidence: e}}
}
