package metal

import "strings"

// profilerText reads the English text. Its labels are translated with the system,
// so that nothing of another language is taken for a value.
func profilerText(text string) (*SystemProfiler, error) {
	const tool = "system_profiler"
	s := &SystemProfiler{}
	known, strange, graphics, displays := false, false, false, 0
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") && !strings.HasSuffix(line, ")") && !strings.HasSuffix(line, " GB") {
			continue // cut: nothing tells the end of its value, as the ) and the GB do
		}
		label, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		if !ok || value == "" {
			switch label { // headings
			case "Hardware", "Hardware Overview", "Software", "System Software Overview":
				graphics = false
			case "Graphics/Displays":
				graphics = true
			}
			continue
		}
		if label == "Chipset Model" {
			graphics = true
		}
		if graphics {
			if label == "Resolution" {
				displays++
			}
			known = s.graphicsLine(label, value) || known
			continue
		}
		ok = s.hardwareLine(label, value)
		strange = strange || !ok
		known = known || ok && label != "Chip"
	}
	// "Chip" is the same word in German, Italian and Spanish. Alone among labels
	// that are not known it tells the language and not the chip.
	switch {
	case !known && strange:
		s.ChipReported = nil
	case s.ChipReported != nil:
		known = true
	}
	if s.GPUModel != nil {
		s.Displays = &displays
	}
	s.Chip = knownChip(s.ChipReported)
	switch {
	case known:
		return s, nil
	case strings.TrimSpace(text) == "":
		return s, &TextError{Truncated, tool, "no output"}
	}
	return s, &TextError{LabelsNotRecognised, tool, lastLine(text)}
}

func (s *SystemProfiler) hardwareLine(label, value string) bool {
	switch label {
	case "Model Name":
		s.ModelName = &value
	case "Model Identifier":
		s.ModelIdentifier = &value
	case "Chip":
		s.ChipReported = &value
	case "Processor Name":
		s.CPUName = &value
	case "Processor Speed":
		s.CPUFreq = clockSpeed(&value)
	case "Total Number of Cores":
		s.coresLine(value)
	case "Memory":
		s.RAM = memorySize(&value)
	case "System Version":
		s.systemVersion(value)
	default:
		return false
	}
	return true
}

// graphicsLine takes the first GPU that tells its cores, else the first.
func (s *SystemProfiler) graphicsLine(label, value string) bool {
	switch label {
	case "Chipset Model":
		if s.GPUCores == nil {
			s.GPUModel = &value
		}
	case "Total Number of Cores":
		if s.GPUCores == nil {
			s.GPUCores = whole(value)
		}
	case "Metal Support", "Metal Family":
		if s.MetalFamily == nil {
			s.MetalFamily = &value
		}
	default:
		return false
	}
	return true
}

// coresLine reads "10 (4 performance and 6 efficiency)". The case of the words
// changes with the system: "18 (6 Super and 12 Performance)".
func (s *SystemProfiler) coresLine(value string) {
	total, kinds, _ := strings.Cut(value, "(")
	s.CPUs = whole(strings.TrimSpace(total))
	var count *uint64
	for _, w := range strings.FieldsFunc(kinds, func(c rune) bool { return c == ' ' || c == ',' || c == ')' }) {
		if n := whole(w); n != nil {
			count = n
			continue
		}
		switch strings.ToLower(w) {
		case "super":
			s.Super, count = count, nil
		case "performance":
			s.Performance, count = count, nil
		case "efficiency":
			s.Efficiency, count = count, nil
		}
	}
}
