package metal

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// recordMac records a Mac that is called through its bindings, a second apart.
func recordMac(t testing.TB, w *wholeMac) *Recording {
	t.Helper()
	pass := func(d time.Duration) func() error {
		return func() error {
			w.wall = w.wall.Add(d)
			for i, state := range []string{"OFF", "P1", "P8"} {
				w.libraries.AddResidency("GPU Stats", "GPU Performance States", "GPUPH", state, int64(24_000*(i+1)))
			}
			w.libraries.AddValue("Energy Model", "", "GPU Energy", 7_500_000_000)
			return nil
		}
	}
	c, err := Capture(w.mac, pass(500*time.Millisecond), pass(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if smc, ok := c.mac.smc.(*iokit.SMC); ok {
			smc.Close()
		}
		if report, ok := c.mac.reader.gpu.rates.report.(recordedDeltas); ok {
			report.deltas.(*iokit.Report).Close()
		}
		w.close(t)
	})
	return c
}

func asFS(files map[string][]byte) fs.FS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: data}
	}
	return m
}

// plant puts into a Mac's answers everything that must not leave it.
func plant(w *wholeMac) {
	v := w.values.values
	v["kern.hostname"] = []byte("alices-mac.local\x00")
	v["kern.proc.all"] = append(planted(7001), v["kern.proc.all"]...)
	args := append(le32(4), "/Users/alice/Secret Project.app/Contents/MacOS/Secret Project\x00\x00\x00\x00"...)
	args = append(args, "/Users/alice/Secret Project.app/Contents/MacOS/Secret Project\x00--token=hunter2\x00/Users/alice/plan.txt\x00--port\x00HOME=/Users/alice\x00API_KEY=hunter2\x00"...)
	v["kern.procargs2 7001"] = args
	w.libraries.SetProcess(7001, "/Users/alice/Secret Project.app/Contents/MacOS/Secret Project", 9<<30, 10, 10)
	w.libraries.SetSMC("BSNM", "ch8*", []byte("C02SERIALNO"))
	w.libraries.SetSensor("alice's sensor", 40)
	w.libraries.Client(fake.GPU, "pid 7001, Secret Project", 5_000_000)
}

// planted is struct kinfo_proc with a login's name and a secret in it.
func planted(pid uint32) []byte {
	b := make([]byte, kinfoBytes)
	for i := range b {
		b[i] = 'A' // pointers and what else the kernel leaves there
	}
	copy(b[kinfoStarted:], le64(1700000000))
	copy(b[kinfoStarted+8:], le32(5))
	b[kinfoState] = 2
	copy(b[kinfoPID:], le32(pid))
	copy(b[kinfoCommand:], "Secret Project\x00\x00\x00")
	copy(b[kinfoParent:], le32(1))
	copy(b[600:], "alice\x00")
	return b
}

var mustNotLeave = []string{"alice", "Secret", "hunter2", "plan.txt", "SERIALNO", "API_KEY", "6C5E3A30", "AAAA", "ABABAB"}

// TestRecordingOfAMac: what a recording decodes to on another machine is what the
// Mac told, and nothing in it tells whose it was.
func TestRecordingOfAMac(t *testing.T) {
	w := newWholeMac(t)
	plant(w)
	c := recordMac(t, w)
	files, err := c.Files("plimsoll 1.2.3", map[string][]byte{"tools/vm_stat.txt": []byte("x\n")}, "alice", "alices-mac")
	if err != nil {
		t.Fatal(err)
	}
	checkNothingLeaves(t, files)
	again, err := OpenRecording(asFS(files))
	if err != nil {
		t.Fatal(err)
	}
	live, replayed := c.rounds[len(c.rounds)-1], again.rounds[len(again.rounds)-1]
	if len(live) != 7 || len(replayed) != 7 {
		t.Fatalf("%d sections live, %d replayed", len(live), len(replayed))
	}
	for i := range live {
		if live[i].err != nil || replayed[i].err != nil {
			t.Errorf("%s: %v, replayed %v", live[i].name, live[i].err, replayed[i].err)
			continue
		}
		switch v := live[i].value.(type) {
		case *Machine:
			v.BootID = noUUID
		case []Process:
			processesAgain(t, v, replayed[i].value.([]Process))
			continue
		}
		equal(t, live[i].name, show(replayed[i].value), show(live[i].value))
		equal(t, "file of "+live[i].name, string(files["decoded/"+live[i].name+".json"]), string(encoded(live[i])))
	}
	gpu := replayed[3].value.(*GPU)
	if gpu.Power == nil || *gpu.Power != 7.5 || gpu.Clock == nil || gpu.Temperature == nil || gpu.Sensor != "Tg0k" {
		t.Errorf("the GPU is replayed as %s", show(gpu))
	}
	// What Replay returns stands still, and can be recorded again.
	r, err := Replay(asFS(files))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		g, err := r.GPU()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "GPU of a replay", show(g), show(gpu))
	}
	if p, err := r.Process(fake.PID); err != nil || p.App != "Ollama" {
		t.Errorf("the process is %s, %v", show(p), err)
	}
	if _, err := r.Process(4); !errors.Is(err, ErrNoProcess) {
		t.Errorf("a process that is not there: %v", err)
	}
	step := func() error { return nil }
	c2, err := Capture(r, step, step)
	if err != nil {
		t.Fatal(err)
	}
	files2, err := c2.Files("plimsoll 1.2.3", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if strings.HasPrefix(name, "decoded/") && string(files2[name]) != string(data) {
			t.Errorf("%s recorded again is\n%s, want\n%s", name, files2[name], data)
		}
	}
	if again.System != "darwin" || again.Chip() != "Apple M4" {
		t.Errorf("it is of %q, %q", again.System, again.Chip())
	}
}

func processesAgain(t *testing.T, live, replayed []Process) {
	t.Helper()
	if len(replayed) != len(live) {
		t.Fatalf("%d processes live, %d replayed", len(live), len(replayed))
	}
	hidden := 0
	for i := range live {
		a, b := live[i], replayed[i]
		if strings.HasPrefix(b.Name, "program-") {
			hidden++
			a.Name, a.App, b.Name, b.App = "", "", "", ""
		}
		equal(t, "process", show(b), show(a))
	}
	if hidden == 0 || hidden == len(live) {
		t.Errorf("%d of %d processes have another name", hidden, len(live))
	}
}

// checkNothingLeaves looks for what was planted: as text, in bytes, in bytes
// written as hexadecimal digits and in JSON's escapes.
func checkNothingLeaves(t *testing.T, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		for _, secret := range mustNotLeave {
			for _, form := range []string{secret, fmt.Sprintf("%x", secret), strings.Trim(string(quoted(secret)), `"`)} {
				if strings.Contains(name+"\n"+string(data), form) {
					t.Errorf("%s tells %q", name, secret)
				}
			}
		}
	}
}

func quoted(s string) []byte { b, _ := json.Marshal(s); return b }

// A recording that was not finished, was cut or was changed is refused.
func TestDamagedRecording(t *testing.T) {
	w := newWholeMac(t)
	files, err := recordMac(t, w).Files("plimsoll", nil)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(m map[string][]byte)) map[string][]byte {
		m := map[string][]byte{}
		for name, data := range files {
			m[name] = data
		}
		f(m)
		return m
	}
	for what, m := range map[string]map[string][]byte{
		"no manifest":    change(func(m map[string][]byte) { delete(m, manifestFile) }),
		"empty manifest": change(func(m map[string][]byte) { m[manifestFile] = nil }),
		"cut manifest":   change(func(m map[string][]byte) { m[manifestFile] = m[manifestFile][:100] }),
		"a file is gone": change(func(m map[string][]byte) { delete(m, "raw/0/sysctl.json") }),
		"a file is cut":  change(func(m map[string][]byte) { m["raw/0/sysctl.json"] = m["raw/0/sysctl.json"][:50] }),
		"another format": change(func(m map[string][]byte) { m[manifestFile] = []byte(`{"format":2,"system":"darwin","rounds_ns":[0]}`) }),
		"another system": change(func(m map[string][]byte) { m[manifestFile] = []byte(`{"format":1,"system":"plan9","rounds_ns":[0]}`) }),
		"no rounds":      change(func(m map[string][]byte) { m[manifestFile] = []byte(`{"format":1,"system":"darwin"}`) }),
		"outside the tree": change(func(m map[string][]byte) {
			m[manifestFile] = []byte(`{"format":1,"system":"linux","rounds_ns":[0],"files":{"../x":""}}`)
		}),
	} {
		if r, err := Replay(asFS(m)); err == nil {
			t.Errorf("%s: opened as %T", what, r)
		}
	}
}

// Facts carry a value or a reason, a source and what asking cost.
func TestFacts(t *testing.T) {
	w := newWholeMac(t)
	w.libraries.Fail("IOPSCopyPowerSourcesInfo", 1)
	delete(w.values.values, "hw.model")
	facts := map[string]Fact{}
	c := recordMac(t, w)
	for _, f := range c.Facts() {
		if (f.Value == nil) == (f.Err == nil) {
			t.Errorf("%s: value %v and error %v", f.Name, f.Value, f.Err)
		}
		if f.Source == "" || !f.Measured && f.Source != "chip table" {
			t.Errorf("%s: source %q, cost %v %v", f.Name, f.Source, f.Cost, f.Measured)
		}
		if _, twice := facts[f.Name]; twice {
			t.Errorf("%s stands there twice", f.Name)
		}
		facts[f.Name] = f
	}
	for name, want := range map[string]struct {
		value  any
		source string
	}{
		"machine.chip":               {"Apple M4", "sysctl machdep.cpu.brand_string"},
		"memory.pressure":            {PressureWarning, "sysctl kern.memorystatus_vm_pressure_level"},
		"gpu.in_use_bytes":           {uint64(1 << 30), "IORegistry IOAccelerator"},
		"gpu.power_watts":            {7.5, "IOReport sample (GPU Energy)"},
		"gpu.temperature_celsius":    {42.5, "SMC Tg0k"},
		"gpu.working_set_bytes":      {uint64(26_800_603_136), "Metal device"},
		"gpu.wired_limit_bytes":      {uint64(0), "sysctl iogpu.wired_limit_mb"},
		"gpu.top_clock_mhz":          {1470.0, "IORegistry pmgr voltage-states9"},
		"thermal.pressure":           {ThermalNominal, "notify com.apple.system.thermalpressurelevel"},
		"processes.with_cpu_seconds": {facts["processes.with_cpu_seconds"].Value, "proc_pid_rusage"},
	} {
		f := facts[name]
		if fmt.Sprint(f.Value) != fmt.Sprint(want.value) || f.Source != want.source {
			t.Errorf("%s is %v by %q, want %v by %q", name, f.Value, f.Source, want.value, want.source)
		}
	}
	if f := facts["machine.model"]; !errors.Is(f.Err, ErrUnsupported) || f.Value != nil {
		t.Errorf("the model is %v, %v", f.Value, f.Err)
	}
	if f := facts["power.on_battery"]; f.Err == nil || !strings.Contains(f.Err.Error(), "IOPSCopyPowerSourcesInfo") {
		t.Errorf("the power source is %v, %v", f.Value, f.Err)
	}
	if n := len(c.Earlier()); n < 20 {
		t.Errorf("%d facts in the round before", n)
	}
	// The same reasons come out of the recording.
	files, err := c.Files("plimsoll", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenRecording(asFS(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range again.Facts() {
		live := facts[f.Name]
		if f.Name == "machine.boot_id" {
			continue
		}
		if show(f.Value) != show(live.Value) || f.Source != live.Source || (f.Err == nil) != (live.Err == nil) ||
			f.Err != nil && errorWord(f.Err) != errorWord(live.Err) || f.Measured != live.Measured {
			t.Errorf("%s is replayed as %v, %q, %v; it was %v, %q, %v", f.Name, f.Value, f.Source, f.Err, live.Value, live.Source, live.Err)
		}
	}
}

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		"at /Users/alice/x and /home/bob":                          "at /Users/redacted/x and /home/redacted",
		"id 564D1234-ABCD-4EF0-8123-0123456789AB.":                 "id 00000000-0000-0000-0000-000000000000.",
		"00008103-001A2B3C4D5E6F70":                                noUUID,
		`"serial_number" : "C02ABC", "x": 1`:                       `"serial_number" : "redacted", "x": 1`,
		`  "IOPlatformSerialNumber" = "C02ABC"`:                    `  "IOPlatformSerialNumber" = "redacted"`,
		"      Serial Number (system): C02ABC\n      Memory: 8 GB": "      Serial Number (system): redacted\n      Memory: 8 GB",
		"ether a4:83:e7:00:11:22":                                  "ether 00:00:00:00:00:00",
		"mail a.b@example.com, host alices-mac.local":              "mail redacted, host redacted",
		"alice alice,alice malice alices-mac":                      "redacted redacted,redacted malice redacted",
		"Pages free:                   1234.":                      "Pages free:                   1234.",
	} {
		if got := Scrub(text, "alice", "alices-mac", "x"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestScrubSystemProfiler(t *testing.T) {
	const text = `{"SPHardwareDataType":[{"_name":"hardware_overview","chip_type":"Apple M5","machine_model":"Mac17,2","serial_number":"C02ABC",
	"platform_UUID":"564D1234-ABCD-4EF0-8123-0123456789AB","physical_memory":"16 GB","number_processors":"proc 10:4:6:0"}],
	"SPSoftwareDataType":[{"os_version":"macOS 26.4 (25E1)","user_name":"Alice (alice)","local_host_name":"alices-mac"}],
	"SPDisplaysDataType":[{"sppci_model":"Apple M5","sppci_cores":"10","spdisplays_ndrvs":[{"_name":"ALICE TV","_spdisplays_display-serial-number":"77"}]}]}`
	out := ScrubTool("system_profiler", []byte(text), "alice")
	if found := regexp.MustCompile(`(?i)alice|C02ABC|564D1234|TV|77`).Find(out); found != nil {
		t.Errorf("%s stands in\n%s", found, out)
	}
	before, err := ParseSystemProfiler([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ParseSystemProfiler(out)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "decoded", show(after), show(before))
	if out := ScrubTool("system_profiler", []byte("alice says no"), "x"); strings.Contains(string(out), "alice") {
		t.Errorf("what is no JSON becomes %q", out)
	}
}

var record = flag.Bool("record", false, "write testdata/recordings/made-up-* anew")

// TestWriteRecordings writes the recordings of machines that are made up.
func TestWriteRecordings(t *testing.T) {
	if !*record {
		t.Skip("the recordings are written with -record")
	}
	files, err := recordMac(t, newWholeMac(t)).Files("plimsoll", nil)
	if err != nil {
		t.Fatal(err)
	}
	writeRecording(t, "testdata/recordings/made-up-m4", files)
}

func writeRecording(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordings decodes the recordings of this tree: each is what
// "plimsoll doctor --capture" wrote, and has to decode to what it has itself.
func TestRecordings(t *testing.T) {
	folders, err := filepath.Glob("testdata/recordings/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			c, err := OpenRecording(os.DirFS(folder))
			if errors.Is(err, ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.rounds[len(c.rounds)-1] {
				want, err := os.ReadFile(filepath.Join(folder, "decoded", s.name+".json"))
				if err != nil {
					t.Fatal(err)
				}
				equal(t, s.name, string(encoded(s)), string(want))
			}
		})
	}
}
