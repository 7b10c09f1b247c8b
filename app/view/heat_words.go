package view

import (
	"fmt"

	"plimsoll/monitor"
)

// heatArgs adds the places of a message about heat.
func (r *Renderer) heatArgs(args Args, e monitor.Evidence) {
	args["Temperature"], args["HotLimit"] = celsius(e.Temperature), celsius(e.TemperatureLimit)
	args["Clock"], args["ClockBefore"] = r.clock(e.Clock, e.TopClock), ghz(e.UsualClock)
	args["Watts"], args["WattsBefore"] = watts(e.Power), watts(e.UsualPower)
	args["Rate"], args["RateBefore"] = r.tokenRate(e.DecodeRate), r.tokenRate(e.UsualDecodeRate)
	args["Heat"] = r.thermalWord(e.ThermalPressure)
	args["Paused"] = e.Cause == string(monitor.CausePaused)
	args["Policy"] = e.Cause == string(monitor.CausePolicy)
	args["Threshold"] = e.Cause == monitor.CauseThreshold
}

// thermalWord is the system's word for its thermal pressure, "" for none.
func (r *Renderer) thermalWord(p string) string {
	if id := "view.thermal." + p; p != "" && r.has(id) {
		return r.Text(id)
	}
	return clean(p)
}

// clock is "1.0 of 1.4 GHz", or the clock alone where its top is not known.
func (r *Renderer) clock(clock, top *float64) string {
	some, whole := ghz(clock), ghz(top)
	if some == "" || whole == "" {
		return some
	}
	return r.Text("view.of", Args{"Used": fmt.Sprintf("%.1f", *clock/1e3), "Total": whole})
}

// ghz is a clock given in MHz, "" when it is absent or none.
func ghz(mhz *float64) string {
	n, ok := finite(mhz)
	if !ok || n < 50 || n > 1e5 {
		return ""
	}
	return fmt.Sprintf("%.1f GHz", n/1e3)
}

// watts is a power with one decimal below 10 W, "" when it is absent or 0: a
// source that is missing tells 0.
func watts(f *float64) string {
	n, ok := finite(f)
	switch {
	case !ok || n <= 0 || n > 1e5:
		return ""
	case n < 9.95:
		return fmt.Sprintf("%.1f W", n)
	}
	return fmt.Sprintf("%.0f W", n)
}

// tokenRate is a decode rate, "" when it is absent.
func (r *Renderer) tokenRate(f *float64) string {
	n, ok := finite(f)
	if !ok || n <= 0 || n > 1e6 {
		return ""
	}
	return r.Text("view.token_rate", Args{"Value": fmt.Sprintf("%.1f", n)})
}
