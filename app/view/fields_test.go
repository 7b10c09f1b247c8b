package view

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor"
)

func TestEveryFieldHasAMeaning(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		r, left := In(language), map[string]bool{}
		for id := range messages().ids {
			if strings.HasPrefix(id, "field.") && !strings.HasPrefix(id, "field.unit.") {
				left[id] = true
			}
		}
		units := map[string]bool{}
		for _, f := range r.Fields() {
			id := fieldID(f.Name)
			if f.Meaning == id || f.Meaning == "" {
				t.Errorf("%s: no message %s", language, id)
			}
			if strings.HasPrefix(f.Unit, "field.") || f.Unit == "" {
				t.Errorf("%s: %s has no unit: %q", language, f.Name, f.Unit)
			}
			delete(left, id)
			units[f.Unit] = true
		}
		for id := range left {
			t.Errorf("%s: message %s is about no field", language, id)
		}
		if len(units) < 10 {
			t.Errorf("%s: only %d units", language, len(units))
		}
	}
}

func TestUnitsFollowTheNames(t *testing.T) {
	want := map[string]string{
		"taken": "RFC 3339 time", "simulated": "true/false", "swap.used_bytes": "bytes", "swap.swap_out_bytes_per_second": "bytes/s",
		"headroom.bytes": "bytes", "residents[].context_tokens": "tokens", "gpu.temperature_celsius": "°C", "gpu.utilisation_ratio": "ratio 0–1",
		"gpu.clock_mhz": "MHz", "gpu.power_watts": "W", "interval_seconds": "s", "consumers[].processes": "count", "residents[].model": "text",
		"residents[].capabilities[]": "text", "problems.*.reason": "text", "machine.core_levels[].cores": "count",
	}
	for _, f := range In("en").Fields() {
		if unit, ok := want[f.Name]; ok {
			if f.Unit != unit {
				t.Errorf("%s is in %q, want %q", f.Name, f.Unit, unit)
			}
			delete(want, f.Name)
		}
	}
	for name := range want {
		t.Errorf("%s is not listed", name)
	}
}

// plain are the numbers, times and texts of a Snapshot that are never absent
// while their section is there.
var plain = map[string]string{
	"taken":                                      "a snapshot has a moment",
	"machine.core_levels[].name":                 "a level is its name and count",
	"machine.core_levels[].cores":                "a level is its name and count",
	"throttle.throttled":                         "it is the verdict",
	"throttle.evidence[].reason":                 "evidence is its reason",
	"headroom.bytes":                             "there is no section without it",
	"headroom.binding":                           "there is no section without it",
	"backends[].name":                            "identity",
	"backends[].kind":                            "identity",
	"backends[].address":                         "identity",
	"backends[].state":                           "always known: at worst not running",
	"residents[].backend":                        "identity",
	"residents[].model":                          "identity",
	"consumers[].name":                           "identity",
	"consumers[].footprint_bytes":                "what cannot be measured is no consumer",
	"consumers[].processes":                      "an application has at least one",
	"held[].backend":                             "identity",
	"held[].model":                               "identity",
	"held[].since":                               "it was found at some moment",
	"leaked.bytes":                               "it is there only while it is found",
	"leaked.system_bytes":                        "an estimate there always is",
	"leaked.since":                               "it was found at some moment",
	"diagnosis.cause":                            "it is the verdict",
	"diagnosis.since":                            "it was found at some moment",
	"gpu_users[].name":                           "identity",
	"gpu_users[].share_ratio":                    "what cannot be measured is not listed",
	"residents[].volume.kind":                    "a volume is its kind",
	"background[].name":                          "identity",
	"largest_fit.backend":                        "identity",
	"largest_fit.model":                          "identity",
	"largest_fit.needs_bytes":                    "what is not planned is no fit",
	"largest_fit.context_tokens":                 "a plan has a context",
	"background[].processor_cores":               "what cannot be measured is not listed",
	"background[].processes":                     "a program has at least one",
	"limit.set_bytes":                            "0 is the system's default",
	"limit.lease.value_bytes":                    "a trial is of a limit",
	"limit.lease.previous_bytes":                 "0 is the system's default",
	"limit.lease.until":                          "a trial ends at some moment",
	"requests[].id":                              "identity",
	"requests[].sources[]":                       "somebody told of it",
	"requests[].phase":                           "always known",
	"requests[].began":                           "it was seen at some moment",
	"requests[].changed":                         "it was seen at some moment",
	"speeds[].backend":                           "identity",
	"speeds[].model":                             "identity",
	"speeds[].runs":                              "without any there is no entry",
	"speeds[].depths[].from_tokens":              "a depth is between two",
	"speeds[].depths[].to_tokens":                "a depth is between two",
	"speeds[].depths[].decode_tokens_per_second": "what was not measured is not listed",
	"speeds[].depths[].runs":                     "what was not measured is not listed",
	"problems.*.reason":                          "a problem is its reason",

	"server_settings[].backend":        "identity",
	"server_settings[].models[].model": "identity",
}

// TestAbsentIsNeverZero: what can be absent is a pointer, or "" or false left
// out, so that no reader takes a missing number for 0.
func TestAbsentIsNeverZero(t *testing.T) {
	seen := map[string]bool{}
	walk(reflect.TypeFor[monitor.Snapshot](), "", func(name string, leaf reflect.StructField) {
		_, options, _ := strings.Cut(leaf.Tag.Get("json"), ",")
		omitted := options == "omitempty" || options == "omitzero"
		if plain[name] != "" {
			seen[name] = true
			if leaf.Type.Kind() == reflect.Pointer || omitted {
				t.Errorf("%s is listed as never absent but can be", name)
			}
			return
		}
		if !omitted {
			t.Errorf("%s is written when it is absent: it needs omitempty or omitzero", name)
		}
		switch leaf.Type.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.String, reflect.Bool:
		case reflect.Struct:
			if options != "omitzero" || leaf.Type == reflect.TypeFor[time.Time]() {
				t.Errorf("%s is a %s: absent would be zero", name, leaf.Type)
			}
		default:
			t.Errorf("%s is a %s: absent would be zero", name, leaf.Type)
		}
		if leaf.Type == reflect.TypeFor[time.Time]() {
			t.Errorf("%s is a time that cannot be absent", name)
		}
	})
	for name := range plain {
		if !seen[name] {
			t.Errorf("%s is listed as never absent and does not exist", name)
		}
	}
}

// TestSectionsAreLeftOut: a section, a list and a map that is not there is not
// written either.
func TestSectionsAreLeftOut(t *testing.T) {
	s := reflect.TypeFor[monitor.Snapshot]()
	for i := range s.NumField() {
		f := s.Field(i)
		switch f.Type.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if !strings.HasSuffix(f.Tag.Get("json"), ",omitempty") {
				t.Errorf("section %s is written when it is absent", f.Name)
			}
		}
	}
}
