package metal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// More kinds of TextError, of recordings that Decode reads.
const (
	// UnknownSampler: powermetrics has no such sampler on this machine.
	UnknownSampler TextErrorKind = "unknown_sampler"
	// NotJSON: it begins as JSON does and is none.
	NotJSON TextErrorKind = "not_json"
	// NotPlist: it begins as a property list does and is none.
	NotPlist TextErrorKind = "not_plist"
	// ToolFailed: the tool said that it failed, and with which code.
	ToolFailed TextErrorKind = "failed"
	// TooLarge: more than MaxRecording bytes, nothing was read.
	TooLarge TextErrorKind = "too_large"
	// GPUOutOfMemory: a model server's log tells that the GPU had no memory left.
	GPUOutOfMemory TextErrorKind = "gpu_out_of_memory"
	// GPUCommandBufferFailed: the log tells that the GPU gave up on its work for
	// another or an unknown reason.
	GPUCommandBufferFailed TextErrorKind = "gpu_command_buffer_failed"
)

// ErrorKind is the kind as text, for those who print it without knowing the type.
func (e *TextError) ErrorKind() string { return string(e.Kind) }

// Usable says that the text itself is whole and its error is what it tells about:
// a log of a failure, an answer that lacks one name of many.
func (e *TextError) Usable() bool {
	switch e.Kind {
	case UnknownOID, GPUOutOfMemory, GPUCommandBufferFailed:
		return true
	}
	return false
}

// MaxRecording is the most bytes that Decode reads. One sample of powermetrics
// with all samplers is 60 kB, a node of ioreg 45 kB, a log of a day some MB.
const MaxRecording = 64 << 20

// Decoder reads one raw recording. Its value is never nil, and with an error it
// holds what could be read. It turns into JSON whose names carry units; null is
// what the recording does not tell.
type Decoder func(data []byte) (any, error)

// Decoders are the recordings that this package reads, by the name of their
// source. The map is the caller's, to add those of other packages.
func Decoders() map[string]Decoder {
	return map[string]Decoder{
		"powermetrics":    func(b []byte) (any, error) { return ParsePowermetrics(b) },
		"ioreg":           func(b []byte) (any, error) { return ParseIORegistry(string(b)) },
		"ioreport":        func(b []byte) (any, error) { return ParseIOReportText(string(b)) },
		"pmset_therm":     func(b []byte) (any, error) { return ParsePMSetTherm(string(b)) },
		"notifyutil":      func(b []byte) (any, error) { return ParseNotifyutil(string(b)) },
		"system_profiler": func(b []byte) (any, error) { return ParseSystemProfiler(b) },
		"mlx":             func(b []byte) (any, error) { return ParseMLXDevice(string(b)) },
		"llama_cpp_log":   func(b []byte) (any, error) { return ParseLlamaLog(string(b)) },
		"sysctl":          func(b []byte) (any, error) { return decodeSysctl(string(b)) },
		"vm_stat":         func(b []byte) (any, error) { return ParseVMStat(string(b)) },
		"memory_pressure": func(b []byte) (any, error) { return ParseMemoryPressure(string(b)) },
	}
}

// Sources are the names that Decode knows, in order.
func Sources() []string { return slices.Sorted(maps.Keys(Decoders())) }

// Decode reads a recording of a source. Faults of the recording are a *TextError;
// a source that is not known wraps ErrUnsupported and gives no value.
func Decode(source string, data []byte) (any, error) {
	decoder := Decoders()[source]
	if decoder == nil {
		return nil, fmt.Errorf("decoding %q: source %w", source, ErrUnsupported)
	}
	if len(data) > MaxRecording {
		return struct{}{}, &TextError{TooLarge, source, strconv.Itoa(len(data)) + " bytes"}
	}
	return decoder(bytes.TrimPrefix(data, []byte("\ufeff"))) // editors put it before what they save
}

// MarshalDecoded is what a Decoder returned as one JSON object: the value and,
// when there is an error that has a kind, "error" with it.
func MarshalDecoded(value any, err error) ([]byte, error) {
	text, failed := json.Marshal(value)
	var kind interface{ ErrorKind() string }
	if failed != nil || !errors.As(err, &kind) || len(text) < 2 || text[len(text)-1] != '}' {
		return text, failed
	}
	name, failed := json.Marshal(kind.ErrorKind())
	text = text[:len(text)-1]
	if len(text) > 1 {
		text = append(text, ',')
	}
	return append(append(append(text, `"error":`...), name...), '}'), failed
}

// sysctlBare is the order in which a recording of bare values (sysctl -n) is
// asked for.
var sysctlBare = []string{"hw.memsize", "hw.pagesize", "hw.ncpu", "hw.model",
	"machdep.cpu.brand_string", "kern.memorystatus_vm_pressure_level"}

// decodeSysctl reads named values, and bare ones only when each of them is what
// sysctlBare has in its place: a bare number tells nothing by itself.
func decodeSysctl(text string) (*SysctlText, error) {
	named, err := ParseSysctl(text)
	var fault *TextError
	if !errors.As(err, &fault) || fault.Kind != LabelsNotRecognised {
		return named, err
	}
	bare, bareErr := ParseSysctl(text, sysctlBare...)
	if bareErr != nil || len(strings.Fields(text)) < len(sysctlBare) || bare.RAM == nil || *bare.RAM < 1<<30 ||
		bare.PageSize == nil || bare.CPUs == nil || *bare.CPUs > 1024 || bare.Model == nil ||
		!strings.Contains(*bare.Model, ",") || bare.Chip == nil || bare.Pressure == nil {
		return named, err
	}
	return bare, nil
}

// number reads a decimal number as the tools print it: "338", ".18", "1.1e+09",
// "45,05" under a locale with a comma. It is finite and not negative, else absent.
func number(s string) *float64 {
	s = strings.TrimSpace(s)
	if strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	if s == "" || strings.Trim(s, "0123456789.+-eE") != "" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return nil
	}
	return &f
}

// unit is a unit as a tool prints it and what makes the wanted one of it.
type unit struct {
	name   string
	factor float64
}

var (
	inMilliwatts = []unit{{"mW", 1}, {"W", 1000}, {"uW", 1e-3}}
	inMegahertz  = []unit{{"MHz", 1}, {"Mhz", 1}, {"GHz", 1000}}
	inPercent    = []unit{{"%", 1}}
)

// measured reads a number that its unit follows, "338 MHz (…)". Without its unit
// it is absent: "11" may be all that is left of "119 mW".
func measured(s string, units []unit) *float64 {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789.,+-", c) })
	if end < 0 {
		end = len(s)
	}
	n, rest := number(s[:end]), strings.TrimSpace(s[end:])
	if i := strings.IndexAny(rest, " \t(,"); i >= 0 {
		rest = rest[:i]
	}
	for _, u := range units {
		if n != nil && rest == u.name {
			return new(*n * u.factor)
		}
	}
	return nil
}

// rounded is f with that many decimals, absent when it has become no number.
func rounded(f float64, decimals int) *float64 {
	scale := math.Pow10(decimals)
	if r := math.Round(f*scale) / scale; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return &r
	}
	return nil
}

// share is 100 × part ÷ whole, to four decimals.
func share(part, whole float64) *float64 {
	if whole == 0 {
		return nil
	}
	return rounded(part/whole*100, 4)
}

// wholeBytes is f bytes, rounded, absent where that does not fit.
func wholeBytes(f float64) *uint64 {
	if math.IsNaN(f) || f < 0 || f >= 1<<63 {
		return nil
	}
	return new(uint64(math.Round(f)))
}

// word is s without blanks around it, absent when nothing is left.
func word(s string) *string {
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	return &s
}
