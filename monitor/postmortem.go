package monitor

import "plimsoll/metal"

// PostMortem is what is told once after the system had to restart by itself.
type PostMortem struct {
	Report metal.PanicReport
	// Last is the newest snapshot that was kept from the minute before. Nil when
	// there is none.
	Last *Snapshot
}

// event is the post-mortem as it is told, with the numbers of the last minute.
func (p *PostMortem) event(now *Snapshot) Event {
	e := Evidence{Cause: string(p.Report.Kind), Detail: p.Report.Text, State: p.Report.Name}
	if !p.Report.At.IsZero() {
		e.Since = &p.Report.At
	}
	if last := p.Last; last != nil {
		e.Pressure = string(pressure(last))
		if last.Swap != nil {
			e.SwapUsed, e.SwapTotal, e.SwapOutRate = last.Swap.Used, last.Swap.Total, last.Swap.OutRate
		}
		if last.GPU != nil {
			e.Bytes, e.Limit = last.GPU.InUse, last.GPU.WorkingSet
		}
		var h History
		h.add(last)
		e = blame(&h, e)
		if e.ConsumerIsModel {
			e.Model = e.Consumer
		}
	}
	return Event{Time: now.Taken, Kind: EventPostMortem, Evidence: e}
}
