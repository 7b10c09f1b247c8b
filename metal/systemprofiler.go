package metal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// SystemProfiler is what the command system_profiler prints of hardware, software
// and displays, as JSON or as English text. Every field may be absent.
type SystemProfiler struct {
	ModelName       *string `json:"model_name"`
	ModelIdentifier *string `json:"model_identifier"`
	// Chip is absent where the system calls it "Unknown", as in a virtual machine,
	// and on Intel, which has CPUName.
	Chip         *string  `json:"chip"`
	ChipReported *string  `json:"chip_reported"`
	CPUName      *string  `json:"cpu_name"`
	CPUFreq      *float64 `json:"cpu_freq_mhz"`
	// Processors is how the system wrote down the cores: "proc 18:6:0:12".
	Processors *string `json:"number_processors_reported"`
	// CPUs is all cores. The split by kind is better read from hw.perflevelN: it is
	// absent where the order of the numbers is not certain.
	CPUs        *uint64 `json:"cpu_total"`
	Super       *uint64 `json:"cpu_super"`
	Performance *uint64 `json:"cpu_performance"`
	Efficiency  *uint64 `json:"cpu_efficiency"`
	RAM         *uint64 `json:"ram_bytes"`
	OSVersion   *string `json:"os_version"`
	OSBuild     *string `json:"os_build"`

	GPUModel    *string `json:"gpu_model"`
	GPUCores    *uint64 `json:"gpu_core_count"`
	MetalFamily *string `json:"metal_family"` // "spdisplays_metal4", in text "Metal 4"
	Displays    *int    `json:"displays"`
}

// ParseSystemProfiler decodes the output of system_profiler. A text in another
// language is LabelsNotRecognised: call it with -json. With an error (a
// *TextError) it returns what it could read as well.
func ParseSystemProfiler(data []byte) (*SystemProfiler, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if body := bytes.TrimSpace(data); len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		return profilerJSON(body)
	}
	return profilerText(string(data))
}

func profilerJSON(body []byte) (*SystemProfiler, error) {
	const tool = "system_profiler"
	s := &SystemProfiler{}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var sections map[string]any
	if err := d.Decode(&sections); err != nil {
		kind := NotJSON
		if errors.Is(err, io.ErrUnexpectedEOF) {
			kind = Truncated
		}
		return s, &TextError{kind, tool, lastLine(string(body))}
	}
	known := false
	for name, read := range map[string]func([]jsonObject){
		"SPHardwareDataType": s.readHardware, "SPSoftwareDataType": s.readSoftware, "SPDisplaysDataType": s.readDisplays,
	} {
		if list := objects(sections[name]); list != nil {
			read(list)
			known = true
		}
	}
	if !known {
		return s, &TextError{LabelsNotRecognised, tool, "no section that is known"}
	}
	return s, nil
}

// jsonObject gives nothing where a key is missing or has another type.
type jsonObject map[string]any

func (o jsonObject) word(key string) *string {
	switch v := o[key].(type) {
	case string:
		return word(v)
	case json.Number:
		return new(v.String())
	}
	return nil
}

func (o jsonObject) whole(key string) *uint64 {
	if w := o.word(key); w != nil {
		return whole(*w)
	}
	return nil
}

// objects are the objects of a list that is not empty.
func objects(v any) []jsonObject {
	list, _ := v.([]any)
	var found []jsonObject
	for _, m := range list {
		if o, ok := m.(map[string]any); ok {
			found = append(found, o)
		}
	}
	return found
}

func (s *SystemProfiler) readHardware(list []jsonObject) {
	o := list[0]
	s.ModelName, s.ModelIdentifier = o.word("machine_name"), o.word("machine_model")
	s.ChipReported, s.CPUName = o.word("chip_type"), o.word("cpu_type")
	s.Chip = knownChip(s.ChipReported)
	s.CPUFreq = clockSpeed(o.word("current_processor_speed"))
	s.RAM = memorySize(o.word("physical_memory"))
	if s.Processors = o.word("number_processors"); s.Processors != nil {
		s.readProcessors(*s.Processors)
	}
}

func (s *SystemProfiler) readSoftware(list []jsonObject) {
	if v := list[0].word("os_version"); v != nil {
		s.systemVersion(*v)
	}
}

// readDisplays takes the GPU that tells its cores, else the first, and counts the
// displays of all.
func (s *SystemProfiler) readDisplays(list []jsonObject) {
	gpu, displays := list[0], 0
	for _, o := range list {
		displays += len(objects(o["spdisplays_ndrvs"]))
		if gpu.whole("sppci_cores") == nil && o.whole("sppci_cores") != nil {
			gpu = o
		}
	}
	if s.GPUModel = gpu.word("sppci_model"); s.GPUModel == nil {
		s.GPUModel = gpu.word("_name")
	}
	s.GPUCores = gpu.whole("sppci_cores") // a string
	s.MetalFamily = gpu.word("spdisplays_mtlgpufamilysupport")
	s.Displays = &displays
}

// readProcessors reads "proc 8:4:4" (total, performance, efficiency), the four
// numbers of macOS 26 and later, and a plain number.
func (s *SystemProfiler) readProcessors(text string) {
	var n []uint64
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "proc "), ":") {
		v := whole(strings.TrimSpace(part))
		if v == nil || *v > 4096 || len(n) == 4 {
			return
		}
		n = append(n, *v)
	}
	s.CPUs = &n[0]
	switch {
	case len(n) == 3 && n[1]+n[2] == n[0]:
		s.Performance, s.Efficiency = &n[1], &n[2]
	case len(n) == 4 && n[1]+n[2]+n[3] == n[0]:
		s.splitFour(n[1], n[2], n[3])
	}
}

// splitFour parts four numbers, of which the total is taken off. macOS 26 orders
// them fastest, efficiency, middle; macOS 27 super, performance, efficiency. Until
// the M4 there are no super cores, so a 0 tells the order. From the M5 on the first
// is the super cores either way; the M5 has efficiency cores beside them, the M5
// Pro and Max have performance cores. Where both are there nothing tells them apart.
func (s *SystemProfiler) splitFour(a, b, c uint64) {
	generation, large := chipGeneration(s.Chip)
	switch {
	case generation >= 1 && generation <= 4 && c == 0:
		s.Performance, s.Efficiency = &a, &b
	case generation <= 4 && a == 0: // unknown chips as well
		s.Performance, s.Efficiency = &b, &c
	case generation >= 5:
		s.Super = &a
		rest := b + c
		switch {
		case b != 0 && c != 0:
		case large:
			s.Performance, s.Efficiency = &rest, new(uint64(0))
		case generation == 5:
			s.Performance, s.Efficiency = new(uint64(0)), &rest
		}
	}
}

// chipGeneration is 5 of "Apple M5 Max", 0 of anything that is no chip of the M
// line; large is said of Pro, Max and Ultra.
func chipGeneration(chip *string) (generation int, large bool) {
	if chip == nil {
		return 0, false
	}
	words := strings.Fields(strings.TrimPrefix(*chip, "Apple "))
	if len(words) == 0 || !strings.HasPrefix(words[0], "M") {
		return 0, false
	}
	n, err := strconv.Atoi(words[0][1:])
	if err != nil || n < 1 {
		return 0, false
	}
	return n, len(words) > 1 && (words[1] == "Pro" || words[1] == "Max" || words[1] == "Ultra")
}

// knownChip is absent for "Unknown" and "Unknown chip".
func knownChip(chip *string) *string {
	if chip == nil || strings.HasPrefix(*chip, "Unknown") {
		return nil
	}
	return chip
}

// memorySize reads "16 GB", which is 16 GiB.
func memorySize(text *string) *uint64 {
	if text == nil {
		return nil
	}
	gib := measured(*text, []unit{{"GB", 1}, {"TB", 1 << 10}, {"MB", 1.0 / 1024}})
	if gib == nil {
		return nil
	}
	return wholeBytes(*gib * (1 << 30))
}

// clockSpeed reads "2.8 GHz" as MHz.
func clockSpeed(text *string) *float64 {
	if text == nil {
		return nil
	}
	mhz := measured(*text, inMegahertz)
	if mhz == nil {
		return nil
	}
	return rounded(*mhz, 3)
}

// systemVersion reads "macOS 10.15.2 (19C57)".
func (s *SystemProfiler) systemVersion(text string) {
	version, build, _ := strings.Cut(text, " (")
	words := strings.Fields(version)
	if len(words) > 0 {
		s.OSVersion = &words[len(words)-1]
	}
	if build, ok := strings.CutSuffix(strings.TrimSpace(build), ")"); ok {
		s.OSBuild = word(build)
	}
}
