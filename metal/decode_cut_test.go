package metal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A recording that ends anywhere tells what it told whole or nothing, but no other
// number: half a "100" is no limit of 10. What is counted or taken from the last of
// several is not compared.
func TestDecodeCutAnywhere(t *testing.T) {
	changing := map[string][]string{
		"powermetrics": {"gpu_power_mw", "samples"}, // the sum's figure comes last
		"pmset_therm":  {"notes", "throttled"},
		// From the caches so far, and from another line than the whole log's limit.
		"llama_cpp_log":   {"kv_mib", "kv_bytes"},
		"system_profiler": {"displays"},
	}
	several := []string{"powermetrics/s-clusters-two-samples.txt", "powermetrics/stream-unfinished.plist", "powermetrics/gpu-before-cpu.txt",
		"powermetrics/m1-macos12.5-cpu_power-01.txt", "pmset_therm/limited.txt", "notifyutil/two-keys.txt", "notifyutil/level-30.txt",
		"ioreg/stub-first.txt", "system_profiler/displays.json"}
	checked := 0
	for _, folder := range []string{"testdata/decode", "../../shared/fixtures"} {
		for _, source := range Sources() {
			if slices.Contains([]string{"sysctl", "vm_stat", "memory_pressure"}, source) {
				continue
			}
			files, _ := filepath.Glob(filepath.Join(folder, source, "*"))
			for _, file := range files {
				if slices.Contains(several, source+"/"+filepath.Base(file)) {
					continue
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				whole := decodedObject(t, source, data)
				for n := 0; n < len(data); n += 1 + len(data)/3000 {
					got := decodedObject(t, source, data[:n])
					for _, fault := range invented(whole, got, changing[source]) {
						t.Errorf("%s cut at %d: %s", file, n, fault)
					}
					checked++
				}
			}
		}
	}
	t.Logf("%d cuts", checked)
}

// invented lists what a cut recording tells otherwise than the whole one.
func invented(whole, got any, changing []string) []string {
	switch g := got.(type) {
	case nil:
		return nil
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%v of nothing", got)}
		}
		var faults []string
		for name, v := range g {
			if name == "error" || slices.Contains(changing, name) {
				continue
			}
			for _, f := range invented(w[name], v, changing) {
				faults = append(faults, name+" "+f)
			}
		}
		return faults
	case []any:
		w, ok := whole.([]any)
		if !ok || len(g) > len(w) {
			return []string{fmt.Sprintf("is %v of %v", got, whole)}
		}
		var faults []string
		for i := range g {
			faults = append(faults, invented(w[i], g[i], changing)...)
		}
		return faults
	}
	if got != whole {
		return []string{fmt.Sprintf("is %v, of %v", got, whole)}
	}
	return nil
}
