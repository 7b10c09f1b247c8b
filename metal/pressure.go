package metal

import (
	"strconv"
	"strings"
)

// Who told Memory.Pressure.
const (
	pressureFromKernel = "kernel"
	pressureFromPSI    = "psi"
)

// kernelPressure names a level of kern.memorystatus_vm_pressure_level. The
// kernel returns nothing but 1, 2 and 4 (XNU, doc/vm/memorystatus_notify.md).
func kernelPressure(level uint64) Pressure {
	switch level {
	case 1:
		return PressureNormal
	case 2:
		return PressureWarning
	case 4:
		return PressureCritical
	}
	return ""
}

// Linux has no levels. These are shares of the last ten seconds, in percent, in
// which programs stood still because memory had to be found for them first
// (Documentation/accounting/psi.rst): "some" if one did, "full" if all did.
//
// 10 % of "some" is the medium level of Android's lmkd (100 ms in a second, where
// it begins to look for something to end): a person begins to feel it. When all
// stand still for 10 %, or one for half of the time, the machine spends its time
// on memory instead of work; systemd-oomd, which kills, waits until 60 % of
// "full". So normal swapping of idle pages is no warning, and a warning comes
// well before anything is killed.
const (
	psiWarningSome  = 10
	psiCriticalSome = 50
	psiCriticalFull = 10
)

// psiPressure makes a level of the text of /proc/pressure/memory; "" when it has
// no line "some".
func psiPressure(text []byte) Pressure {
	some, ok := psiAvg10(string(text), "some ")
	if !ok {
		return ""
	}
	full, _ := psiAvg10(string(text), "full ")
	switch {
	case full >= psiCriticalFull, some >= psiCriticalSome:
		return PressureCritical
	case some >= psiWarningSome:
		return PressureWarning
	}
	return PressureNormal
}

// psiAvg10 finds avg10 in the line that begins with kind, in percent.
func psiAvg10(text, kind string) (float64, bool) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, kind)
		if !ok {
			continue
		}
		_, rest, ok = strings.Cut(rest, "avg10=")
		if !ok {
			return 0, false
		}
		digits, _, _ := strings.Cut(rest, " ")
		share, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		return share, err == nil && share >= 0 && share <= 100
	}
	return 0, false
}
