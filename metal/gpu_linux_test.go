package metal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/objc"
)

// tree writes the files of a sysfs; a value that starts with "-> " is a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, value := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(value, "-> "); ok {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(value+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func gpuOf(root, library string) *linuxGPU {
	return &linuxGPU{sys: root, library: library, now: func() time.Time { return now }}
}

// radeon is a desktop with an AMD card beside the processor's own graphics.
func radeon() map[string]string {
	const igp, card = "class/drm/card0/device/", "class/drm/card1/device/"
	return map[string]string{
		igp + "driver": "-> ../../../bus/pci/drivers/amdgpu", igp + "gpu_busy_percent": "3", igp + "device": "0x164e",
		igp + "mem_info_vram_total": "536870912", igp + "mem_info_vram_used": "31457280",
		"class/drm/card1-DP-1/status": "connected",
		card + "driver":               "-> ../../../bus/pci/drivers/amdgpu", card + "device": "0x744c",
		card + "gpu_busy_percent": "97", card + "mem_info_vram_total": "25753026560", card + "mem_info_vram_used": "21474836480",
		card + "pp_dpm_sclk":          "0: 500Mhz \n1: 2482Mhz *\n2: 2500Mhz",
		card + "power/runtime_status": "active",
		card + "hwmon/hwmon3/name":    "amdgpu", card + "hwmon/hwmon3/temp1_input": "62000", card + "hwmon/hwmon3/temp1_label": "edge",
		card + "hwmon/hwmon3/temp2_input": "81500", card + "hwmon/hwmon3/temp2_label": "junction",
		card + "hwmon/hwmon3/temp3_input": "0", card + "hwmon/hwmon3/temp3_label": "mem",
		card + "hwmon/hwmon3/power1_average": "303000000", card + "hwmon/hwmon3/freq1_input": "2482000000",
	}
}

func TestLinuxCard(t *testing.T) {
	g, err := gpuOf(tree(t, radeon()), "").read()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "GPU", g, &GPU{
		Source: "amdgpu", Name: "AMD GPU 0x744c", WorkingSet: new(uint64(25753026560)), LimitSource: "amdgpu", InUse: new(uint64(21474836480)),
		Utilisation: new(0.97), Temperature: new(81.5), Sensor: "amdgpu junction", Power: new(303.0), Clock: new(2482.0), TopClock: new(2500.0),
	})
}

// TestLinuxCardFieldsAbsentAlone takes away or spoils one file after the other.
func TestLinuxCardFieldsAbsentAlone(t *testing.T) {
	const card = "class/drm/card1/device/"
	usual := []string{"Cores", "MaxBuffer", "WiredLimit", "Renderer", "Tiler", "Stuck", "Requested", "Resets"}
	for _, c := range []struct {
		file, value string
		absent      []string
	}{
		{"gpu_busy_percent", "", []string{"Utilisation"}},
		{"gpu_busy_percent", "200", []string{"Utilisation"}},
		{"mem_info_vram_used", "", []string{"InUse"}},
		{"pp_dpm_sclk", "", []string{"TopClock"}},
		{"pp_dpm_sclk", "0: some Mhz", []string{"TopClock"}},
		{"hwmon/hwmon3/power1_average", "", []string{"Power"}},
		{"hwmon/hwmon3/power1_average", "0", []string{"Power"}},
		{"hwmon/hwmon3/freq1_input", "0", []string{"Clock"}},
		{"device", "", nil},
	} {
		files := radeon()
		if files[card+c.file] = c.value; c.value == "" {
			delete(files, card+c.file)
		}
		g, err := gpuOf(tree(t, files), "").read()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "absent without "+c.file, absentFields(*g), fieldsOf(reflect.TypeFor[GPU](), append(c.absent, usual...)))
	}
	files := radeon()
	for _, n := range []string{"1", "2", "3"} {
		files[card+"hwmon/hwmon3/temp"+n+"_input"] = "6000" // the card sleeps
	}
	if g, _ := gpuOf(tree(t, files), "").read(); g == nil || g.Temperature != nil || g.Sensor != "" {
		t.Errorf("a cold card: %s", show(g))
	}
	files = radeon()
	files[card+"hwmon/hwmon3/power1_input"] = files[card+"hwmon/hwmon3/power1_average"]
	delete(files, card+"hwmon/hwmon3/power1_average")
	if g, _ := gpuOf(tree(t, files), "").read(); g == nil || g.Power == nil || *g.Power != 303 {
		t.Errorf("a card that tells the power of now: %s", show(g))
	}
}

// A card that is switched off is not woken: only its name is told.
func TestLinuxCardAsleep(t *testing.T) {
	root := tree(t, radeon())
	l := gpuOf(root, "")
	if _, err := l.read(); err != nil {
		t.Fatal(err)
	}
	path := root + "/class/drm/card1/device/power/runtime_status"
	if err := os.WriteFile(path, []byte("suspended\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	g, err := l.read()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "GPU", g, &GPU{Source: "amdgpu", Name: "AMD GPU 0x744c", TopClock: new(2500.0)})
}

// An Intel GPU has no sensor of its own and shares the processor's.
func TestLinuxSharedSensor(t *testing.T) {
	files := map[string]string{
		"class/drm/card0/device/driver": "-> ../../../bus/pci/drivers/i915",
		"class/hwmon/hwmon0/name":       "nvme", "class/hwmon/hwmon0/temp1_input": "90000", "class/hwmon/hwmon0/temp1_label": "Package id 0",
		"class/hwmon/hwmon1/name": "coretemp", "class/hwmon/hwmon1/temp1_input": "71000", "class/hwmon/hwmon1/temp1_label": "Package id 0",
		"class/hwmon/hwmon1/temp2_input": "75000", "class/hwmon/hwmon1/temp2_label": "Core 0",
	}
	g, err := gpuOf(tree(t, files), "").read()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "GPU", g, &GPU{Source: "i915", Temperature: new(71.0), Sensor: "coretemp Package id 0"})
}

// A machine without a GPU that tells anything is unsupported, and is looked at
// once a minute.
func TestLinuxWithoutGPU(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":         {"class/none": ""},
		"a virtual card":  {"class/drm/card0/device/driver": "-> ../../../bus/pci/drivers/bochs-drm"},
		"an unbound card": {"class/drm/card0/device/vendor": "0x1002"},
	} {
		root := tree(t, files)
		at := now
		l := gpuOf(root, "none")
		l.now = func() time.Time { return at }
		if g, err := l.read(); g != nil || !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %s, %v", name, show(g), err)
		}
		if err := os.CopyFS(root, os.DirFS(tree(t, map[string]string{"class/drm/card5/device/gpu_busy_percent": "5"}))); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../drivers/amdgpu", root+"/class/drm/card5/device/driver"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			passed time.Duration
			found  bool
		}{{59 * time.Second, false}, {time.Second, true}, {time.Second, true}} {
			at = at.Add(c.passed)
			if g, err := l.read(); (g != nil) != c.found || (err == nil) != c.found {
				t.Errorf("%s, %v on: %s, %v", name, at.Sub(now), show(g), err)
			}
		}
		// What is gone is gone.
		remove(t, root+"/class/drm/card5")
		if g, err := l.read(); g != nil || !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s, after the card was taken out: %s, %v", name, show(g), err)
		}
	}
}

// nvidia is a machine with NVIDIA's driver and the library built from C.
type nvidia struct {
	*linuxGPU
	bad, inits   func() int32
	fail, silent func(int32)
}

func newNVIDIA(t testing.TB, definitions ...string) *nvidia {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("NVML is tried against a library built from C, and there is no gcc: %v", err)
	}
	lib := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	args := append([]string{"-std=c11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", lib, "testdata/nvml/nvml.c"}, definitions...)
	if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("building the fake NVML: %v\n%s", err, out)
	}
	n := &nvidia{linuxGPU: gpuOf(tree(t, map[string]string{"module/nvidia/version": "580.1"}), lib)}
	l, err := objc.Load(lib)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]any{"fake_bad": &n.bad, "fake_inits": &n.inits, "fake_fail": &n.fail, "fake_silent": &n.silent} {
		if err := l.Func(f, name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if count := n.bad(); count != 0 {
			t.Errorf("%d calls had arguments that NVML would not take", count)
		}
	})
	return n
}

func TestNVML(t *testing.T) {
	n := newNVIDIA(t)
	want := &GPU{
		Source: "nvml", Name: "NVIDIA GeForce RTX 4090", WorkingSet: new(uint64(25757220864)), LimitSource: "nvml", InUse: new(uint64(21474836480)),
		Utilisation: new(0.94), Temperature: new(71.0), Sensor: "GPU", Power: new(432.1), Clock: new(2520.0), TopClock: new(3105.0),
	}
	for range 2 {
		g, err := n.read()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "GPU", g, want)
	}
	// 0 °C and 0 W are none.
	n.silent(1)
	g, err := n.read()
	if err != nil || g.Temperature != nil || g.Power != nil || g.Clock != nil || *g.Utilisation != 0.94 {
		t.Errorf("sensors that say 0: %s, %v", show(g), err)
	}
	n.silent(0)
	// A card that is lost is none, and is looked for again after a while.
	n.fail(15)
	if g, err := n.read(); g != nil || err == nil || !strings.Contains(err.Error(), "result 15") {
		t.Errorf("a lost card: %s, %v", show(g), err)
	}
	n.fail(0)
	if g, err := n.read(); g != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("a moment later: %s, %v", show(g), err)
	}
	at := now.Add(gpuAgain)
	n.now = func() time.Time { return at }
	if g, err := n.read(); g == nil || err != nil {
		t.Errorf("a minute later: %s, %v", show(g), err)
	}
	if count := n.inits(); count != 2 {
		t.Errorf("the library was initialised %d times", count)
	}
}

func TestNVMLOfSharedMemory(t *testing.T) {
	g, err := newNVIDIA(t, "-DSHARED_MEMORY").read()
	if err != nil || g.WorkingSet != nil || g.InUse != nil || g.LimitSource != "" || g.Name != "Quadro P400" {
		t.Errorf("%s, %v", show(g), err)
	}
}

// The library is loaded only where the driver is, and one that cannot be used is
// none.
func TestNVMLAbsent(t *testing.T) {
	n := newNVIDIA(t)
	remove(t, n.sys+"/module/nvidia")
	if g, err := n.read(); g != nil || !errors.Is(err, ErrUnsupported) || n.inits() != 0 {
		t.Errorf("without a driver: %s, %v, initialised %d times", show(g), err, n.inits())
	}
	n = newNVIDIA(t, "-DWITHOUT_TOP")
	if g, err := n.read(); g != nil || !errors.Is(err, ErrUnsupported) || n.inits() != 0 {
		t.Errorf("without a symbol: %s, %v", show(g), err)
	}
	n = newNVIDIA(t)
	n.fail(9) // NVML_ERROR_DRIVER_NOT_LOADED
	if g, err := n.read(); g != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("a driver that is not loaded: %s, %v", show(g), err)
	}
	n.library = t.TempDir() + "/none.so"
	n.looked = time.Time{}
	if g, err := n.read(); g != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("without a library: %s, %v", show(g), err)
	}
}

func BenchmarkLinuxGPU(b *testing.B) {
	for name, l := range map[string]*linuxGPU{"none": gpuOf(tree(b, nil), "none"), "amdgpu": gpuOf(tree(b, radeon()), ""), "nvml": newNVIDIA(b).linuxGPU} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.read()
			}
		})
	}
}
