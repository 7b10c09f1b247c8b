package metal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PanicReport is what the system wrote after it had to restart by itself.
type PanicReport struct {
	// Name is the report's file name, which is another for every panic.
	Name string `json:"name"`
	// At is when it happened, by the report, else by the file.
	At   time.Time `json:"at"`
	Kind PanicKind `json:"kind"`
	// Text is the first line of the panic, at most 300 bytes of it.
	Text string `json:"text,omitzero"`
	// OS is the system it happened under, "macOS 26.4 (25E100)". Absent where the
	// report does not tell.
	OS string `json:"os,omitzero"`
}

// PanicKind is what a panic speaks for.
type PanicKind string

const (
	// PanicGPUMemory: the GPU's driver lost count of its memory, as it did under
	// long prompts near the limit (github.com/ml-explore/mlx/issues/3186).
	PanicGPUMemory PanicKind = "gpu_memory"
	// PanicWatchdog: nothing answered for a minute and a half, as when memory has
	// run out (github.com/jundot/omlx/issues/3065).
	PanicWatchdog PanicKind = "watchdog"
	PanicOther    PanicKind = "other"
)

// panicMost is how much of a report is read, in bytes: whole ones are about
// 1 MB, and what is looked for stands at the beginning.
const panicMost = 256 << 10

// panicSigns tell the kinds apart, the first that fits.
var panicSigns = []struct {
	kind  PanicKind
	signs []string
}{
	{PanicGPUMemory, []string{"IOGPUMemory", "completeMemory()", "prepare count underflow", "IOGPUGroupMemory"}},
	{PanicWatchdog, []string{"watchdog timeout", "no checkins from watchdogd", "no successful checkins", "userspace watchdog"}},
}

// NewestPanic reads the newest panic report in a folder, nil when there is none.
// It fails when the folder or the report may not be read.
func NewestPanic(folder string) (*PanicReport, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading panic reports: %w", permission(err))
	}
	var newest fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".panic") && !(strings.HasPrefix(e.Name(), "panic-") && strings.HasSuffix(e.Name(), ".ips")) {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && (newest == nil || info.ModTime().After(newest.ModTime())) {
			newest = info
		}
	}
	if newest == nil {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(folder, newest.Name()))
	if err != nil {
		return nil, fmt.Errorf("reading a panic report: %w", permission(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, panicMost))
	if err != nil {
		return nil, fmt.Errorf("reading a panic report: %w", err)
	}
	report := ParsePanic(data)
	report.Name = newest.Name()
	if report.At.IsZero() {
		report.At = newest.ModTime()
	}
	return report, nil
}

func permission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrNotPermitted, err)
	}
	return err
}

// ParsePanic decodes a panic report: a line of JSON about the report and an object
// with the panic's text in panicString, which may be cut off anywhere; or, from
// older systems, plain text.
func ParsePanic(data []byte) *PanicReport {
	report := &PanicReport{Kind: PanicOther}
	var head struct {
		Timestamp string `json:"timestamp"`
		OS        string `json:"os_version"`
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(first, &head) == nil {
		report.OS = plainLine(head.OS, 80)
		report.At, _ = time.Parse("2006-01-02 15:04:05.00 -0700", head.Timestamp)
	}
	text := panicText(data)
	report.Text = plainLine(text, 300)
	for _, k := range panicSigns {
		for _, sign := range k.signs {
			if strings.Contains(text, sign) {
				report.Kind = k.kind
				return report
			}
		}
	}
	return report
}

// panicText is the text of the panic itself, not the lists that follow it.
func panicText(data []byte) string {
	for _, key := range []string{`"panicString"`, `"macOSPanicString"`} {
		_, after, found := bytes.Cut(data, []byte(key))
		after = bytes.TrimLeft(after, " :")
		if !found || len(after) == 0 || after[0] != '"' {
			continue
		}
		var text string
		if json.NewDecoder(bytes.NewReader(after)).Decode(&text) == nil {
			return text
		}
		// It is cut off: what there is of it, as it is written.
		return strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\/`, "/").Replace(string(after[1:]))
	}
	if i := bytes.Index(data, []byte("panic(")); i >= 0 {
		return string(data[i:])
	}
	return string(data)
}

// plainLine is the first line of a text without what does not print, cut to most bytes.
func plainLine(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return -1
		}
		return r
	}, line)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "")
	}
	return strings.TrimSpace(line)
}
