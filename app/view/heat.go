package view

import (
	"plimsoll/metal"
	"plimsoll/monitor"
)

// thermal levels: what each of the system's words means for the person.
var thermal = map[metal.ThermalPressure]Level{
	metal.ThermalNominal:  Normal,
	metal.ThermalModerate: Warning,
	metal.ThermalHeavy:    Warning,
	metal.ThermalTrapping: Critical,
	metal.ThermalSleeping: Critical,
}

// heat is the GPU's temperature, power and clock and the thermal pressure.
// "Nominal" is said as what it is: no throttling reported. A row without any
// sensor but a stuck one is grey.
func (sc *scene) heat() Row {
	row := sc.absent("view.heat.label", monitor.SectionThermal)
	row.Text = "" // heat is shown only when something is known
	temperature, power, clock, word := "", "", "", ""
	stuck := false
	if g := sc.s.GPU; g != nil {
		id := "view.heat.gpu"
		if stuck = g.Stuck; stuck {
			id = "view.heat.gpu_stuck"
		}
		temperature = sc.fact(id, celsius(g.Temperature))
		power, clock = watts(g.Power), sc.clockNow(g)
	}
	if t := sc.s.Thermal; t != nil && t.Pressure != "" {
		row.Level = thermal[t.Pressure]
		word = clean(string(t.Pressure))
		if id := "view.heat." + string(t.Pressure); row.Level != Unknown && sc.has(id) {
			word = sc.Text(id)
		}
	}
	row.Text = line(temperature, power, clock, word)
	if row.Text == "" {
		return row
	}
	if row.Level <= Normal && (word == "" || stuck) {
		row.Level = Normal
		if stuck && temperature != "" {
			row.Level = Unknown
		}
	}
	row.Detail = lines(row.Detail, sc.heatDetail(), sc.age())
	return row
}

// clockNow is the GPU's clock; one that was only asked for says so.
func (sc *scene) clockNow(g *metal.GPU) string {
	if g.Requested {
		return sc.fact("view.heat.requested", ghz(g.Clock))
	}
	return ghz(g.Clock)
}

// heatDetail says where the numbers about heat are from.
func (sc *scene) heatDetail() string {
	sensor, gpu, clock, pressure, state := "", "", "", "", ""
	if g := sc.s.GPU; g != nil {
		known := celsius(g.Temperature) != ""
		if known {
			sensor = sc.fact("view.heat.sensor", clean(g.Sensor))
		}
		if known && g.Stuck {
			sensor = lines(sensor, sc.Text("view.heat.stuck_why"))
		}
		if known || watts(g.Power) != "" || ghz(g.Clock) != "" {
			gpu = sc.fact("view.heat.gpu_source", sc.source(g.Source))
		}
		if g.Requested && ghz(g.Clock) != "" {
			clock = sc.Text("view.heat.requested_why")
		}
	}
	if t := sc.s.Thermal; t != nil {
		if t.Pressure != "" {
			pressure = sc.fact("view.heat.pressure_source", sc.source(t.Source))
		}
		state = sc.fact("view.heat.state", clean(t.State))
	}
	return lines(sensor, gpu, clock, pressure, state)
}

// source is who told a number, in words where there are some.
func (r *Renderer) source(name string) string {
	if id := "view.told." + name; name != "" && r.has(id) {
		return r.Text(id)
	}
	return clean(name)
}

// age is a line on how old a row is, where it is older than a few ticks.
func (sc *scene) age() string {
	return sc.since("view.as_of", sc.s.Taken, sc.now, staleAfter(sc.s.Interval))
}

// throttle says that the GPU is slowed, with what shows it. There is no row while
// it is not, or nobody can tell.
func (sc *scene) throttle() Row {
	v := sc.s.Throttle
	row := Row{Label: sc.Text("view.throttle.heat"), Share: -1, Level: Normal}
	if v == nil || !v.Throttled {
		return row
	}
	row.Level = Warning
	if id := "view.throttle." + string(v.Cause); v.Cause != "" && sc.has(id) {
		row.Label = sc.Text(id)
	}
	if v.Cause == monitor.CausePaused {
		row.Level = Critical
	}
	clock, power, pressure, hot, rate := "", "", "", "", ""
	var detail []string
	for i := range v.Evidence {
		s := &v.Evidence[i]
		detail = append(detail, sc.sign(s))
		clock, power = either(clock, sc.clock(s.Clock, s.TopClock)), either(power, watts(s.Power))
		pressure = either(pressure, sc.thermalWord(string(s.Pressure)))
		hot, rate = either(hot, celsius(s.Temperature)), either(rate, sc.tokenRate(s.DecodeRate))
	}
	row.Text = line(clock, power, rate)
	if row.Text == "" {
		row.Text = line(sc.fact("view.throttle.pressure", pressure), hot)
	}
	if row.Text == "" {
		row.Text = sc.Text("view.throttle.plain")
	}
	since := ""
	if v.Since != nil && !v.Since.IsZero() && sc.now.Sub(*v.Since) >= 0 {
		since = sc.Text("view.throttle.for", Args{"For": sc.duration(sc.now.Sub(*v.Since))})
	}
	row.Detail = lines(joined("\n", detail), since, sc.backgroundText(), sc.age())
	return row
}

// sign is one piece of evidence as a line, "" when it has no numbers.
func (r *Renderer) sign(s *monitor.Sign) string {
	switch s.Reason {
	case monitor.SignClock:
		return r.usual("view.throttle.clock", r.clock(s.Clock, s.TopClock), ghz(s.UsualClock))
	case monitor.SignPower, monitor.SignPaused:
		return r.usual("view.throttle.power", watts(s.Power), watts(s.UsualPower))
	case monitor.SignDecodeRate:
		return r.usual("view.throttle.rate", r.tokenRate(s.DecodeRate), r.tokenRate(s.UsualDecodeRate))
	case monitor.SignPressure:
		return r.usual("view.throttle.pressure", r.thermalWord(string(s.Pressure)), "")
	case monitor.SignHot:
		return r.usual("view.throttle.temperature", celsius(s.Temperature), "")
	}
	return clean(string(s.Reason))
}

// usual is "name: value, usually so much".
func (r *Renderer) usual(id, value, usual string) string {
	if value == "" {
		return ""
	}
	return r.Text(id, Args{"Value": value, "Usual": usual})
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// background are the system's programs at work while models are slow.
func (sc *scene) background() Row {
	row := sc.row("view.background.label", "")
	var facts []string
	for _, b := range sc.s.Background {
		if n, ok := finite(&b.Cores); ok && n > 0 && clean(b.Name) != "" {
			facts = append(facts, sc.Text("view.background.cores", Args{"Name": clean(b.Name), "Percent": percentOf(n)}))
		}
	}
	row.Text = line(facts...)
	if row.Text != "" {
		row.Detail = sc.Text("view.background.why")
	}
	return row
}

// backgroundText is the same as a line among others.
func (sc *scene) backgroundText() string {
	row := sc.background()
	if row.Text == "" {
		return ""
	}
	return sc.Text("view.background.line", Args{"Value": row.Text})
}
