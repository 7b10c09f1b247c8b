package monitor

import "plimsoll/metal"

// volumes remembers where the resident models' files lie: a model is asked about
// once, when it comes.
type volumes struct{ of map[string]*metal.Volume }

// fill puts into the snapshot where each local model's file lies, as far as the
// system tells and the file may be seen.
func (v *volumes) fill(s *Snapshot, local metal.Reader) {
	reader, ok := local.(metal.Volumes)
	if !ok {
		return
	}
	there := map[string]*metal.Volume{}
	for i := range s.Residents {
		r := &s.Residents[i]
		if r.Cloud || r.Weights == "" || !onThisMachine(s, r.Backend) {
			continue
		}
		known, asked := v.of[r.Weights]
		if !asked {
			known, _ = reader.Volume(r.Weights) // a file that may not be seen has no volume
		}
		there[r.Weights], r.Volume = known, known
	}
	v.of = there
}
