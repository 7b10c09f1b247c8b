package metal

import (
	"slices"
	"strconv"
	"strings"
)

// powermetricsLabel is one line of the text form: where its number goes, in which
// unit it is printed, and which block the line belongs to.
type powermetricsLabel struct {
	field func(*PowermetricsSample) **float64
	units []unit
	block powermetricsBlock
}

// The labels of every generation. "GPU active …" is what macOS 11 and 12 print,
// "GPU HW active …" what later ones do; the SMC's lines exist on Intel.
var powermetricsLabels = map[string]powermetricsLabel{
	"GPU active frequency":    {func(s *PowermetricsSample) **float64 { return &s.GPUFreq }, inMegahertz, blockGPU},
	"GPU HW active frequency": {func(s *PowermetricsSample) **float64 { return &s.GPUFreq }, inMegahertz, blockGPU},
	"GPU active residency":    {func(s *PowermetricsSample) **float64 { return &s.GPUActive }, inPercent, blockGPU},
	"GPU HW active residency": {func(s *PowermetricsSample) **float64 { return &s.GPUActive }, inPercent, blockGPU},
	"GPU 0 GPU Busy":          {func(s *PowermetricsSample) **float64 { return &s.GPUActive }, inPercent, blockGPU},
	"GPU idle residency":      {func(s *PowermetricsSample) **float64 { return &s.GPUIdle }, inPercent, blockGPU},
	"CPU Power":               {func(s *PowermetricsSample) **float64 { return &s.CPUPower }, inMilliwatts, blockCPU},
	"ANE Power":               {func(s *PowermetricsSample) **float64 { return &s.ANEPower }, inMilliwatts, blockCPU},
	"DRAM Power":              {func(s *PowermetricsSample) **float64 { return &s.DRAMPower }, inMilliwatts, blockCPU},
	"Package Power":           {func(s *PowermetricsSample) **float64 { return &s.PackagePower }, inMilliwatts, blockCPU},
	"Combined Power":          {func(s *PowermetricsSample) **float64 { return &s.CombinedPower }, inMilliwatts, blockCPU},
	"Intel energy model derived package power (CPUs+GT+SA)": {
		func(s *PowermetricsSample) **float64 { return &s.PackagePower }, inMilliwatts, blockCPU},
	"CPU die temperature": {func(s *PowermetricsSample) **float64 { return &s.CPUTemperature }, []unit{{"C", 1}}, blockUnknown},
	"GPU die temperature": {func(s *PowermetricsSample) **float64 { return &s.GPUTemperature }, []unit{{"C", 1}}, blockUnknown},
	"Fan":                 {func(s *PowermetricsSample) **float64 { return &s.Fan }, []unit{{"rpm", 1}}, blockUnknown},
	"CPU Thermal level":   {func(s *PowermetricsSample) **float64 { return &s.CPUThermalLevel }, []unit{{"", 1}}, blockUnknown},
	"GPU Thermal level":   {func(s *PowermetricsSample) **float64 { return &s.GPUThermalLevel }, []unit{{"", 1}}, blockUnknown},
	"Number of prochots":  {func(s *PowermetricsSample) **float64 { return &s.Prochots }, []unit{{"", 1}}, blockUnknown},
}

// labelled reads "label: value". False when the label is known and the value is
// not whole.
func (p *powermetricsText) labelled(line string) bool {
	label, value, ok := strings.Cut(line, ":")
	if p.complaint(line) || !ok {
		return true
	}
	label, value = strings.TrimSpace(label), strings.TrimSpace(value)
	if strings.HasPrefix(label, "Combined Power") {
		label = "Combined Power"
	}
	if l, ok := powermetricsLabels[label]; ok {
		return p.quantity(label, l, value)
	}
	whole := true
	switch label {
	case "Machine model":
		p.known = true
		return p.heads(&p.MachineModel, value)
	case "OS version":
		p.known = true
		return p.heads(&p.OSBuild, value)
	case "GPU Power":
		mW := measured(value, inMilliwatts)
		p.gpuPower(mW)
		whole = mW != nil
	case "GPU requested frequency":
		p.enter(blockGPU, label)
		p.now.GPURequestedSteps, whole = parseSteps(value)
	case "GPU SW requested state":
		p.enter(blockGPU, label)
		p.now.GPURequested, whole = parseStates(value)
	case "GPU SW state":
		p.enter(blockGPU, label)
		p.now.GPUSoftware, whole = parseStates(value)
	case "Current pressure level":
		whole = !p.cut || slices.Contains(thermalWords, value)
		if whole {
			p.now.Thermal = word(value)
		}
	case "Battery":
		_, percent, _ := strings.Cut(value, "percent_charge:")
		if !p.cut {
			p.now.Battery = measured(percent, []unit{{"", 1}, {"%", 1}})
		}
		whole = p.now.Battery != nil
	case "out":
		p.now.NetworkOut = bytesPerSecond(value)
		whole = p.now.NetworkOut != nil
	case "in":
		p.now.NetworkIn = bytesPerSecond(value)
		whole = p.now.NetworkIn != nil
	default:
		return p.coreLine(label, value)
	}
	p.filled, p.known = true, true
	return whole
}

// heads takes a word of the head of the text: "Mac16,1" may be all that is left of
// "Mac16,13" at the end of a text.
func (p *powermetricsText) heads(field **string, value string) bool {
	if p.cut {
		return false
	}
	*field = word(value)
	return true
}

func (p *powermetricsText) quantity(label string, l powermetricsLabel, value string) bool {
	p.filled, p.known = true, true
	p.enter(l.block, label)
	n := measured(value, l.units)
	if p.cut && l.units[0].name == "" { // nothing tells the end of the number
		n = nil
	}
	field := l.field(p.now)
	if label == "Fan" && *field != nil { // the first of several
		return n != nil
	}
	*field = n
	if strings.HasSuffix(label, "active residency") && strings.Contains(value, "(") {
		steps, whole := parseSteps(value)
		p.now.GPUSteps = steps
		return whole && n != nil
	}
	return n != nil
}

// coreLine reads the lines of clusters ("P1-Cluster Online: 66%") and of cores
// ("CPU 7 idle residency: 99.91%"). Any other label is not known.
func (p *powermetricsText) coreLine(label, value string) bool {
	var what string
	var c *PowermetricsCore
	first, rest, _ := strings.Cut(label, " ")
	if name := clusterName(first); name != "" {
		what = rest
		if coreField(&PowermetricsCore{}, what) != nil {
			c = core(&p.now.Clusters, name)
		}
	} else if first == "CPU" {
		var n string
		n, what, _ = strings.Cut(rest, " ")
		if _, err := strconv.ParseUint(n, 10, 16); err == nil && coreField(&PowermetricsCore{}, what) != nil {
			c = core(&p.now.CPUs, n)
		}
	}
	if c == nil {
		return true
	}
	p.filled, p.known = true, true
	p.enter(blockCPU, label)
	units := inPercent
	switch what {
	case "Power":
		units = inMilliwatts
	case "HW active frequency", "active frequency", "frequency":
		units = inMegahertz
	}
	field := coreField(c, what)
	*field = measured(value, units)
	_, closed := parseSteps(value)
	return *field != nil && (closed || !strings.Contains(value, "("))
}

func coreField(c *PowermetricsCore, what string) **float64 {
	switch what {
	case "Power":
		return &c.Power
	case "HW active frequency", "active frequency", "frequency":
		return &c.Freq
	case "HW active residency", "active residency":
		return &c.Active
	case "idle residency":
		return &c.Idle
	case "down residency":
		return &c.Down
	case "Online":
		return &c.Online
	}
	return nil
}

// listed is what stands between the first "(" and the ")" that ends the value.
// Without that the list was cut, and its last number with it.
func listed(value string) (string, bool) {
	_, list, ok := strings.Cut(value, "(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(strings.TrimSpace(list), ")")
}

// parseSteps reads "(338 MHz: 1.1% 618 MHz:   0%)", in order and with repetitions.
func parseSteps(value string) ([]PowermetricsStep, bool) {
	list, ok := listed(value)
	var steps []PowermetricsStep
	for ok && strings.TrimSpace(list) != "" {
		mhz, rest, _ := strings.Cut(list, "MHz:")
		percent, rest, found := strings.Cut(rest, "%")
		m, n := number(mhz), number(percent)
		if !found || m == nil || n == nil || len(steps) == maxSteps {
			return nil, false
		}
		steps, list = append(steps, PowermetricsStep{MHz: *m, Percent: n}), rest
	}
	return steps, ok && steps != nil
}

// parseStates reads "(P1 :  97% P2 : 2.9%)".
func parseStates(value string) ([]PowermetricsState, bool) {
	list, ok := listed(value)
	var states []PowermetricsState
	for ok && strings.TrimSpace(list) != "" {
		name, rest, _ := strings.Cut(list, ":")
		percent, rest, found := strings.Cut(rest, "%")
		n := number(percent)
		if name = strings.TrimSpace(name); !found || n == nil || name == "" || len(states) == maxSteps {
			return nil, false
		}
		states, list = append(states, PowermetricsState{Name: name, Percent: n}), rest
	}
	return states, ok && states != nil
}

// bytesPerSecond reads "57.75 packets/s, 4586.65 bytes/s".
func bytesPerSecond(value string) *float64 {
	_, rate, _ := strings.Cut(value, "packets/s,")
	return measured(rate, []unit{{"bytes/s", 1}})
}
