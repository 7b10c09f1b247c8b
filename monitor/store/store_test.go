package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "history.db") }

func open(t *testing.T, path string) *History {
	t.Helper()
	h, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestPath(t *testing.T) {
	for _, row := range []struct{ goos, home, state, want string }{
		{"darwin", "/Users/ada", "", "/Users/ada/Library/Application Support/Plimsoll/history.db"},
		{"darwin", "/Users/ada", "/state", "/Users/ada/Library/Application Support/Plimsoll/history.db"},
		{"linux", "/home/ada", "", "/home/ada/.local/state/plimsoll/history.db"},
		{"linux", "/home/ada", "/state", "/state/plimsoll/history.db"},
		{"linux", "/home/ada", "relative", "/home/ada/.local/state/plimsoll/history.db"},
		{"linux", "", "", ""},
		{"darwin", "", "/state", ""},
	} {
		got, err := Path(row.goos, row.home, func(string) string { return row.state })
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%s %q %q: %q %v, want %q", row.goos, row.home, row.state, got, err, row.want)
		}
	}
}

// Any path serves, and nobody else can read the file.
func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b%3F?mode=ro#1&é 历史", "history.db")
	h := open(t, path)
	if err := h.Mark(t.Context(), "seen", noon); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "history.db*"))
	if err != nil || len(names) < 2 {
		entries, _ := os.ReadDir(filepath.Dir(path))
		t.Fatalf("files %v %v, want the history and its log", entries, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want mode 0600", name, info.Mode(), err)
		}
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v %v, want mode 0700", info.Mode(), err)
	}
}

func TestReadNeedsAHistory(t *testing.T) {
	path := file(t)
	if _, err := Read(path); !IsKind(err, CodeNone) {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("reading made a file")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !IsKind(err, CodeNone) {
		t.Errorf("empty file: %v", err)
	}
	open(t, path)
	h, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Mark(t.Context(), "seen", noon); err == nil {
		t.Error("what was opened for reading was written to")
	}
}

// A file that is not ours, or of a newer version, stays as it is.
func TestOthersFilesAreLeftAlone(t *testing.T) {
	for _, row := range []struct {
		name, change, kind string
	}{
		{"another program's database", "PRAGMA application_id = 7; CREATE TABLE t (x)", CodeForeign},
		{"a database without a name", "CREATE TABLE t (x)", CodeForeign},
		{"a newer version", "PRAGMA application_id = 1347176781; PRAGMA user_version = 99; CREATE TABLE t (x)", CodeNewer},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := file(t)
			h, err := connect(path, "rwc")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.db.Exec(row.change); err != nil {
				t.Fatal(err)
			}
			h.Close()
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); !IsKind(err, row.kind) {
				t.Errorf("opening: %v, want %s", err, row.kind)
			}
			if _, err := Read(path); !IsKind(err, row.kind) {
				t.Errorf("reading: %v, want %s", err, row.kind)
			}
			if _, err := Record(path, quiet()); !IsKind(err, row.kind) {
				t.Errorf("recording: %v, want %s", err, row.kind)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestWhatIsNoFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "history.db")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); !IsKind(err, CodeForeign) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Read(folder); !IsKind(err, CodeForeign) {
		t.Errorf("a folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(folder, "plain", "history.db")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestErrorsTellTheirCode(t *testing.T) {
	err := error(&Error{Kind: CodeNewer, Path: "/x/history.db"})
	if coded := err.(interface{ Code() string }); coded.Code() != "history_newer" || !strings.Contains(err.Error(), "a newer version") {
		t.Errorf("%s: %v", coded.Code(), err)
	}
}

func TestMarks(t *testing.T) {
	h := open(t, file(t))
	for _, want := range []bool{false, true} {
		if got, err := h.Marked(t.Context(), "panic 1"); err != nil || got != want {
			t.Errorf("%v %v, want %v", got, err, want)
		}
		if err := h.Mark(t.Context(), "panic 1", noon); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBenchmarks(t *testing.T) {
	path := file(t)
	h, ctx := open(t, path), t.Context()
	if b, err := h.Benchmark(ctx, 1); b != nil || err != nil {
		t.Errorf("%v %v, want none", b, err)
	}
	for i, model := range []string{"qwen3:14b", "llama3:latest", "qwen3:14b"} {
		id, err := h.AddBenchmark(ctx, Benchmark{Taken: noon.Add(time.Duration(i) * time.Hour), Backend: "ollama", Model: model,
			Digest: "d", Engine: "ollama", Version: "0.17.4", Result: []byte(`{"n":` + string(rune('1'+i)) + `}`)})
		if err != nil || id != int64(i+1) {
			t.Fatalf("id %d, %v", id, err)
		}
	}
	other, err := Read(path) // another process
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, row := range []struct {
		model string
		most  int
		want  []int64
	}{{"", 0, []int64{3, 2, 1}}, {"", 2, []int64{3, 2}}, {"qwen3:14b", 0, []int64{3, 1}}, {"LLAMA3", 0, []int64{2}}, {"none", 0, nil}} {
		list, err := other.Benchmarks(ctx, row.model, row.most)
		var ids []int64
		for _, b := range list {
			ids = append(ids, b.ID)
		}
		if err != nil || len(ids) != len(row.want) || len(ids) > 0 && ids[0] != row.want[0] {
			t.Errorf("%q: %v %v, want %v", row.model, ids, err, row.want)
		}
	}
	b, err := other.Benchmark(ctx, 2)
	if err != nil || b.Model != "llama3:latest" || string(b.Result) != `{"n":2}` || !b.Taken.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v %v", b, err)
	}
}

// snapshot is a snapshot a while after noon.
func snapshot(after time.Duration, change func(*monitor.Snapshot)) monitor.Update {
	s := &monitor.Snapshot{
		Taken: noon.Add(after), Awake: new(100 + after.Seconds()),
		Machine: &metal.Machine{BootID: "boot-1"},
		Memory:  &metal.Memory{Used: new(uint64(10 << 30)), Available: new(uint64(5 << 30)), Pressure: metal.PressureNormal},
		Swap:    &monitor.Swap{Swap: metal.Swap{Used: new(uint64(0)), In: new(uint64(0)), Out: new(uint64(0))}},
	}
	if change != nil {
		change(s)
	}
	return monitor.Update{Snapshot: s}
}

func done(id string, ended time.Time) request.Request {
	return request.Request{ID: id, Backend: "ollama", Model: "qwen3:14b", Phase: request.PhaseDone, Outcome: request.OutcomeFinished,
		Began: ended.Add(-time.Second), Changed: ended, Ended: &ended, OutputTokens: new(12)}
}
