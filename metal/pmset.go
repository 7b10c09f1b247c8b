package metal

import "strings"

// PMSetTherm is what "pmset -g therm" prints. Every field may be absent.
//
// On Apple Silicon the command normally has nothing to tell, in three notes: that
// is unknown and not fine.
type PMSetTherm struct {
	SchedulerLimit     *uint64 `json:"cpu_scheduler_limit_percent"`
	AvailableCPUs      *uint64 `json:"cpu_available_count"`
	SpeedLimit         *uint64 `json:"cpu_speed_limit_percent"`
	ThermalWarning     *uint64 `json:"thermal_warning_level"`
	PerformanceWarning *uint64 `json:"performance_warning_level"`
	// Throttled says that a limit is under 100 % or a warning is recorded; absent
	// where neither a limit nor a warning is told.
	Throttled *bool `json:"throttled"`
	// Notes counts the lines "Note: No … has been recorded".
	Notes int `json:"notes"`
}

// ParsePMSetTherm decodes the output of pmset -g therm, with or without the lines
// it writes to stderr. Of several notices it takes the last. With an error (a
// *TextError) it returns what it could read as well.
func ParsePMSetTherm(text string) (*PMSetTherm, error) {
	p := &PMSetTherm{}
	known := false
	var fault *TextError
	for line := range strings.Lines(text) {
		cut := !strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Note: No ") && strings.HasSuffix(line, "has been recorded") {
			p.Notes++
			known = true
			continue
		}
		// "Error:Failed to get thermal warning level with error code 0xe00002bc":
		// powerd did not answer, as in a sandbox.
		if strings.HasPrefix(line, "Error") {
			known = true
			if fault == nil {
				fault = &TextError{ToolFailed, "pmset", line}
			}
			continue
		}
		if strings.HasSuffix(line, "CPU Power notify") {
			known = true
		}
		label, value, ok := strings.Cut(line, "=")
		field := p.field(strings.TrimSpace(label))
		if !ok || field == nil {
			continue
		}
		known = true
		n := whole(strings.TrimSpace(value))
		// A text that ends here may have been cut, and 10 or 6 be all that is left of
		// 100 and 62. Nothing goes beyond 100.
		if n == nil || cut && *n <= 10 {
			fault = &TextError{Truncated, "pmset", line}
			continue
		}
		*field = n
	}
	p.judge()
	switch {
	case fault != nil:
		return p, fault
	case known:
		return p, nil
	case strings.TrimSpace(text) == "":
		return p, &TextError{Truncated, "pmset", "no output"}
	}
	return p, &TextError{LabelsNotRecognised, "pmset", lastLine(text)}
}

// field finds where a value goes. Warnings have the date before their label.
func (p *PMSetTherm) field(label string) **uint64 {
	switch {
	case label == "CPU_Scheduler_Limit":
		return &p.SchedulerLimit
	case label == "CPU_Available_CPUs":
		return &p.AvailableCPUs
	case label == "CPU_Speed_Limit":
		return &p.SpeedLimit
	case strings.HasSuffix(label, "Thermal Warning Level"):
		return &p.ThermalWarning
	case strings.HasSuffix(label, "Performance Warning Level"):
		return &p.PerformanceWarning
	}
	return nil
}

func (p *PMSetTherm) judge() {
	limited := func(percent *uint64) bool { return percent != nil && *percent < 100 }
	warned := func(level *uint64) bool { return level != nil && *level > 0 }
	if p.SchedulerLimit == nil && p.SpeedLimit == nil && p.ThermalWarning == nil && p.PerformanceWarning == nil {
		return
	}
	p.Throttled = new(limited(p.SchedulerLimit) || limited(p.SpeedLimit) || warned(p.ThermalWarning) || warned(p.PerformanceWarning))
}
