package monitor

import (
	"strings"
	"testing"
)

// A zero where no machine has one is no value: it makes no alert, and no limit
// of headroom. (0 bytes of memory that can be given up is what new systems told
// to tools that did not know them.)
func TestZerosThatAreNoValues(t *testing.T) {
	for _, test := range []struct {
		name, section string
		binding       Binding // "" for no headroom
	}{
		{"available 0", `"memory":{"total_bytes":34359738368,"available_bytes":0,"pressure":"normal"}`, BindingRAM},
		{"available 0, hardly anything used", `"memory":{"total_bytes":34359738368,"used_bytes":1,"available_bytes":0}`, BindingRAM},
		{"nothing but zeros", `"memory":{"total_bytes":0,"used_bytes":0,"wired_bytes":0,"available_bytes":0,"free_bytes":0}`, ""},
		{"nothing at all", `"memory":{}`, ""},
		{"a GPU limit of 0", `"gpu":{"working_set_bytes":0,"in_use_bytes":0}`, ""},
		{"a full machine is believed", `"memory":{"total_bytes":34359738368,"used_bytes":33000000000,"available_bytes":0}`, BindingReclaimable},
		{"swap of 0", `"swap":{"used_bytes":0,"total_bytes":0,"swap_in_bytes":0,"swap_out_bytes":0}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, u := range play(t, times(8, `{"snapshot":{`+test.section+`}}`)...) {
				if len(u.Alerts) > 0 {
					t.Fatalf("alerts %+v, want none of a zero", u.Alerts)
				}
				h := u.Snapshot.Headroom
				if (h == nil) != (test.binding == "") || h != nil && h.Binding != test.binding {
					t.Fatalf("headroom %+v, want it bound by %q", h, test.binding)
				}
			}
		})
	}
}

// A section that cannot be read is told once, and takes nothing with it.
func TestAbsentSectionLeavesTheOthers(t *testing.T) {
	const broken = `{"snapshot":{"problems":{"memory":{"reason":"failed","detail":"host_statistics64: 5"}},` +
		`"swap":{"used_bytes":5,"total_bytes":9},"backends":[{"name":"ollama","state":"running"}],"residents":[{"backend":"ollama","model":"m"}]}}`
	const whole = `{"snapshot":{"memory":{"pressure":"normal"}}}`
	out := play(t, append(append([]string{whole}, times(5, broken)...), whole)...)
	var told []string
	for _, u := range out {
		for _, e := range u.Events {
			if e.Kind == EventProblem || e.Kind == EventProblemGone {
				told = append(told, string(e.Kind)+" "+e.Evidence.State)
			}
		}
		if len(u.Alerts) > 0 {
			t.Errorf("alerts %+v", u.Alerts)
		}
	}
	if got := strings.Join(told, ", "); got != "problem memory, problem_gone memory" {
		t.Errorf("told %q", got)
	}
	if s := out[3].Snapshot; s.Memory != nil || *s.Swap.Used != 5 || len(s.Residents) != 1 {
		t.Errorf("snapshot %+v, want all but the memory", s)
	}
}

// A cloud model is counted nowhere, whatever sizes a line gives it.
func TestCloudModelsCountNowhere(t *testing.T) {
	const line = `{"snapshot":{"memory":{"total_bytes":34359738368},"swap":{"swap_out_bytes_per_second":9000000},"residents":[` +
		`{"backend":"ollama","model":"far","cloud":true,"size_bytes":900000000000,"footprint_bytes":900000000000,"expires":"2020-01-01T00:00:00Z"}]}}`
	out := play(t, times(4, line)...)
	u := out[3]
	if h := u.Snapshot.Headroom; h == nil || h.Bytes != 28*gib {
		t.Errorf("headroom %+v, want RAM less the reserve", h)
	}
	a := standing(u, "swapping")
	if a == nil || a.Evidence.Consumer != "" || a.Action != nil {
		t.Errorf("alert %+v, want one that neither blames nor unloads the cloud model", a)
	}
	if r := u.Snapshot.Residents[0]; r.Activity != "" || standing(u, "model_stuck") != nil {
		t.Errorf("activity %q, want none", r.Activity)
	}
	for _, e := range out[0].Events {
		if e.Kind == EventModelLoaded {
			t.Error("a cloud model was told to be loaded")
		}
	}
}
