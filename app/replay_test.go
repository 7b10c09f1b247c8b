package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// swapStorm is written by hand: a Mac that begins to swap and stops again.
func swapStorm() string {
	var b strings.Builder
	b.WriteString("# a minute of swapping, written by hand\n\n")
	out := 0
	for i := range 60 {
		if i >= 5 && i < 20 {
			out += 80e6
		}
		fmt.Fprintf(&b, `{"taken":"2026-11-30T10:00:%02d+08:00","swap":{"used_bytes":1000000000,"total_bytes":4000000000,"swap_out_bytes":%d},"memory":{"pressure":"normal"}}`+"\n", i, out)
	}
	return b.String()
}

func (w *world) replay(text string, args ...string) (code int, out, errs string) {
	w.t.Helper()
	return w.runWith(func(p *program) { p.in = strings.NewReader(text) }, append([]string{"replay", "-"}, args...)...)
}

func TestReplayTellsWhatTheAlertsDo(t *testing.T) {
	w := newWorld(t)
	for _, language := range []string{"en", "zh"} {
		code, out, errs := w.replay(swapStorm(), "--lang", language)
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		golden(t, "replay."+language+".txt", out)
	}
}

// The example in the help raises the alert that it is there to show, and tells
// the traffic without a word on what it does not know.
func TestReplaysOwnExample(t *testing.T) {
	w := newWorld(t)
	for _, language := range []string{"en", "zh"} {
		words := view.In(language)
		_, line, _ := strings.Cut(words.Text("cli.replay.example"), "printf '")
		line, _, _ = strings.Cut(line, "\n")
		if line != `{"swap":{"swap_out_bytes":%d000000}}\n' 100 200 300 | plimsoll replay -` {
			t.Fatalf("the example is %q", line)
		}
		course := ""
		for _, n := range []int{100, 200, 300} {
			course += fmt.Sprintf(`{"swap":{"swap_out_bytes":%d000000}}`+"\n", n)
		}
		_, out, errs := w.replay(course, "--lang", language)
		if errs != "" || !strings.Contains(out, "▲") || strings.Contains(out, words.Text("view.unknown")) {
			t.Errorf("%s: %s%s", language, out, errs)
		}
	}
}

// A temperature is an alert only for who asks for one.
func TestReplayWithATemperature(t *testing.T) {
	w := newWorld(t)
	course := strings.Repeat(`{"gpu":{"temperature_celsius":96}}`+"\n", 8) + strings.Repeat(`{"gpu":{"temperature_celsius":80}}`+"\n", 2)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, ""}, {[]string{"--hot", "97"}, ""},
		{[]string{"--hot", "95"}, "GPU 96 °C, your limit 95 °C."},
		{[]string{"--hot", "95", "--lang", "zh"}, "GPU 96 °C（设定为 95 °C）。"},
	} {
		code, out, errs := w.replay(course, c.args...)
		if code != 0 || errs != "" {
			t.Errorf("%q: exit code %d, %s", c.args, code, errs)
		}
		if c.says == "" && strings.Contains(out, "▲") {
			t.Errorf("%q: an alert nobody asked for:\n%s", c.args, out)
		}
		if c.says != "" {
			has(t, strings.Join(c.args, " "), out, "00:00:10 ▲ ", c.says, "00:00:16 ✓ ")
		}
	}
}

func TestReplayAsJSON(t *testing.T) {
	w := newWorld(t)
	code, out, errs := w.replay(swapStorm(), "--json")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	var kinds []string
	lines := 0
	for line := range strings.Lines(out) {
		var u monitor.Update
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, e := range u.Events {
			kinds = append(kinds, string(e.Kind))
		}
		lines++
	}
	if want := []string{"alert_raised", "alert_cleared"}; lines != 60 || !slices.Equal(kinds, want) {
		t.Errorf("%d lines with the events %q, want 60 with %q", lines, kinds, want)
	}
	// What came out goes in again and comes out the same.
	if _, again, _ := w.replay(out, "--json"); again != out {
		t.Error("a replay of the replay differs")
	}
}

func TestReplayOfLines(t *testing.T) {
	w := newWorld(t)
	good := `{"swap":{"used_bytes":1}}`
	for _, c := range []struct {
		name, text string
		code       int
		lines      int
		errs       string // in standard error
	}{
		{"nothing", "", 0, 0, ""},
		{"empty lines and comments", "\n  \n# a comment\n\t# another\n", 0, 0, ""},
		{"a snapshot", good + "\n", 0, 1, ""},
		{"no line end", good, 0, 1, ""},
		{"line ends of Windows", good + "\r\n" + good + "\r\n", 0, 2, ""},
		{"byte-order mark", "\ufeff" + good + "\n", 0, 1, ""},
		{"an update", `{"snapshot":` + good + `}`, 0, 1, ""},
		{"events alone", `{"events":[{"time":"2026-11-30T10:00:00Z","kind":"gap"}]}`, 0, 1, ""},
		{"an empty object", `{}`, 0, 1, ""},
		{"a very long line", `{"machine":{"chip":"` + strings.Repeat("x", 3<<20) + `"}}` + "\n", 0, 1, ""},
		{"unknown field", `{"swapp":{"used_bytes":1}}`, 0, 1, "line 1: this version knows no field swapp; it is left out"},
		{"unknown field, twice", `{"swapp":1}` + "\n" + `{"swapp":1}`, 0, 2, "line 1: this version"},
		{"unknown field inside", good + "\n" + `{"swap":{"used":1}}`, 0, 2, "line 2: this version knows no field used"},
		{"not JSON", good + "\nhello\n", 1, 1, "line 2, column 1: invalid character 'h'"},
		{"a mistake in the middle", `{"swap":{"used_bytes":1,}}` + "\n", 1, 0, "line 1, column 25: "},
		{"columns are characters", `{"machine":{"chip":"苹果"},}` + "\n", 1, 0, "line 1, column 26: "},
		{"a list", "[1]\n", 1, 0, "line 1, column 1: a line must be one JSON object"},
		{"a number", "5\n", 1, 0, "a line must be one JSON object"},
		{"null", "null\n", 1, 0, "a line must be one JSON object"},
		{"two objects", good + good + "\n", 1, 0, "line 1, column 26: "},
		{"text for a number", `{"swap":{"used_bytes":"1"}}` + "\n", 1, 0, "swap.used_bytes: string, not uint64"},
		{"a negative amount", `{"swap":{"used_bytes":-1}}` + "\n", 1, 0, "swap.used_bytes: number -1, not uint64"},
		{"no time", `{"taken":"yesterday"}` + "\n", 1, 0, "line 1, column 11: "},
		{"a cut last line", good + "\n" + `{"swap":{"used_by`, 1, 1, "line 2, column 17: the last line is cut in the middle"},
		{"a cut line in the middle", `{"swap":{"used_by` + "\n" + good, 1, 0, "line 1, column 17: unexpected end"},
		{"control characters", "{\"machine\":{\"chip\":\"a\x01b\"}}\n", 1, 0, "line 1, column 22: "},
		{"huge number", `{"awake_seconds":1e999}` + "\n", 1, 0, "awake_seconds"},
	} {
		code, out, errs := w.replay(c.text, "--json")
		if lines := strings.Count(out, "\n"); code != c.code || lines != c.lines {
			t.Errorf("%s: exit code %d and %d lines, want %d and %d; %s", c.name, code, lines, c.code, c.lines, errs)
		}
		if c.errs == "" && errs != "" || !strings.Contains(errs, c.errs) || strings.Count(errs, "this version") > 1 {
			t.Errorf("%s: standard error is %q, want %q", c.name, errs, c.errs)
		}
		if code, _, _ := w.replay(c.text); code != c.code {
			t.Errorf("%s: without --json the exit code is %d, want %d", c.name, code, c.code)
		}
	}
	code, _, errs := w.run("replay", filepath.Join(w.home, "none"))
	if code != exitFailed || !strings.Contains(errs, "none cannot be read: no such file") {
		t.Errorf("a file that is not there: exit code %d, %s", code, errs)
	}
	if code, _, errs := w.run("replay", w.home); code != exitFailed || !strings.Contains(errs, "is a directory") {
		t.Errorf("a folder: exit code %d, %s", code, errs)
	}
}

func TestReplayAtASpeed(t *testing.T) {
	w := newWorld(t)
	lines := `{"taken":"2026-11-30T10:00:00Z"}` + "\n" + `{"taken":"2026-11-30T10:01:00Z"}` + "\n" + `{"taken":"2026-11-30T10:00:30Z"}` + "\n"
	begin := w.clock.Awake()
	if code, out, errs := w.replay(lines, "--json", "--speed", "10"); code != 0 || strings.Count(out, "\n") != 3 {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if took := w.clock.Awake() - begin; took < 6*time.Second {
		t.Errorf("a minute at speed 10 took %v of the clock, want 6 s or more", took)
	}
}

func TestReplayFields(t *testing.T) {
	w := newWorld(t)
	for _, language := range []string{"en", "zh"} {
		code, out, errs := w.run("replay", "--fields", "--lang", language)
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for _, f := range view.In(language).Fields() {
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, f.Name+" ") && strings.Contains(line, f.Unit) }) {
				t.Errorf("no line on %s", f.Name)
			}
		}
		example := lines[len(lines)-1]
		if code, _, errs := w.replay(example); code != 0 || errs != "" {
			t.Errorf("the example line does not replay: exit code %d, %s", code, errs)
		}
	}
}

func TestNoRecordingMakesTheReaderPanic(t *testing.T) {
	for _, text := range []string{"{", "}", "\"", "{\"snapshot\":null}", "{\"snapshot\":5}", "{\"alerts\":{}}", "{\"\":1}", "\xff\xfe", "{\"taken\":null}", "{\"problems\":{\"swap\":null}}"} {
		parseLine([]byte(text), true)
		parseLine([]byte(text+"\n"), false)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"snapshot":{"taken":"2026-11-30T10:00:00Z","swap":{"used_bytes":1}},"events":[]}`))
	f.Add([]byte(`{"taken":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _, bad := parseLine(text, true)
		if bad != nil && (bad.column < 1 || bad.column > len(text)+1) {
			t.Errorf("%q: column %d", text, bad.column)
		}
	})
}

func TestRecordLivesThroughARestart(t *testing.T) {
	w := newWorld(t)
	socket, stop := w.agent()
	file := filepath.Join(w.home, "recording")
	var out, errs output
	ctx, cancel := contextOf(t)
	ended := make(chan int, 1)
	go func() { ended <- w.program(&out, &errs).run(ctx, []string{"--socket", socket, "record", file}) }()
	lines := func() int {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "\n")
	}
	eventually(t, "three lines", func() bool { return lines() >= 3 })
	stop()
	eventually(t, "word of the end", func() bool { return strings.Contains(errs.String(), "The agent has ended") })
	w.agent()
	before := lines()
	eventually(t, "lines of the next agent", func() bool { return lines() >= before+3 })
	cancel()
	if code := <-ended; code != 0 || out.String() != "" {
		t.Errorf("exit code %d, %q, %s", code, out.String(), errs.String())
	}
	has(t, "standard error", errs.String(), "recording: ", " updates in ")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the recording has mode %v, %v", info.Mode(), err)
	}
	gaps := 0
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for scanner := bufio.NewScanner(opened); scanner.Scan(); {
		var u monitor.Update
		if err := json.Unmarshal(scanner.Bytes(), &u); err != nil {
			t.Errorf("%v in %q", err, scanner.Text())
		}
		for _, e := range u.Events {
			if e.Kind == monitor.EventGap {
				gaps++
			}
		}
	}
	if gaps != 1 {
		t.Errorf("the recording has %d gaps, want 1", gaps)
	}
	if code, out, errs := w.run("replay", file); code != 0 || errs != "" || !strings.Contains(out, "updates over") {
		t.Errorf("replay: exit code %d, %s%s", code, out, errs)
	}
}

func TestRecord(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		file := filepath.Join(w.home, "recording")
		if code, _, errs := run("record", file, "--for", "200ms"); code != 0 || !strings.Contains(errs, "recording: ") {
			t.Errorf("exit code %d, %s", code, errs)
		}
		first := readFile(t, file)
		code, _, errs := run("record", file, "--for", "200ms")
		if code != exitFailed || readFile(t, file) != first {
			t.Errorf("over an older recording: exit code %d", code)
		}
		has(t, "over an older recording", errs, "exists already", "--force")
		if code, _, _ := run("record", file, "--for", "200ms", "--force"); code != 0 || readFile(t, file) == first {
			t.Errorf("with --force: exit code %d", code)
		}
		code, out, _ := run("record", "-", "--for", "200ms")
		if code != 0 || !strings.HasPrefix(out, `{"snapshot":{"taken":`) {
			t.Errorf("to standard output: exit code %d, %.100s", code, out)
		}
		code, _, errs = run("record", filepath.Join(w.home, "no", "such", "folder"))
		if code != exitFailed || !strings.Contains(errs, "no such file or directory") {
			t.Errorf("in no folder: exit code %d, %s", code, errs)
		}
	})
}

func TestARecordingThatCannotGoOnEnds(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	w := newWorld(t)
	code, _, errs := w.run("record", "/dev/full", "--force")
	if code != exitFailed || !strings.Contains(errs, "no space left") {
		t.Errorf("on a full disk: exit code %d, %s", code, errs)
	}
}
