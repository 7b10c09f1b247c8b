package monitor

import (
	"fmt"
	"testing"

	"plimsoll/metal/wired"
)

func limitLine(pressure, limit string) string {
	return fmt.Sprintf(`{"snapshot":{"memory":{"pressure":%q,"total_bytes":34359738368},"limit":{%s}}}`, pressure, limit)
}

func TestLimitRules(t *testing.T) {
	const (
		set       = `"set_bytes":27262976000`
		byDefault = `,"default_bytes":22906142720`
		noted     = `,"remembered_bytes":27262976000`
	)
	for _, test := range []struct {
		name, rule string
		line       string
		want       Severity // "" for none
		action     CommandKind
		cause      string
	}{
		// Case 49: after a restart the limit is the system's default again.
		{"a remembered limit is gone", "limit_lost", limitLine("normal", `"set_bytes":0`+byDefault+noted), SeverityWarning, CommandSetLimit, ""},
		{"it is in force", "limit_lost", limitLine("normal", set+byDefault+noted), "", "", ""},
		{"nothing is remembered", "limit_lost", limitLine("normal", `"set_bytes":0`+byDefault), "", "", ""},
		{"another one is on trial", "limit_lost", limitLine("normal", `"set_bytes":25165824000`+noted+`,"lease":{"value_bytes":25165824000,"previous_bytes":27262976000}`), "", "", ""},
		{"somebody set another", "limit_lost", limitLine("normal", `"set_bytes":25165824000`+noted), SeverityWarning, CommandSetLimit, ""},
		{"the start before froze", "limit_lost", limitLine("normal", `"set_bytes":0,"refused":"pending"`+noted), SeverityWarning, CommandSetLimit, wired.RefusedPending},
		{"out of its bounds", "limit_lost", limitLine("normal", `"set_bytes":0,"refused":"bounds"`+noted), SeverityWarning, CommandResetLimit, wired.RefusedBounds},
		{"another amount of memory", "limit_lost", limitLine("normal", `"set_bytes":0,"refused":"ram"`+noted), SeverityWarning, CommandResetLimit, wired.RefusedRAM},
		{"a file of somebody's", "limit_lost", limitLine("normal", `"set_bytes":0,"refused":"file"`), SeverityWarning, "", wired.RefusedFile},
		{"no such section", "limit_lost", `{"snapshot":{"memory":{"pressure":"normal"}}}`, "", "", ""},
		{"critical under an override", "limit_pressure", limitLine("critical", set+byDefault), SeverityCritical, CommandResetLimit, ""},
		{"critical where the default is not known", "limit_pressure", limitLine("critical", set), SeverityCritical, CommandResetLimit, ""},
		{"critical without an override", "limit_pressure", limitLine("critical", `"set_bytes":0`+byDefault), "", "", ""},
		{"critical without an override or a known default", "limit_pressure", limitLine("critical", `"set_bytes":0`), "", "", ""},
		{"critical under a lowered limit", "limit_pressure", limitLine("critical", `"set_bytes":16777216000`+byDefault), "", "", ""},
		{"a warning is not it", "limit_pressure", limitLine("warning", set+byDefault), "", "", ""},
		{"nor pressure that is not told", "limit_pressure", limitLine("", set+byDefault), "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			updates := play(t, times(5, test.line)...)
			a := standing(updates[len(updates)-1], test.rule)
			if test.want == "" {
				if a != nil {
					t.Fatalf("alert %+v", a)
				}
				return
			}
			if a == nil || a.Severity != test.want || a.Evidence.Cause != test.cause {
				t.Fatalf("alert %+v, want %s because of %q", a, test.want, test.cause)
			}
			switch {
			case test.action == "":
				if a.Action != nil {
					t.Errorf("action %+v", a.Action)
				}
			case a.Action == nil || a.Action.Kind != test.action:
				t.Errorf("action %+v, want %s", a.Action, test.action)
			case test.action == CommandSetLimit && *a.Action.Bytes != 27262976000:
				t.Errorf("it would set %d", *a.Action.Bytes)
			}
			if test.rule == "limit_pressure" && standing(updates[0], test.rule) == nil {
				t.Error("it waited: a machine may not have the time")
			}
		})
	}
}

// What happens to the limit is told once each.
func TestLimitEvents(t *testing.T) {
	const trial = `,"lease":{"value_bytes":27262976000,"previous_bytes":0,"until":"2026-01-01T00:02:00Z"}`
	at := func(clock, limit string) string {
		return fmt.Sprintf(`{"snapshot":{"taken":"2026-01-01T%sZ","limit":{%s}}}`, clock, limit)
	}
	for _, test := range []struct {
		name string
		then string
		want string
	}{
		{"on trial still", at("00:00:30", `"set_bytes":27262976000`+trial), ""},
		{"kept", at("00:01:05", `"set_bytes":27262976000,"remembered_bytes":27262976000`), LimitKept},
		{"ended", at("00:02:01", `"set_bytes":0,"effective_bytes":22906142720`), LimitEnded},
		{"ended between two ticks", at("00:01:56", `"set_bytes":0,"effective_bytes":22906142720`), LimitEnded},
		{"taken back", at("00:00:40", `"set_bytes":0,"effective_bytes":22906142720`), LimitDefault},
		{"another without a trial", at("00:00:40", `"set_bytes":25165824000`), LimitSet},
		{"another on trial", at("00:00:40", `"set_bytes":25165824000,"lease":{"value_bytes":25165824000,"previous_bytes":27262976000,"until":"2026-01-01T00:02:40Z"}`), LimitTrial},
		{"the section is gone", `{"snapshot":{}}`, ""},
	} {
		updates := play(t, at("00:00:00", `"set_bytes":0,"effective_bytes":22906142720`), at("00:00:02", `"set_bytes":27262976000`+trial), test.then)
		if e := event(updates[1], EventLimit); e == nil || e.Evidence.State != LimitTrial || *e.Evidence.Bytes != 27262976000 || *e.Evidence.Seconds != 118 {
			t.Errorf("%s: the trial's event %+v", test.name, e)
		}
		e := event(updates[2], EventLimit)
		switch {
		case test.want == "" && e != nil, test.want != "" && (e == nil || e.Evidence.State != test.want):
			t.Errorf("%s: event %+v, want %q", test.name, e, test.want)
		case test.want == LimitEnded && *e.Evidence.Bytes != 22906142720:
			t.Errorf("%s: %d in force", test.name, *e.Evidence.Bytes)
		}
	}
}
