package metal

import "strings"

// LlamaLog is what the log of llama.cpp, or of a program that embeds it, tells of
// the GPU. Every field may be absent; of several loads it is the last. MiB are
// 1024², MB 1000².
type LlamaLog struct {
	Build  *uint64 `json:"build"`
	Device *string `json:"device"` // "Apple M4 Max"
	// DeviceTotal and DeviceFree are of the list of devices.
	DeviceTotal *uint64 `json:"device_total_mib"`
	DeviceFree  *uint64 `json:"device_free_mib"`
	// WorkingSet is recommendedMaxWorkingSetSize. WorkingSetMB is there when it was
	// printed so. RAM is what the limit tells: a limit that is no whole MiB is never
	// an override and always the default of one size of memory.
	WorkingSetMB       *float64 `json:"working_set_mb"`
	WorkingSet         *uint64  `json:"working_set_bytes"`
	WorkingSetMiB      *float64 `json:"working_set_mib"`
	WorkingSetReported *float64 `json:"working_set_mib_reported"`
	RAM                *uint64  `json:"ram_bytes_from_working_set"`
	WorkingSetPercent  *float64 `json:"working_set_percent_of_ram"`
	UnifiedMemory      *bool    `json:"has_unified_memory"`
	BFloat             *bool    `json:"has_bfloat"`
	Tensor             *bool    `json:"has_tensor"`
	ResidencySets      *bool    `json:"use_residency_sets"`
	// Allocated is what the program has on the GPU after its last allocation, and
	// OverLimit says that this is more than the limit.
	Allocated *float64 `json:"allocated_mib"`
	OverLimit *bool    `json:"over_limit"`
	Over      *float64 `json:"over_limit_mib"`
	// KV is the memory of all caches of keys and values.
	KV      *float64 `json:"kv_mib"`
	KVBytes *uint64  `json:"kv_bytes"`
	// What the GPU said when it gave up: Metal's status of the command buffer (5 is
	// an error), and the code and name of the error behind it.
	Status    *uint64 `json:"command_buffer_status"`
	ErrorName *string `json:"command_buffer_error"`
	ErrorCode *uint64 `json:"command_buffer_error_code"`
}

type llamaLog struct {
	LlamaLog
	printed float64 // recommendedMaxWorkingSetSize as it stands there
	inMiB   bool    // and its unit is MiB, whatever it says
	known   bool
	cut     bool   // the line does not end
	oom     string // the line that tells it
	failed  string
}

// ParseLlamaLog decodes a log. Failures of the GPU that it tells are the error
// (GPUOutOfMemory, GPUCommandBufferFailed), beside all the values.
func ParseLlamaLog(text string) (*LlamaLog, error) {
	const tool = "llama.cpp"
	l := &llamaLog{}
	for line := range strings.Lines(text) {
		l.cut = !strings.HasSuffix(line, "\n")
		if line = strings.TrimSpace(line); line != "" && len(line) <= 1<<16 {
			l.line(line)
		}
	}
	l.derive()
	switch {
	case l.oom != "":
		return &l.LlamaLog, &TextError{GPUOutOfMemory, tool, lastLine(l.oom)}
	case l.failed != "":
		return &l.LlamaLog, &TextError{GPUCommandBufferFailed, tool, lastLine(l.failed)}
	case l.known:
		return &l.LlamaLog, nil
	case strings.TrimSpace(text) == "":
		return &l.LlamaLog, &TextError{Truncated, tool, "no output"}
	}
	return &l.LlamaLog, &TextError{LabelsNotRecognised, tool, lastLine(text)}
}

// line tries every kind of line. Programs put their own time and name before it,
// so that marks are looked for anywhere in it.
func (l *llamaLog) line(line string) {
	for _, read := range []func(string) bool{l.limit, l.flag, l.deviceLine, l.allocation, l.cache, l.failure, l.buildLine} {
		if read(line) {
			l.known = true
			return
		}
	}
}

// after is what stands behind a mark.
func after(line, mark string) (string, bool) {
	_, rest, ok := strings.Cut(line, mark)
	return strings.TrimSpace(rest), ok
}

// limit reads "recommendedMaxWorkingSetSize  =  5726.63 MB".
func (l *llamaLog) limit(line string) bool {
	rest, ok := after(line, "recommendedMaxWorkingSetSize")
	rest, assigned := strings.CutPrefix(rest, "=")
	if !ok || !assigned {
		return false
	}
	mb, mib := measured(rest, []unit{{"MB", 1}}), measured(rest, []unit{{"MiB", 1}})
	switch {
	case mib != nil:
		l.printed, l.inMiB = *mib, true
	case mb != nil:
		l.printed = *mb
	}
	return mb != nil || mib != nil
}

// flag reads "has unified memory    = true"; older logs write hasUnifiedMemory.
func (l *llamaLog) flag(line string) bool {
	name, value, ok := strings.Cut(line, "=")
	value = strings.TrimSpace(value)
	if !ok || value != "true" && value != "false" {
		return false
	}
	name = strings.TrimSpace(name)
	for _, f := range []struct {
		names [2]string
		field **bool
	}{
		{[2]string{"has unified memory", "hasUnifiedMemory"}, &l.UnifiedMemory},
		{[2]string{"has bfloat", "has bfloat"}, &l.BFloat},
		{[2]string{"has tensor", "has tensor"}, &l.Tensor},
		{[2]string{"use residency sets", "use residency sets"}, &l.ResidencySets},
	} {
		if strings.HasSuffix(name, f.names[0]) || strings.HasSuffix(name, f.names[1]) {
			*f.field = new(value == "true")
			return true
		}
	}
	return false
}

// deviceLine reads the lines that name the GPU:
//
//	ggml_metal_device_init: GPU name:   MTL0 (Apple M3 Max)
//	MTL0: Apple M3 Max (28753 MiB, 28753 MiB free)
//	llama_model_load_from_file_impl: using device Metal (Apple M4) - 25557 MiB free
func (l *llamaLog) deviceLine(line string) bool {
	if rest, ok := after(line, "GPU name:"); ok {
		if _, name, ok := strings.Cut(rest, "("); ok {
			rest, _, _ = strings.Cut(name, ")")
		}
		if !l.cut { // "Apple M4" may be all that is left of "Apple M4 Max"
			l.Device = word(rest)
		}
		return l.Device != nil
	}
	if rest, ok := after(line, "using device "); ok {
		_, free, _ := strings.Cut(rest, " - ")
		free, whole1 := strings.CutSuffix(free, " MiB free")
		_, name, _ := strings.Cut(rest, "(")
		name, _, named := strings.Cut(name, ")")
		if whole1 && named {
			l.Device, l.DeviceFree = word(name), whole(free)
		}
		return whole1 && named
	}
	rest, ok := strings.CutSuffix(line, " MiB free)")
	i := strings.LastIndex(rest, " (")
	id, name, named := strings.Cut(rest[:max(i, 0)], ": ")
	if !ok || !named || id == "BLAS" || strings.HasPrefix(id, "CPU") || strings.Contains(id, " ") || l.DeviceTotal != nil {
		return false
	}
	total, free, _ := strings.Cut(rest[i+2:], " MiB, ")
	l.Device, l.DeviceTotal, l.DeviceFree = word(name), whole(total), whole(free)
	return l.DeviceTotal != nil
}

// buildLine reads "version: 8920 (15fa3c493)" and "build: 6097 (9515c61) with …".
func (l *llamaLog) buildLine(line string) bool {
	for _, mark := range []string{"version: ", "build: ", "build = "} {
		rest, ok := after(line, mark)
		number, hash, _ := strings.Cut(rest, " (")
		if n := whole(number); ok && n != nil && hash != "" {
			l.Build = n
			return true
		}
	}
	return false
}
