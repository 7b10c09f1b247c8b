package metal

// thermalKey is the notify key that holds the thermal pressure.
const thermalKey = "com.apple.system.thermalpressurelevel"

// The sources of the thermal pressure.
const (
	thermalFromNotify      = "notify"
	thermalFromProcessInfo = "process_info"
)

// thermalLevels are the words for the notify key's levels (SDK header
// libkern/OSThermalNotification.h, kOSThermalPressureLevel… of macOS). A key that
// does not exist reads 0 as well, which is why nominal says no more than that no
// throttling is reported.
var thermalLevels = []ThermalPressure{ThermalNominal, ThermalModerate, ThermalHeavy, ThermalTrapping, ThermalSleeping}

// thermalStates are the words of NSProcessInfoThermalState, 0 to 3, with the
// pressure that each stands for (angristan/MacThrottle): fair hides the
// difference between moderate and heavy, and is taken for the milder.
var thermalStates = []struct {
	word     string
	pressure ThermalPressure
}{{"nominal", ThermalNominal}, {"fair", ThermalModerate}, {"serious", ThermalTrapping}, {"critical", ThermalSleeping}}

// thermalOf makes the thermal pressure of the two numbers, nil being unreadable:
// the level counts where there is one. nil when neither is a known number.
func thermalOf(level *uint64, state *int64) *Thermal {
	r := &Thermal{}
	if state != nil && *state >= 0 && *state < int64(len(thermalStates)) {
		s := thermalStates[*state]
		r.State, r.Pressure, r.Source = s.word, s.pressure, thermalFromProcessInfo
	}
	if level != nil && *level < uint64(len(thermalLevels)) {
		r.Pressure, r.Source = thermalLevels[*level], thermalFromNotify
	}
	if *r == (Thermal{}) {
		return nil
	}
	return r
}
