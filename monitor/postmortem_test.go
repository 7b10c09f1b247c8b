package monitor

import (
	"testing"
	"time"

	"plimsoll/metal"
)

// Case 51 and 52: the report is told once, with what the machine was like before.
func TestPostMortemIsToldOnce(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 12, 0, 0, time.UTC)
	last := seen(0)
	last.Swap.Used, last.Memory.Pressure = new(uint64(9*gib)), metal.PressureCritical
	p := &PostMortem{Report: metal.PanicReport{Name: "panic-full.panic", At: at, Kind: metal.PanicGPUMemory, Text: "panic(cpu 6)"}, Last: last}
	e := p.event(seen(5))
	if e.Kind != EventPostMortem || e.Evidence.Cause != "gpu_memory" || *e.Evidence.SwapUsed != 9*gib || e.Evidence.Pressure != "critical" ||
		*e.Evidence.Bytes != 11*gib || *e.Evidence.Limit != 22*gib || e.Evidence.Model != "qwen3:14b" || !e.Evidence.Since.Equal(at) {
		t.Errorf("%+v", e)
	}
	p.Last = nil
	if e = p.event(seen(5)); e.Evidence.SwapUsed != nil || e.Evidence.Bytes != nil || e.Evidence.Pressure != "" {
		t.Errorf("nothing is kept: %+v", e)
	}
}
