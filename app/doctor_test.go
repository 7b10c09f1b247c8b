package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal"
)

const madeUpMac = "../metal/testdata/recordings/made-up-m4"

// onMac is a program on the Mac of a recording.
func onMac(t *testing.T) func(*program) {
	t.Helper()
	reader, err := metal.Replay(os.DirFS(madeUpMac))
	if err != nil {
		t.Fatal(err)
	}
	return func(p *program) {
		p.goos = "darwin"
		p.machine = func() (metal.Reader, error) { return reader, nil }
	}
}

// TestDoctorDecodesEveryRecording runs the command over every recording that is
// shared, from its file and from standard input.
func TestDoctorDecodesEveryRecording(t *testing.T) {
	const folder = "../../shared/fixtures"
	text, err := os.ReadFile(folder + "/expected.json")
	if err != nil {
		t.Skipf("the shared recordings are not here: %v", err)
	}
	var all map[string]struct{ Expect map[string]any }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	decoded := 0
	for name, c := range all {
		source, _, _ := strings.Cut(name, "/")
		code, out, errs := w.run("doctor", "--decode", source, folder+"/"+name)
		if recordingDecoders()[source] == nil {
			if code != exitFailed || out != "" || !strings.Contains(errs, source) {
				t.Errorf("%s: exit code %d, %q, %q", name, code, out, errs)
			}
			continue
		}
		decoded++
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil || errs != "" || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v, %s, %q", name, err, errs, out)
			continue
		}
		want := 0
		switch got["error"] {
		case "permission_denied", "labels_not_recognised", "truncated", "not_json":
			want = exitUnusable
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d for error %v", name, code, want, got["error"])
		}
		for _, fault := range lacks(got, c.Expect) {
			t.Errorf("%s: %s", name, fault)
		}
		file, err := os.ReadFile(folder + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if again, in, _ := w.runWith(func(p *program) { p.in = strings.NewReader(string(file)) }, "doctor", "--decode", source); in != out || again != code {
			t.Errorf("%s: from standard input it is %s", name, in)
		}
	}
	if decoded < 80 {
		t.Errorf("only %d recordings were decoded", decoded)
	}
	t.Logf("%d recordings", decoded)
}

// lacks lists what a decoded recording has otherwise than it should.
func lacks(got, want any) (faults []string) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, v := range w {
			if strings.HasPrefix(name, "by_eye_") {
				continue
			}
			for _, f := range lacks(g[name], v) {
				faults = append(faults, name+"."+f)
			}
		}
		return faults
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf(" %v, want %v", got, want)}
		}
		for i := range w {
			faults = append(faults, lacks(g[i], w[i])...)
		}
		return faults
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 1e-6*max(1, math.Abs(w)) {
			return nil
		}
	default:
		if got == want {
			return nil
		}
	}
	return []string{fmt.Sprintf(" %v, want %v", got, want)}
}

func TestDoctorDecodeRefuses(t *testing.T) {
	w := newWorld(t)
	empty := filepath.Join(w.home, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		out  string
		errs string
	}{
		{[]string{"--decode", "vm_stat", empty}, exitUnusable, `"error":"truncated"}`, ""},
		{[]string{"--decode", "ollama_api", "-"}, exitUnusable, `{"error":"truncated"}`, ""},
		{[]string{"--decode", "vm_stat", w.home + "/none"}, exitFailed, "", "none cannot be read"},
		{[]string{"--decode", "vm_stat", w.home}, exitFailed, "", "cannot be read"},
		{[]string{"--decode", "ollama_log"}, exitUnusable, `"error":"truncated"}`, ""},
		{[]string{"--decode", "lmstudio"}, exitUnusable, `{"error":"truncated"}`, ""},
		{[]string{"--decode", "llama-server"}, exitUsage, "", "knows no source llama-server"},
		{[]string{"--decode", "vmstat"}, exitUsage, "", "knows no source vmstat. There are ioreg, ioreport, llama_cpp_log"},
		{[]string{"--decode", ""}, exitUsage, "", "knows no source"},
		{[]string{"--decode", "vm_stat", "a", "b"}, exitUsage, "", "b is one argument too many"},
		{[]string{"file"}, exitUsage, "", "file is one argument too many"},
		{[]string{"--decode", "vm_stat", "--replay", "x"}, exitUsage, "", "--replay, --decode do not go together"},
		{[]string{"--replay", ""}, exitUsage, "", "name the folder"},
		{[]string{"--replay", w.home}, exitFailed, "", "cannot be replayed: opening the recording: it has no manifest.json"},
		{[]string{"--gpu-cores", "8"}, exitUsage, "", "go with --chip"},
		{[]string{"--chip", "M4", "--gpu-cores", "0"}, exitUsage, "", "--gpu-cores takes a number from 1"},
		{[]string{"--chip", "M4", "--ram", "-1"}, exitUsage, "", "--ram takes a number of GB"},
		{[]string{"--capture", w.home}, exitFailed, "", "has something in it"},
		{[]string{"--capture", empty}, exitFailed, "", "cannot be written: not a directory"},
	} {
		code, out, errs := w.run(append([]string{"doctor"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.out) || c.out == "" && out != "" || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("doctor %q: exit code %d, %q, %q", c.args, code, out, errs)
		}
		code, _, errs = w.run(append([]string{"--lang", "zh", "doctor"}, c.args...)...)
		if code != c.code || c.errs != "" && !regexp.MustCompile(`\p{Han}`).MatchString(errs) {
			t.Errorf("doctor %q in Chinese: exit code %d, %q", c.args, code, errs)
		}
	}
}

func TestDoctorChip(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"Apple M4 Max"}, 0, []string{"Apple M4 Max, generation M4", "GPU cores: 32, 40", "Memory: 36, 48, 64, 128 GB", "410 GB/s, or more: chips of this name differ"}},
		{[]string{"m4 max", "--gpu-cores", "40"}, 0, []string{"546 GB/s, Apple's figure"}},
		{[]string{"M4 Max", "--gpu-cores", "7"}, 0, []string{"not 7, as far as the table knows", "410 GB/s, or more"}},
		{[]string{"M6", "--ram", "32"}, 0, []string{"170 GB/s, Apple's figure"}},
		{[]string{"M1", "--ram", "12"}, 0, []string{"68.25 GB/s", "not 12 GB, as far as the table knows"}},
		{[]string{"A18 Pro"}, 0, []string{"60 GB/s, roughly"}},
		{[]string{"Apple M1 (Virtual)"}, 0, []string{"virtual machine's name"}},
		{[]string{"Apple M9"}, exitNoChip, []string{"has no chip Apple M9"}},
		{[]string{""}, exitNoChip, []string{"has no chip"}},
	} {
		code, out, errs := w.run(append([]string{"doctor", "--chip"}, c.args...)...)
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d", c.args, code, c.code)
		}
		has(t, strings.Join(c.args, " "), out+errs, c.says...)
	}
	code, out, _ := w.run("doctor", "--json", "--chip", "M4 Max", "--gpu-cores", "40")
	var chip metal.Chip
	if err := json.Unmarshal([]byte(out), &chip); code != 0 || err != nil || !chip.Certain || *chip.Bandwidth != 546e9 {
		t.Errorf("exit code %d, %s, %v", code, out, err)
	}
}

// examined is what doctor --json prints.
func examined(t *testing.T, out string) examination {
	t.Helper()
	var e examination
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return e
}

func factOf(e examination, name string) finding {
	for _, f := range e.Facts {
		if f.Name == name {
			return f
		}
	}
	return finding{}
}

// TestDoctorOnThisMachine examines the machine of the test with its own tools.
func TestDoctorOnThisMachine(t *testing.T) {
	w := newWorld(t)
	real := func(p *program) { p.machine, p.goos = metal.New, runtime.GOOS }
	dir := filepath.Join(w.home, "recording")
	code, out, errs := w.runWith(real, "doctor", "--json", "--capture", dir)
	e := examined(t, out)
	for _, f := range e.Facts {
		if f.Verdict == verdictDiffers {
			// A machine on which others work may change by more than is allowed.
			for _, k := range f.Checks {
				if k.Differs && k.Allowed == exact {
					t.Errorf("%s is %v, %s says %v", f.Name, f.Value, k.Tool, k.Says)
				}
			}
		}
		if (f.Verdict == verdictAbsent) != (f.Reason != "") || f.Value != nil && f.Verdict == verdictAbsent {
			t.Errorf("%+v", f)
		}
	}
	if code != 0 && e.Differing == 0 || code == 0 && e.Differing > 0 || code > 1 {
		t.Errorf("exit code %d with %d that differ; %s", code, e.Differing, errs)
	}
	if len(e.Servers) != 1 || e.Servers[0].State != "running" || e.Agent == nil || e.Agent.State != "none" {
		t.Errorf("servers %+v, agent %+v", e.Servers, e.Agent)
	}
	if f := factOf(e, "memory.total_bytes"); runtime.GOOS == "linux" && (len(f.Checks) == 0 || f.Cost == nil || *f.Cost <= 0) {
		t.Errorf("total memory: %+v", f)
	}
	has(t, "standard error", errs, "The recording is in "+dir)
	// What was recorded says the same, here and now.
	code, out, errs = w.run("doctor", "--json", "--replay", dir)
	replayed := examined(t, out)
	if code > 1 || errs != "" || len(replayed.Facts) < 20 {
		t.Errorf("exit code %d, %s, %d facts", code, errs, len(replayed.Facts))
	}
	for _, name := range []string{"machine.chip", "machine.cores", "machine.ram_bytes", "machine.os"} {
		if a, b := factOf(e, name), factOf(replayed, name); fmt.Sprint(a.Value) != fmt.Sprint(b.Value) || b.Source != a.Source {
			t.Errorf("%s was %v by %s and is replayed as %v by %s", name, a.Value, a.Source, b.Value, b.Source)
		}
	}
}

// macTools are what the tools of the recorded Mac would print.
var macTools = map[string]string{
	"vm_stat": "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n" +
		"Pages free:                                       30000.\nPages active:                                    700000.\nPages inactive:                                  690000.\n" +
		"Pages speculative:                                10000.\nPages throttled:                                      0.\nPages wired down:                                300000.\n" +
		"Pages purgeable:                                  20000.\n\"Translation faults\":                                 1.\nPages copy-on-write:                                  1.\n" +
		"Pages zero filled:                                    1.\nPages reactivated:                                    1.\nPages purged:                                         1.\n" +
		"File-backed pages:                               250000.\nAnonymous pages:                                 700000.\nPages stored in compressor:                      500000.\n" +
		"Pages occupied by compressor:                    200000.\nDecompressions:                                       1.\nCompressions:                                         1.\n" +
		"Pageins:                                              1.\nPageouts:                                             1.\nSwapins:                                     5000000000.\nSwapouts:                                    6000000000.\n",
	"sysctl": "machdep.cpu.brand_string: Apple M4\nhw.model: Mac17,3\nhw.memsize: 34359738368\nhw.physicalcpu: 10\nhw.nperflevels: 2\n" +
		"hw.perflevel0.name: Super\nhw.perflevel0.physicalcpu: 4\nhw.perflevel1.name: Efficiency\nhw.perflevel1.physicalcpu: 6\nkern.osproductversion: 26.4\n" +
		"kern.memorystatus_vm_pressure_level: 2\nvm.swapusage: total = 4096.00M  used = 3072.00M  free = 1024.00M  (encrypted)\niogpu.wired_limit_mb: 0\n",
	"memory_pressure": "The system has 34359738368 (2097152 pages with a page size of 16384).\nSystem-wide memory free percentage: 55%\n",
	"notifyutil":      "com.apple.system.thermalpressurelevel 0\n",
	"pmset_therm":     "Note: No thermal warning level has been recorded\nNote: No performance warning level has been recorded\nNote: No CPU power status has been recorded\n",
	"ioreg": "+-o AGXAcceleratorG16G  <class AGXAcceleratorG16G, id 0x1000003f1, registered, matched, active, busy 0 (0 ms), retain 100>\n    {\n" +
		"      \"model\" = \"Apple M4\"\n      \"gpu-core-count\" = 10\n      \"PerformanceStatistics\" = {\"In use system memory (driver)\"=0,\"Alloc system memory\"=9663676416,\"Tiler Utilization %\"=2,\"recoveryCount\"=0,\"Renderer Utilization %\"=3,\"Device Utilization %\"=4,\"In use system memory\"=1073741824}\n    }\n",
	"system_profiler": `{"SPHardwareDataType":[{"chip_type":"Apple M4","machine_model":"Mac17,3","physical_memory":"32 GB","serial_number":"C02SERIALNO","platform_UUID":"564D1234-ABCD-4EF0-8123-0123456789AB"}],
"SPSoftwareDataType":[{"os_version":"macOS 26.4 (25E1)","user_name":"Alice Example (alice)","local_host_name":"alices-mac"}],"SPDisplaysDataType":[{"sppci_model":"Apple M4","sppci_cores":"10"}]}`,
	"powermetrics": "Machine model: Mac17,3\n*** Sampled system activity (Sat Mar 14 15:09:26 2026 +0000) (1009.00ms elapsed) ***\n\n**** GPU usage ****\n\nGPU HW active frequency: 1010 MHz\nGPU HW active residency:  60.00% (338 MHz: 10% 1470 MHz: 50%)\nGPU idle residency:  40.00%\nGPU Power: 7400 mW\n\n**** Thermal pressure ****\n\nCurrent pressure level: Nominal\n",
}

// examineMac examines the recorded Mac with tools that print what is given.
func examineMac(t *testing.T, tools map[string]string, f *doctorFlags) (code int, out string) {
	t.Helper()
	w := newWorld(t)
	var o, errs output
	p := w.program(&o, &errs)
	onMac(t)(p)
	p.words = view.In("en")
	p.home = "/Users/alice"
	d := &doctor{program: p, root: true,
		wait: func(context.Context, time.Duration) error { return nil },
		run: func(_ context.Context, t tool) printed {
			text, ok := tools[t.name]
			if !ok {
				return printed{tool: t.name, err: fs.ErrNotExist}
			}
			return printed{tool: t.name, output: []byte(text), took: time.Millisecond}
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	return p.finish(d.examine(ctx, f)), o.String()
}

func TestDoctorOnAMac(t *testing.T) {
	code, out := examineMac(t, macTools, &doctorFlags{json: true})
	e := examined(t, out)
	if code != 0 || e.Differing != 0 || e.System != "darwin" {
		t.Errorf("exit code %d, %d differ in %s", code, e.Differing, out)
	}
	checked := map[string]bool{}
	for _, f := range e.Facts {
		for _, k := range f.Checks {
			checked[f.Name+" "+k.Tool] = true
		}
	}
	for _, c := range claims {
		if onLinux := c.tool == "free" || c.tool == "meminfo"; !onLinux && !checked[c.fact+" "+c.tool] {
			t.Errorf("%s was not held against %s", c.fact, c.tool)
		}
	}
	for name, want := range map[string]finding{
		"gpu.temperature_celsius": {Value: 42.5, Source: "SMC Tg0k"},
		"gpu.power_watts":         {Value: 7.5, Source: "IOReport sample (GPU Energy)"},
		"gpu.in_use_bytes":        {Value: float64(1 << 30), Source: "IORegistry IOAccelerator"},
		"machine.boot_id":         {Value: true, Source: "sysctl kern.bootsessionuuid"},
	} {
		if f := factOf(e, name); f.Value != want.Value || f.Source != want.Source || f.Verdict != verdictOK || f.Cost == nil {
			t.Errorf("%s is %+v", name, f)
		}
	}
	_, out = examineMac(t, macTools, &doctorFlags{})
	has(t, "the table", out, "FACT", "✓  gpu.temperature ", "42.5 °C", "4 Super + 6 Efficiency", "7.50 W", "120 GB/s", "the system's default",
		"ioreg, system_profiler", "Ollama: running", "Agent: not running", "0 differ.")
}

// Each tool in turn says something else, and doctor says so.
func TestDoctorFindsWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		tool, old, new, fact, says string
	}{
		{"vm_stat", "Pages wired down:                                300000", "Pages wired down:                                400000", "memory.wired_bytes", "vm_stat says 6.1 GiB (allowed: 2 % of the memory)"},
		{"sysctl", "level: 2", "level: 1", "memory.pressure", "read warning, sysctl says normal (allowed: no difference)"},
		{"sysctl", "wired_limit_mb: 0", "wired_limit_mb: 28000", "gpu.wired_limit_bytes", "read the system's default, sysctl says 27.3 GiB"},
		{"sysctl", "used = 3072", "used = 9072", "swap.used_bytes", "sysctl says 8.9 GiB"},
		{"ioreg", "\"Device Utilization %\"=4", "\"Device Utilization %\"=99", "gpu.utilisation_ratio", "ioreg says 99 %"},
		{"ioreg", "gpu-core-count\" = 10", "gpu-core-count\" = 40", "gpu.cores", "read 10, ioreg says 40"},
		{"notifyutil", "level 0", "level 2", "thermal.pressure", "read nominal, notifyutil says heavy"},
		{"system_profiler", "32 GB", "16 GB", "machine.ram_bytes", "system_profiler says 16"},
		{"memory_pressure", "34359738368", "17179869184", "machine.ram_bytes", "memory_pressure says 16"},
		{"powermetrics", "Power: 7400 mW", "Power: 74000 mW", "gpu.power_watts", "powermetrics says 74.00 W (allowed: 50 %)"},
	} {
		tools := map[string]string{}
		for name, text := range macTools {
			tools[name] = text
		}
		if tools[c.tool] = strings.Replace(tools[c.tool], c.old, c.new, 1); tools[c.tool] == macTools[c.tool] {
			t.Fatalf("%s does not say %q", c.tool, c.old)
		}
		code, out := examineMac(t, tools, &doctorFlags{})
		if code != exitDiffers {
			t.Errorf("%s: exit code %d", c.fact, code)
		}
		has(t, c.fact, out, "≠  "+shortName(c.fact), "≠ "+shortName(c.fact)+": ", c.says)
	}
	// A tool that fails is named, and is no difference.
	tools := map[string]string{"vm_stat": "garbage\n", "sysctl": macTools["sysctl"]}
	code, out := examineMac(t, tools, &doctorFlags{})
	if code != 0 {
		t.Errorf("failing tools: exit code %d", code)
	}
	has(t, "failing tools", out, "vm_stat was of no use: ", "ioreg was of no use: ")
}

// TestDoctorCaptureOfAMac: the table of a recording is the table of the machine,
// and nothing that tells whose it is leaves it.
func TestDoctorCaptureOfAMac(t *testing.T) {
	t.Setenv("USER", "alice")
	dir := filepath.Join(t.TempDir(), "deep", "recording")
	tools := map[string]string{}
	for name, text := range macTools {
		tools[name] = text
	}
	tools["ioreg"] = strings.Replace(tools["ioreg"], `"model"`, "\"IOPlatformSerialNumber\" = \"C02SERIALNO\"\n      \"path\" = \"/Users/alice/x\"\n      \"model\"", 1)
	tools["pmset_therm"] += "assertion by alice on alices-mac.local\n"
	code, out := examineMac(t, tools, &doctorFlags{json: true, hasCapture: true, capture: dir})
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, out)
	}
	live := examined(t, out)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if found := regexp.MustCompile(`(?i)\balices?\b|SERIALNO|564D1234`).Find(text); found != nil {
			t.Errorf("%s tells %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	code, out, errs := w.run("doctor", "--replay", dir, "--json")
	if code != 0 || errs != "" {
		t.Errorf("replay: exit code %d, %s", code, errs)
	}
	replayed := examined(t, out)
	if len(replayed.Facts) != len(live.Facts) || len(replayed.Tools) != len(live.Tools) || replayed.System != "darwin" {
		t.Errorf("%d facts and %d tools live, %d and %d replayed", len(live.Facts), len(live.Tools), len(replayed.Facts), len(replayed.Tools))
	}
	for i, f := range replayed.Facts {
		a, b := f, live.Facts[i]
		a.Cost, b.Cost = nil, nil
		if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
			t.Errorf("%s is replayed as\n%s, live\n%s", f.Name, x, y)
		}
	}
	// Its files can be decoded one by one, and it is not written over.
	if code, out, _ := w.run("doctor", "--decode", "vm_stat", dir+"/tools/vm_stat.txt"); code != 0 || !strings.Contains(out, `"page_size_bytes":16384`) {
		t.Errorf("decoding a file of it: exit code %d, %s", code, out)
	}
	if code, _, errs := w.runWith(onMac(t), "doctor", "--no-tools", "--capture", dir); code != exitFailed || !strings.Contains(errs, "has something in it") {
		t.Errorf("written over: exit code %d, %s", code, errs)
	}
	if left, _ := filepath.Glob(filepath.Dir(dir) + "/*partial*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	// A folder that lost a file, as after a crash, is not taken for a recording.
	if err := os.Remove(dir + "/raw/0/sysctl.json"); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := w.run("doctor", "--replay", dir); code != exitFailed || out != "" || !strings.Contains(errs, "cannot be replayed") {
		t.Errorf("a damaged recording: exit code %d, %s%s", code, out, errs)
	}
}

// The simulated Mac can be examined and is no machine to record.
func TestDoctorOnASimulatedMac(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	code, out, errs := w.run("--socket", socket, "doctor", "--json")
	e := examined(t, out)
	if code != 0 || e.System != "" || e.Differing != 0 || e.Tools != nil || e.Agent.State != "running" || e.Agent.PID != os.Getpid() {
		t.Errorf("exit code %d, %s, %+v", code, errs, e)
	}
	if code, _, errs := w.run("doctor", "--capture", w.home+"/new"); code != exitFailed || !strings.Contains(errs, "it is simulated") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if _, err := os.Stat(w.home + "/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
	if code, out, _ := w.run("--lang", "zh", "doctor"); code != 0 || !strings.Contains(out, "缺失 ") || strings.Contains(out, "absent") {
		t.Errorf("in Chinese: exit code %d, %s", code, out)
	}
}

func TestDoctorCompletion(t *testing.T) {
	w := newWorld(t)
	_, out, _ := w.run("__complete", "doctor", "--decode", "")
	has(t, "completion of --decode", out, "ioreg\n", "ollama_api\n", "powermetrics\n", "vm_stat\n")
	_, out, _ = w.run("__complete", "doctor", "--ca")
	has(t, "completion of flags", out, "--capture\t")
}

// A tool that hangs is ended, and one that prints without end is cut.
func TestToolsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := runTool(ctx, tool{name: "sleep", args: []string{"sleep", "1000"}}); o.err == nil || len(o.output) != 0 {
		t.Errorf("%+v", o)
	}
	o := runTool(t.Context(), tool{name: "sh", args: []string{"sh", "-c", "head -c 9000000 /dev/zero; echo $LC_ALL >&2; exit 3"}})
	if len(o.output) != toolMost || o.err == nil || o.err.Error() != "C" {
		t.Errorf("%d bytes, %v", len(o.output), o.err)
	}
	if o := runTool(t.Context(), tool{name: "none", args: []string{"/nowhere/none"}}); o.err == nil {
		t.Error("a tool that is not there ran")
	}
}
