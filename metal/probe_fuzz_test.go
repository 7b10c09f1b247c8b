package metal

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"
)

// FuzzReplay opens recordings of which one file is anything, with its right sum.
func FuzzReplay(f *testing.F) {
	const folder = "testdata/recordings/made-up-m4"
	names := []string{"sysctl", "mach", "processes", "ioregistry", "hid", "metal", "process_info", "notify", "power_source", "smc", "ioreport"}
	for i, name := range names {
		if text, err := os.ReadFile(folder + "/raw/2/" + name + ".json"); err == nil {
			f.Add(text, i, int64(time.Second))
		}
	}
	f.Add([]byte(`{"count":{"value":16000},"SMC":{"value":{}}}`), 9, int64(0))
	f.Add([]byte(`{"kern.proc.all":{"hex":"00"},"proc_pidpath 1":{"value":5}}`), 2, int64(1<<62))
	f.Fuzz(func(t *testing.T, text []byte, which int, apart int64) {
		name := "raw/1/" + names[uint(which)%uint(len(names))] + ".json"
		sum := sha256.Sum256(text)
		manifest := fmt.Appendf(nil, `{"format":1,"system":"darwin","taken":"2026-03-14T15:09:26Z","rounds_ns":[0,%d],"files":{%q:"%x"}}`, apart, name, sum)
		c, err := openRecording(func(file string) ([]byte, error) {
			switch file {
			case manifestFile:
				return manifest, nil
			case name:
				return text, nil
			}
			return nil, fs.ErrNotExist
		})
		if err != nil {
			return
		}
		for _, fact := range c.Facts() {
			if (fact.Value == nil) == (fact.Err == nil) {
				t.Errorf("%s: value %v and error %v", fact.Name, fact.Value, fact.Err)
			}
		}
	})
}

// FuzzScrub looks for what was planted between anything.
func FuzzScrub(f *testing.F) {
	f.Add("Serial Number: ", "\n")
	f.Add("\"x\" = <", ">")
	f.Fuzz(func(t *testing.T, before, after string) {
		out := Scrub(before+" alice "+after, "alice")
		for i := 0; i+7 <= len(out); i++ {
			if out[i:i+7] == " alice " {
				t.Errorf("%q is left in %q", "alice", out)
			}
		}
	})
}
