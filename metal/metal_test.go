package metal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"testing"
)

// TestMain lets the test binary be the process that is ended.
func TestMain(m *testing.M) {
	if os.Getenv("METAL_TEST_CHILD") != "" {
		fmt.Println("ready")
		select {}
	}
	os.Exit(m.Run())
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %s, want %s", what, show(got), show(want))
	}
}

// show prints a value with what its pointers lead to.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(text)
}

func absentFields(v any) []string {
	var names []string
	for f, value := range reflect.ValueOf(v).Fields() {
		if value.IsZero() {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestThisMachine reads the machine that the test runs on.
func TestThisMachine(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := r.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if machine.RAMBytes == nil || *machine.RAMBytes < 64<<20 || machine.OS == "" || machine.Uptime == nil || *machine.Uptime <= 0 || machine.BootID == "" {
		t.Errorf("machine %s", show(machine))
	}
	if machine.Cores != nil && *machine.Cores > runtime.NumCPU()*64 {
		t.Errorf("%d cores", *machine.Cores)
	}
	memory, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*uint64{"used": memory.Used, "app": memory.App, "wired": memory.Wired,
		"cached": memory.Cached, "free": memory.Free, "available": memory.Available} {
		if v == nil || *v == 0 || *v > *memory.Total {
			t.Errorf("%s memory of %s", name, show(memory))
		}
	}
	_, noPSI := os.ReadFile("/proc/pressure/memory")
	if (runtime.GOOS == "darwin" || noPSI == nil) && memory.Pressure == "" {
		t.Error("the system has a pressure and none is told")
	}
	swap, err := r.Swap()
	if err != nil {
		t.Fatal(err)
	}
	if swap.Total == nil || swap.Used == nil || swap.In == nil || swap.Out == nil || *swap.Used > *swap.Total {
		t.Errorf("swap %s", show(swap))
	}
	list, err := r.Processes()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range list {
		if p.PID == os.Getpid() {
			found = true
			if p.Footprint == nil || *p.Footprint == 0 || p.Name != "metal.test" || len(p.Args) == 0 || p.CPU == nil {
				t.Errorf("this process is told as %s", show(p))
			}
			again, err := r.Process(p.PID)
			if err != nil || again.Started != p.Started || again.Name != p.Name || again.App != p.App || again.Parent != os.Getppid() {
				t.Errorf("read again: %s, %v", show(again), err)
			}
		}
	}
	if !found {
		t.Error("this process is not in the list")
	}
	t.Logf("%s\n%s\n%s\n%d processes", show(machine), show(memory), show(swap), len(list))
}

func TestKernelPressure(t *testing.T) {
	for level, want := range map[uint64]Pressure{0: "", 1: PressureNormal, 2: PressureWarning, 3: "", 4: PressureCritical, 5: ""} {
		if got := kernelPressure(level); got != want {
			t.Errorf("level %d is %q, want %q", level, got, want)
		}
	}
}

func TestPSIPressure(t *testing.T) {
	for _, c := range []struct {
		some, full string
		want       Pressure
	}{
		{"0.00", "0.00", PressureNormal},
		{"9.99", "9.99", PressureNormal},
		{"10.00", "0.00", PressureWarning},
		{"49.99", "9.99", PressureWarning},
		{"50.00", "0.00", PressureCritical},
		{"12.00", "10.00", PressureCritical},
		{"100.00", "100.00", PressureCritical},
		{"101.00", "0.00", ""},
		{"-1", "0.00", ""},
		{"NaN", "0.00", ""},
	} {
		text := "some avg10=" + c.some + " avg60=77.00 avg300=77.00 total=1\nfull avg10=" + c.full + " avg60=77.00 avg300=77.00 total=1\n"
		if got := psiPressure([]byte(text)); got != c.want {
			t.Errorf("some %s, full %s is %q, want %q", c.some, c.full, got, c.want)
		}
	}
	for text, want := range map[string]Pressure{
		"": "", "full avg10=99.00 avg60=0 avg300=0 total=1\n": "", "some avg60=99.00\n": "",
		"some avg10=11.00 avg60=0 avg300=0 total=1": PressureWarning, // no line "full"
	} {
		if got := psiPressure([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestTextErrorIsTheReadersError(t *testing.T) {
	for kind, want := range map[TextErrorKind]error{UnknownOID: ErrUnsupported, PermissionDenied: ErrNotPermitted, ReadOnly: ErrNotPermitted} {
		if err := (&TextError{Kind: kind}); !errors.Is(err, want) {
			t.Errorf("%v does not wrap %v", err, want)
		}
	}
	err := &TextError{Truncated, "vm_stat", "Pageins"}
	if got := err.Error(); got != `reading the output of vm_stat: truncated: "Pageins"` {
		t.Error(got)
	}
}

// The benchmarks measure what one tick costs on this machine.
func benchmark(b *testing.B, read func(Reader) error) {
	r, err := New()
	if err != nil {
		b.Fatal(err)
	}
	if err := read(r); err != nil {
		b.Skip(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := read(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Machine(); return err })
}

func BenchmarkMemory(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Memory(); return err })
}

func BenchmarkSwap(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Swap(); return err })
}

func BenchmarkProcess(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Process(os.Getpid()); return err })
}

func BenchmarkProcesses(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Processes(); return err })
}
