package metal

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The decoders take any bytes without a panic; their errors have a kind, and what
// they tell is JSON without a number below zero (a pid may be).

func fuzzDecoder(f *testing.F, source string) {
	files, err := filepath.Glob("testdata/decode/" + source + "/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { wellFormed(t, source, data) })
}

func wellFormed(t *testing.T, source string, data []byte) {
	t.Helper()
	value, err := Decode(source, data)
	mustHaveKind(t, err)
	text, err := MarshalDecoded(value, err)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	notNegative(t, "", object)
}

func notNegative(t *testing.T, name string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			notNegative(t, k, m)
		}
	case []any:
		for _, m := range v {
			notNegative(t, name, m)
		}
	case float64:
		if v < 0 && name != "pid" || math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func FuzzPowermetrics(f *testing.F)   { fuzzDecoder(f, "powermetrics") }
func FuzzIORegistry(f *testing.F)     { fuzzDecoder(f, "ioreg") }
func FuzzIOReportText(f *testing.F)   { fuzzDecoder(f, "ioreport") }
func FuzzPMSetTherm(f *testing.F)     { fuzzDecoder(f, "pmset_therm") }
func FuzzNotifyutil(f *testing.F)     { fuzzDecoder(f, "notifyutil") }
func FuzzSystemProfiler(f *testing.F) { fuzzDecoder(f, "system_profiler") }
func FuzzMLXDevice(f *testing.F)      { fuzzDecoder(f, "mlx") }
func FuzzLlamaLog(f *testing.F)       { fuzzDecoder(f, "llama_cpp_log") }
func FuzzSysctlBare(f *testing.F)     { fuzzDecoder(f, "sysctl") }

// FuzzPlist gives the reader of property lists anything: it ends, and what it
// reads is one of its own types.
func FuzzPlist(f *testing.F) {
	f.Add([]byte("<plist><dict><key>a</key><array><integer>1</integer><true/></array></dict></plist>"))
	f.Add(bytes.Repeat([]byte("<array>"), 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		pieces, _ := plistPieces(data)
		for _, piece := range append(pieces, data) {
			v, err := parsePlist(piece)
			if err == nil {
				ownTypes(t, v)
			}
		}
	})
}

func ownTypes(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case plistDict:
		for _, m := range v {
			ownTypes(t, m)
		}
	case []any:
		for _, m := range v {
			ownTypes(t, m)
		}
	case string, bool, plistNumber:
	default:
		t.Errorf("%T", v)
	}
}

// TestDecodeHostile gives each decoder large inputs that repeat one thing. None
// panics or takes more than a moment: a test that hangs here found work that grows
// with the square of the input.
func TestDecodeHostile(t *testing.T) {
	const size = 1 << 20
	parts := []string{"(", "{", "[", "<dict>", "<plist><array>", "</plist>", "<plist></plist>", "\x00", "338 MHz: 1% ",
		"*** Sampled system activity ***\n", "CPU 1 frequency: 1 MHz\n", "GPU Power: 1 mW\n", "+-o a  <class a, id>\n{\n",
		`"PerformanceStatistics" = {"a"={`, "'a': 1, ", "Energy Model ::  :: a (mJ) = 1.00W\n", "Note: No x has been recorded\n",
		"a.b 1\n", "\xff", "&", "0", "\n", ": ", "com.apple.system.thermalpressurelevel 9999999999\n", "KV buffer size = 9999999999999.00 MiB\n"}
	for _, source := range Sources() {
		for _, part := range parts {
			data := bytes.Repeat([]byte(part), size/len(part))
			wellFormed(t, source, data)
		}
	}
}

func TestDecodeTooLarge(t *testing.T) {
	_, err := Decode("ioreg", make([]byte, MaxRecording+1))
	var fault *TextError
	if !errors.As(err, &fault) || fault.Kind != TooLarge {
		t.Errorf("error %v", err)
	}
}

func TestDecodeUnknownSource(t *testing.T) {
	if v, err := Decode("nothing", nil); v != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, %v", v, err)
	}
}
