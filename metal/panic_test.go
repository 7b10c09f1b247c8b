package metal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const modernPanic = `{"bug_type":"210","timestamp":"2026-11-12 09:15:31.00 +0100","os_version":"macOS 26.4 (25E100)","incident_id":"0"}
{
  "build" : "macOS 26.4 (25E100)",
  "product" : "Mac16,11",
  "panicString" : "panic(cpu 4 caller 0xfffffe0012345678): \"completeMemory() prepare count underflow\" @IOGPUMemory.cpp:550\nDebugger message: panic\nMemory ID: 0x6\n",
  "memoryStatus" : {"memoryPressure":false}
}
`

const watchdogPanic = `{"bug_type":"210","timestamp":"2026-10-01 03:00:00.00 +0000","os_version":"macOS 26.3"}
{"panicString" : "panic(cpu 1 caller 0xfffffe00): watchdog timeout: no checkins from watchdogd in 92 seconds (4120 total checkins since monitoring last enabled)\n`

func TestParsePanic(t *testing.T) {
	for _, c := range []struct {
		name, data string
		kind       PanicKind
		begins     string
	}{
		{"GPU memory", modernPanic, PanicGPUMemory, `panic(cpu 4 caller 0xfffffe0012345678): "completeMemory() prepare`},
		{"watchdog, cut off", watchdogPanic, PanicWatchdog, "panic(cpu 1 caller 0xfffffe00): watchdog timeout"},
		{"plain text", "Sat Nov 1\n\npanic(cpu 0 caller 0x1): \"Kernel trap at 0x2\"\nBacktrace", PanicOther, `panic(cpu 0 caller 0x1): "Kernel trap`},
		{"the word in a list that follows", `{"x":1}` + "\n" + `{"panicString":"panic(cpu 1): \"zalloc\"","loaded":"IOGPUMemory"}`, PanicOther, "panic(cpu 1)"},
		{"nothing", "", PanicOther, ""},
	} {
		got := ParsePanic([]byte(c.data))
		if got.Kind != c.kind || !strings.HasPrefix(got.Text, c.begins) || len(got.Text) > 300 || strings.ContainsAny(got.Text, "\n\x00") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := ParsePanic([]byte(modernPanic)); got.OS != "macOS 26.4 (25E100)" || !got.At.Equal(time.Date(2026, 11, 12, 8, 15, 31, 0, time.UTC)) {
		t.Errorf("the head: %+v", got)
	}
}

// Case 52: the line that users quote.
func TestPanicOfTheGPUDriver(t *testing.T) {
	data, err := os.ReadFile("../../shared/cases/052.log")
	if err != nil {
		t.Skipf("the recorded case is not there: %v", err)
	}
	if got := ParsePanic(data); got.Kind != PanicGPUMemory {
		t.Errorf("%+v", got)
	}
}

func TestNewestPanic(t *testing.T) {
	folder := t.TempDir()
	if got, err := NewestPanic(filepath.Join(folder, "none")); got != nil || err != nil {
		t.Errorf("no folder: %+v, %v", got, err)
	}
	write := func(name, data string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(folder, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	day := time.Date(2026, 11, 12, 8, 16, 0, 0, time.UTC)
	write("Safari-2026-11-13.ips", "{}", day.Add(24*time.Hour))
	if got, err := NewestPanic(folder); got != nil || err != nil {
		t.Errorf("no panic: %+v, %v", got, err)
	}
	write("panic-full-2026-10-01-030000.0002.panic", watchdogPanic, day.Add(-42*24*time.Hour))
	write("panic-full-2026-11-12-091531.0002.panic", modernPanic, day)
	got, err := NewestPanic(folder)
	if err != nil || got == nil || got.Name != "panic-full-2026-11-12-091531.0002.panic" || got.Kind != PanicGPUMemory {
		t.Errorf("%+v, %v", got, err)
	}
	write("panic-full-2026-11-20.panic", "panic(cpu 0): no head", day.Add(8*24*time.Hour))
	if got, err = NewestPanic(folder); err != nil || !got.At.Equal(day.Add(8*24*time.Hour)) {
		t.Errorf("without a head its time is the file's: %+v, %v", got, err)
	}
}

func FuzzParsePanic(f *testing.F) {
	f.Add([]byte(modernPanic))
	f.Add([]byte(watchdogPanic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := ParsePanic(data)
		if got.Kind == "" || len(got.Text) > 300 || len(got.OS) > 80 {
			t.Errorf("%+v", got)
		}
	})
}
