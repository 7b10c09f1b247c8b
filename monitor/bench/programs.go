package bench

import (
	"slices"
	"time"

	"plimsoll/metal"
)

// programs is a reading of the processes around a run.
type programs map[int]metal.Process

func readPrograms(read func() ([]metal.Process, error)) programs {
	if read == nil {
		return nil
	}
	list, err := read()
	if err != nil {
		return nil
	}
	all := make(programs, len(list))
	for _, p := range list {
		all[p.PID] = p
	}
	return all
}

// worked finds the programs that worked between two readings, but for those that
// serve the model (their pids) and their parents and children. What began and ended
// in between does not show.
func (before programs) worked(after programs, d time.Duration, ours ...int) []Reason {
	if before == nil || after == nil || d <= 0 {
		return nil
	}
	own := map[int]bool{}
	for _, pid := range ours {
		own[pid] = true
		if p, ok := after[pid]; ok && p.Parent > 1 {
			own[p.Parent] = true
		}
	}
	cores, gpu := map[string]float64{}, map[string]float64{}
	for pid, p := range after {
		if own[pid] || own[p.Parent] {
			continue
		}
		was, ok := before[pid]
		if !ok || was.Started != p.Started { // it began meanwhile
			was = metal.Process{CPU: new(0.0), GPU: new(0.0)}
		}
		name := p.App
		if name == "" {
			name = p.Name
		}
		if p.CPU != nil && was.CPU != nil {
			cores[name] += (*p.CPU - *was.CPU) / d.Seconds()
		}
		if p.GPU != nil && was.GPU != nil {
			gpu[name] += (*p.GPU - *was.GPU) / d.Seconds()
		}
	}
	found := append(over(cores, backgroundMost, ReasonBackground), over(gpu, gpuMost, ReasonOtherGPU)...)
	total := 0.0
	for _, c := range cores {
		total += c
	}
	if len(found) == 0 && total >= togetherMost {
		found = []Reason{{Kind: ReasonTogether, Value: &total}}
	}
	return found
}

// over are the names with at least a bound, most first.
func over(by map[string]float64, bound float64, kind ReasonKind) (found []Reason) {
	for name, v := range by {
		if v >= bound {
			found = append(found, Reason{Kind: kind, Name: name, Value: new(v)})
		}
	}
	slices.SortFunc(found, func(a, b Reason) int {
		if *a.Value != *b.Value {
			if *a.Value > *b.Value {
				return -1
			}
			return 1
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return found
}
