package iokit_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit"
)

var gpuChannels = []iokit.Channel{
	{Group: "GPU Stats", Subgroup: "GPU Performance States", Name: "GPUPH"},
	{Group: "Energy Model", Name: "GPU"},
}

func subscribe(t testing.TB, m mac, only ...iokit.Channel) *iokit.Report {
	t.Helper()
	r, err := m.Subscribe(only...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if entries, err := r.Delta(); entries != nil || err != nil {
		t.Fatalf("the first sample: %v, %v", entries, err)
	}
	return r
}

func delta(t testing.TB, r *iokit.Report) []iokit.Entry {
	t.Helper()
	entries, err := r.Delta()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestReport(t *testing.T) {
	m := open(t)
	r := subscribe(t, m, gpuChannels...)
	m.AddValue("Energy Model", "", "GPU Energy", 12_500_000_000)
	m.AddResidency("GPU Stats", "GPU Performance States", "GPUPH", "P1", 7)
	m.AddResidency("GPU Stats", "GPU Performance States", "GPUPH", "P8", 24_000_000)
	states := []iokit.State{{"OFF", 0}, {"P1", 7}, {"P2", 0}, {"P3", 0}, {"P4", 0}, {"P5", 0}, {"P6", 0}, {"P7", 0}, {"P8", 24_000_000}}
	want := []iokit.Entry{
		{Group: "GPU Stats", Subgroup: "GPU Performance States", Name: "GPUPH", Unit: "24Mticks", States: states},
		{Group: "Energy Model", Name: "GPU Energy", Unit: "nJ", Value: new(int64(12_500_000_000))},
		{Group: "Energy Model", Name: "GPU SRAM", Unit: "nJ", Value: new(int64(0))},
	}
	equal(t, "the difference", delta(t, r), want)
	for i := range states {
		states[i].Residency = 0
	}
	*want[1].Value = 0
	equal(t, "the next difference", delta(t, r), want)
	// A driver tells errors as the lowest number: absent, not zero.
	m.SetInvalid("Energy Model", "", "GPU Energy")
	m.SetUnit("Energy Model", "", "GPU SRAM", "")
	want[1].Value, want[2].Unit = nil, ""
	equal(t, "a difference with an error", delta(t, r), want)
	equal(t, "channels sampled", m.Open("channels sampled"), 3*4)
}

func TestReportChannels(t *testing.T) {
	m := open(t)
	names := func(only ...iokit.Channel) (names []string) {
		t.Helper()
		for _, e := range delta(t, subscribe(t, m, only...)) {
			names = append(names, e.Name)
		}
		slices.Sort(names)
		return names
	}
	equal(t, "a whole group", names(iokit.Channel{Group: "Energy Model"}), []string{"ANE", "CPU Energy", "DRAM", "GPU Energy", "GPU SRAM"})
	equal(t, "a subgroup", names(iokit.Channel{Group: "GPU Stats", Subgroup: "GPU Performance States"}), []string{"GPUPH", "GPU_CLTM"})
	equal(t, "some of a group", names(iokit.Channel{"Energy Model", "", "DRAM"}, iokit.Channel{"Energy Model", "", "ANE"}, iokit.Channel{"No Such Group", "", ""}),
		[]string{"ANE", "DRAM"})
	equal(t, "a part and the whole", names(iokit.Channel{"GPU Stats", "GPU Performance States", "GPUPH"}, iokit.Channel{"GPU Stats", "", "CLTM"}),
		[]string{"GPUPH", "GPU_CLTM"})
	// A histogram has neither a value nor states.
	equal(t, "a histogram", delta(t, subscribe(t, m, iokit.Channel{Group: "PMP", Subgroup: "DCS BW"})),
		[]iokit.Entry{{Group: "PMP", Subgroup: "DCS BW", Name: "GPU RD"}})
	for _, only := range [][]iokit.Channel{nil, {{"No Such Group", "", ""}}, {{"GPU Stats", "No Such Subgroup", ""}}, {{"Energy Model", "", "No Such Channel"}}} {
		_, err := m.Subscribe(only...)
		missing(t, err, "none of the channels")
	}
}

func TestReportErrors(t *testing.T) {
	m := open(t)
	for _, f := range []string{"IOReportCreateSubscription", "CFDictionaryCreateMutableCopy", "CFArrayCreateMutable"} {
		m.Fail(f, 1)
		if r, err := m.Subscribe(gpuChannels...); r != nil || err == nil {
			t.Errorf("%s fails: %v, %v", f, r, err)
		}
		m.Fail(f, 0)
	}
	r := subscribe(t, m, gpuChannels...)
	for _, f := range []string{"IOReportCreateSamples", "IOReportCreateSamplesDelta"} {
		m.Fail(f, 1)
		if e, err := r.Delta(); e != nil || err == nil {
			t.Errorf("%s fails: %v, %v", f, e, err)
		}
		m.Fail(f, 0)
	}
	m.AddValue("Energy Model", "", "GPU Energy", 5)
	if e := delta(t, r); len(e) != 3 || *e[1].Value != 5 {
		t.Errorf("after errors: %+v", e)
	}
	m.Fail("IOReportStateGetCount", 1<<30)
	if e := delta(t, r); e[0].States != nil {
		t.Errorf("a nonsensical count gives %d states", len(e[0].States))
	}
	r.Close()
	r.Close()
	if e, err := r.Delta(); e != nil || err == nil || !strings.Contains(err.Error(), "it was closed") {
		t.Errorf("a closed subscription: %v, %v", e, err)
	}
}
