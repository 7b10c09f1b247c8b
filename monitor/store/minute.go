package store

import (
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// minute gathers the snapshots of one minute.
type minute struct {
	start     time.Time
	snapshots int
	sums      []float64
	counts    []int
	pressure  metal.Pressure
	thermal   metal.ThermalPressure
	alerts    map[string]bool
}

func newMinute(start time.Time) *minute {
	return &minute{start: start, sums: make([]float64, len(columns)), counts: make([]int, len(columns)), alerts: map[string]bool{}}
}

// The orders of what has no numbers, mildest first.
var (
	pressures = []metal.Pressure{metal.PressureNormal, metal.PressureWarning, metal.PressureCritical}
	thermals  = []metal.ThermalPressure{metal.ThermalNominal, metal.ThermalModerate, metal.ThermalHeavy, metal.ThermalTrapping, metal.ThermalSleeping}
)

func worse[T comparable](order []T, a, b T) T {
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// add takes in an update. before is the snapshot before it, nil for the first.
func (m *minute) add(u monitor.Update, before *monitor.Snapshot) {
	s := u.Snapshot
	m.snapshots++
	for i, c := range columns {
		v := c.value(s)
		if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
			continue
		}
		switch {
		case c.fold == grown:
			if before == nil {
				continue
			}
			was := c.value(before)
			if was == nil || *was > *v { // the system started again
				continue
			}
			m.sums[i] += *v - *was
		case c.fold == mean:
			m.sums[i] += *v
		case c.fold == last, m.counts[i] == 0:
			m.sums[i] = *v
		case c.fold == most:
			m.sums[i] = max(m.sums[i], *v)
		case c.fold == least:
			m.sums[i] = min(m.sums[i], *v)
		}
		m.counts[i]++
	}
	if s.Memory != nil {
		m.pressure = worse(pressures, m.pressure, s.Memory.Pressure)
	}
	if s.Thermal != nil {
		m.thermal = worse(thermals, m.thermal, s.Thermal.Pressure)
	}
	for _, a := range u.Alerts {
		m.alerts[a.Rule] = true
	}
}

// value is a column of the minute so far, nil when no snapshot told it.
func (m *minute) value(i int) *float64 {
	switch {
	case m.counts[i] == 0:
		return nil
	case columns[i].fold == mean:
		return new(m.sums[i] / float64(m.counts[i]))
	}
	return new(m.sums[i])
}

// sample is the minute so far.
func (m *minute) sample() Sample {
	s := Sample{Start: m.start, Snapshots: m.snapshots, Pressure: m.pressure, Thermal: m.thermal}
	for i, c := range columns {
		put(c.field(&s), m.value(i))
	}
	for rule := range m.alerts {
		s.Alerts = append(s.Alerts, rule)
	}
	slices.Sort(s.Alerts)
	return s
}

// put sets a field of a Sample.
func put(field any, v *float64) {
	switch field := field.(type) {
	case **uint64:
		if v != nil {
			*field = new(uint64(max(0, math.Round(*v))))
		}
	case **float64:
		*field = v
	}
}

// got is the value of a field of a Sample, as SQLite keeps it.
func got(field any) any {
	switch field := field.(type) {
	case **uint64:
		if *field != nil {
			return int64(min(**field, math.MaxInt64))
		}
	case **float64:
		if *field != nil {
			return **field
		}
	}
	return nil
}

// writeSample keeps a minute. Of two accounts of one minute, before and after a
// restart of the agent, the fuller one stays.
var writeSample = "INSERT INTO minutes (start, snapshots, pressure, thermal_pressure, alerts, " + names() + ") VALUES (" + places(5+len(columns)) + `)
	ON CONFLICT (start) DO UPDATE SET ` + excluded() + " WHERE excluded.snapshots >= minutes.snapshots"

func names() string {
	var all []string
	for _, c := range columns {
		all = append(all, c.name)
	}
	return strings.Join(all, ", ")
}

func excluded() string {
	all := []string{"snapshots = excluded.snapshots", "pressure = excluded.pressure", "thermal_pressure = excluded.thermal_pressure", "alerts = excluded.alerts"}
	for _, c := range columns {
		all = append(all, c.name+" = excluded."+c.name)
	}
	return strings.Join(all, ", ")
}

func (s *Sample) args() []any {
	args := []any{s.Start.Unix(), s.Snapshots, string(s.Pressure), string(s.Thermal), strings.Join(s.Alerts, ",")}
	for _, c := range columns {
		args = append(args, got(c.field(s)))
	}
	return args
}
