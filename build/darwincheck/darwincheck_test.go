package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var want = regexp.MustCompile(`// want "([^"]*)"`)

// TestPlantedMistakesAreFound checks a program whose every wrong line says what
// is wrong with it.
func TestPlantedMistakesAreFound(t *testing.T) {
	for _, arch := range []string{"arm64", "amd64"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			const file = "testdata/planted/planted_darwin.go"
			got, err := check(target{Arch: arch, Tests: true}, "./testdata/planted")
			if err != nil {
				t.Fatal(err)
			}
			if got.Cgo < 5 {
				t.Errorf("only %d packages with cgo files were checked: the Mac's own were not", got.Cgo)
			}
			found := map[int]string{}
			for _, m := range got.Mistakes {
				if m.File != file {
					t.Errorf("a mistake where none is: %s", m)
				}
				found[m.Line] += m.Message + "; "
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			planted := 0
			for i, line := range strings.Split(string(source), "\n") {
				message := want.FindStringSubmatch(line)
				if message == nil {
					if found[i+1] != "" {
						t.Errorf("%s:%d: nothing is wrong here, reported: %s", file, i+1, found[i+1])
					}
					continue
				}
				planted++
				if !strings.Contains(found[i+1], message[1]) {
					t.Errorf("%s:%d: reported %q, want %q", file, i+1, found[i+1], message[1])
				}
			}
			if planted < 10 {
				t.Errorf("%d mistakes are planted, want at least 10", planted)
			}
		})
	}
}

func TestPackageThatIsNotThere(t *testing.T) {
	got, err := check(target{Arch: "arm64"}, "./testdata/nothing")
	if err == nil && len(got.Mistakes) == 0 {
		t.Error("a package that is not there passed the check")
	}
}
