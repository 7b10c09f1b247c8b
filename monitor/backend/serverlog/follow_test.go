package serverlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desk is a folder with a log in it and a follower of it.
type desk struct {
	t    *testing.T
	path string
	f    *Follower
}

func newDesk(t *testing.T, began ...string) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "server.log")}
	if len(began) > 0 {
		d.write(began[0])
	}
	d.f = NewFollower([]string{d.path}, false)
	t.Cleanup(func() { d.f.Close() })
	d.f.Poll(noon)
	return d
}

// write adds to the log, as a server does.
func (d *desk) write(text string) {
	d.t.Helper()
	file, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		d.t.Fatal(err)
	}
}

// news polls and returns what was told, as text.
func (d *desk) news() string {
	d.t.Helper()
	d.f.Poll(noon)
	var s []string
	for _, e := range d.f.Take() {
		switch e.Kind {
		case Truncated:
			s = append(s, fmt.Sprint("cut ", e.Cut.Prompt))
		case Worked:
			s = append(s, fmt.Sprint("task ", e.Work.Task))
		default:
			s = append(s, string(e.Kind))
		}
	}
	return strings.Join(s, ", ")
}

func (d *desk) is(want string) {
	d.t.Helper()
	if got := d.news(); got != want {
		d.t.Errorf("news %q, want %q", got, want)
	}
}

func (d *desk) state(want FileState) {
	d.t.Helper()
	if s := d.f.Known().Status; s.State != want {
		d.t.Errorf("%+v, want %s", s, want)
	}
}

// cut is a line on a prompt of n tokens.
func cut(n int) string {
	return fmt.Sprintf("level=WARN msg=\"truncating input prompt\" limit=64 prompt=%d keep=5 new=64\n", n)
}

func config(parallel int) string {
	return fmt.Sprintf("time=2026-02-25T18:13:51.325+08:00 level=INFO msg=\"server config\" env=\"map[OLLAMA_MODELS:/m OLLAMA_NUM_PARALLEL:%d]\"\n", parallel)
}

func TestFollowing(t *testing.T) {
	d := newDesk(t, config(3)+cut(100))
	d.is("") // the past is no news
	is(t, "parallel", d.f.Known().Settings.Parallel, 3)
	d.state(Following)
	d.write(cut(101) + cut(102))
	d.is("cut 101, cut 102")
	d.is("")

	line := cut(103) // in two parts, and the end of line alone
	d.write(line[:40])
	d.is("")
	d.write(line[40 : len(line)-1])
	d.is("")
	d.write("\n" + cut(104)[:10])
	d.is("cut 103")
	d.write(cut(104)[10:])
	d.is("cut 104")
}

func TestRotation(t *testing.T) {
	d := newDesk(t, config(3))
	d.write(cut(1))
	if err := os.Rename(d.path, strings.TrimSuffix(d.path, ".log")+"-1.log"); err != nil {
		t.Fatal(err)
	}
	d.is("cut 1") // the end of the old file
	d.state(Missing)
	d.write(config(4) + cut(2))
	d.is("configured, cut 2")
	d.state(Following)
	is(t, "parallel", d.f.Known().Settings.Parallel, 4)
	// Both at once, with half a line left behind.
	d.write(cut(3) + cut(4)[:20])
	if err := os.Rename(d.path, d.path+".2"); err != nil {
		t.Fatal(err)
	}
	d.write(cut(5))
	d.is("cut 3, cut 5")
}

func TestEmptiedInPlace(t *testing.T) {
	d := newDesk(t, cut(1)+cut(2)+"half a li")
	if err := os.Truncate(d.path, 0); err != nil {
		t.Fatal(err)
	}
	d.write(cut(3))
	d.is("cut 3")
	// Longer than before when it is looked at again: only its bytes tell.
	d.write(cut(4)[:30])
	d.is("")
	if err := os.WriteFile(d.path, []byte("something else\n"+cut(5)+cut(6)+cut(7)), 0o644); err != nil {
		t.Fatal(err)
	}
	d.is("cut 5, cut 6, cut 7")
}

func TestComesLater(t *testing.T) {
	d := newDesk(t)
	d.state(Missing)
	d.is("")
	d.write(config(2) + cut(1))
	d.is("configured, cut 1")
	d.state(Following)
	if err := os.Remove(d.path); err != nil {
		t.Fatal(err)
	}
	d.is("")
	d.state(Missing)
}

func TestJournal(t *testing.T) {
	f := NewFollower([]string{filepath.Join(t.TempDir(), "server.log")}, true)
	f.Poll(noon)
	if s := f.Known().Status; s.State != Journal || s.Detail != "" {
		t.Errorf("%+v", s)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoFileToFollow(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(folder, "closed")
	if err := os.WriteFile(closed, nil, 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]FileState{folder: Unreadable, pipe: Unreadable, closed: NotPermitted, folder + "/none/x.log": Missing, closed + "/x.log": Unreadable} {
		if path == closed && os.Geteuid() == 0 {
			continue // root may read everything
		}
		f := NewFollower([]string{path}, false)
		f.Poll(noon) // returns
		f.Poll(noon)
		if s := f.Known().Status; s.State != want {
			t.Errorf("%s: %+v, want %s", path, s, want)
		}
		f.Close()
	}
	file, err := openLog(pipe) // had it become a pipe in between: it does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

// A server that was installed in another way writes another file.
func TestOtherPlace(t *testing.T) {
	d := newDesk(t, config(3))
	other := filepath.Join(filepath.Dir(d.path), "ollama.log")
	if err := os.WriteFile(other, []byte(config(7)+cut(9)), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(other, old, old); err != nil {
		t.Fatal(err)
	}
	f := NewFollower([]string{d.path, other}, false)
	defer f.Close()
	f.Poll(noon)
	is(t, "parallel", f.Known().Settings.Parallel, 3)
	// The one that is followed is rotated: the old one is not taken for it.
	if err := os.Rename(d.path, d.path+".1"); err != nil {
		t.Fatal(err)
	}
	f.Poll(noon)
	if s := f.Known(); *s.Settings.Parallel != 3 || s.Status.State != Missing {
		t.Errorf("%+v", s)
	}
	d.write(config(4))
	f.Poll(noon)
	is(t, "parallel", f.Known().Settings.Parallel, 4)
	// The other one goes on.
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(other, later, later); err != nil {
		t.Fatal(err)
	}
	f.Take()
	f.Poll(noon)
	if k := f.Known(); *k.Settings.Parallel != 7 || k.Status.Path != other || len(f.Take()) != 0 {
		t.Errorf("%+v", k.Status)
	}
}

// The settings are found however long ago the server started, and the models of
// its last lines.
func TestLongPast(t *testing.T) {
	filler := strings.Repeat("[GIN] 2026/02/25 - 18:14:21 | 200 |     154.625µs |    192.168.1.10 | GET      \"/api/ps\"\n", 40000) // 3.5 MB
	load := "level=INFO msg=\"starting llama-server\" cmd=\"llama-server --model /m/blobs/sha256-%d -c 8 -np 2\"\n"
	d := newDesk(t, config(1)+filler+strings.Repeat("x", 200)+config(5)+"level=INFO msg=\"Listening on 127.0.0.1:11434 (version 0.32.9)\"\n"+filler+
		fmt.Sprintf(load, 7)+"level=DEBUG msg=\"chat request\" prompt=\"what is server config env= ?\"\n")
	k := d.f.Known()
	is(t, "parallel", k.Settings.Parallel, 1) // the second stands in the middle of a line
	d = newDesk(t, config(1)+filler+config(5)+"level=INFO msg=\"Listening on 127.0.0.1:11434 (version 0.32.9)\"\n"+filler+fmt.Sprintf(load, 7))
	k = d.f.Known()
	is(t, "parallel", k.Settings.Parallel, 5)
	if k.Settings.Version != "0.32.9" || len(k.Loads) != 1 || k.Loads[0].Weights != "/m/blobs/sha256-7" {
		t.Errorf("%+v %+v", k.Settings, k.Loads)
	}
	d.write(cut(1))
	d.is("cut 1")
}

func TestTooMuchAtOnce(t *testing.T) {
	d := newDesk(t, config(3))
	d.write(strings.Repeat(strings.Repeat("a", 99)+"\n", mostBehind/50) + cut(8))
	d.is("cut 8")
	if s := d.f.Known().Status; s.Skipped == 0 {
		t.Errorf("%+v", s)
	}
}

// A prompt in a log of debugging may have any length.
func TestHugeLine(t *testing.T) {
	d := newDesk(t, "")
	huge := "level=DEBUG msg=\"chat request\" prompt=\"" + strings.Repeat("long ", 200000)
	d.write(huge)
	d.is("")
	if n := cap(d.f.line); n > 4*mostLine {
		t.Errorf("%d bytes of a line are kept", n)
	}
	d.write("\"\n" + cut(1))
	d.is("cut 1")
	// What is known of a line that is too long is its beginning.
	d.write(strings.TrimSuffix(cut(2), "\n") + " more=\"" + strings.Repeat("x", 2*mostLine) + "\"\n")
	d.is("cut 2")
}

// Of one request only the newest figures wait.
func TestFiguresAreReplaced(t *testing.T) {
	d := newDesk(t, "")
	for n := range 3000 {
		d.write(fmt.Sprintf("slot print_timing: id  0 | task 5 | n_decoded = %d, tg =   7.39 t/s, tg_3s =   7.39 t/s\n", n))
	}
	d.f.Poll(noon)
	events := d.f.Take()
	if len(events) != 1 || *events[0].Work.Output != 2999 {
		t.Errorf("%d events", len(events))
	}
	d.write(strings.Repeat(cut(1), 3000))
	d.f.Poll(noon)
	if n := len(d.f.Take()); n != mostEvents {
		t.Errorf("%d events wait", n)
	}
}

// A follower keeps nothing of what people wrote: neither in events nor in itself.
func TestPrivacy(t *testing.T) {
	const secret = "GRANDMOTHER"
	text := `time=2026-08-18T13:17:08.821+08:00 level=DEBUG source=routes.go:1 msg="chat request" images=0 prompt="<|im_start|>user\n` + secret + ` truncating input prompt limit=1 prompt=2 new=3<|im_end|>"
time=2026-08-18T13:17:08.821+08:00 level=TRACE source=server.go:1 msg="completion request" prompt="` + secret + `"
time=2026-08-18T13:17:08.821+08:00 level=WARN msg="truncating input prompt" limit=64 prompt=222 keep=5 new=64 text="` + secret + `"
time=2026-08-18T13:17:08.821+08:00 level=ERROR msg="unexpected ` + secret + `" error="` + secret + ` V cache quantization requires flash_attn"
srv  params_from_: prompt: ` + secret + `
slot   operator(): id  0 | task 7 | new prompt, n_ctx_slot = 8192, n_keep = 4, task.n_tokens = 9, text = ` + secret + `
llama_kv_cache: ` + secret + ` KV buffer size = 9.00 MiB
[GIN] 2026/08/18 - 13:17:14 | 200 | 1.5ms | 127.0.0.1 | POST "/api/chat?q=` + secret + `"
` + secret + ` at the end of a line without an end, ` + secret
	d := newDesk(t, "")
	d.write(text)
	d.f.Poll(noon)
	events := d.f.Take()
	if kinds(events) != "truncated cache_refused answered" {
		t.Errorf("%s", kinds(events))
	}
	for _, e := range events {
		if s := deep(reflect.ValueOf(e)); strings.Contains(s, secret) {
			t.Errorf("an event has it: %s", s)
		}
		if l, ok := e.Line("ollama"); ok && strings.Contains(deep(reflect.ValueOf(l)), secret) {
			t.Errorf("a line has it: %+v", l)
		}
	}
	d.write("\n")
	d.f.Poll(noon)
	if s := deep(reflect.ValueOf(d.f).Elem().FieldByName("parser")); strings.Contains(s, secret) {
		t.Errorf("the parser has it: %s", s)
	}
	if bytes.Contains(d.f.line[:cap(d.f.line)], []byte(secret)) {
		t.Error("the line's buffer has it")
	}
	value, _ := DecodeRecorded([]byte(text))
	if s := deep(reflect.ValueOf(value)); strings.Contains(s, secret) {
		t.Errorf("a decoded recording has it: %s", s)
	}
}

// deep writes every text and number behind a value.
func deep(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return ""
		}
		return deep(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return ""
		}
		var s []string
		for _, field := range v.Fields() {
			s = append(s, deep(field))
		}
		return strings.Join(s, " ")
	case reflect.Slice, reflect.Map:
		var s []string
		for k, e := range v.Seq2() {
			s = append(s, deep(k), deep(e))
		}
		return strings.Join(s, " ")
	}
	return fmt.Sprint(v)
}

// FuzzParts: however a log is cut into reads, it tells the same.
func FuzzParts(f *testing.F) {
	f.Add(recorded(f, "debug-too-large.log"), uint8(3))
	f.Add(cut(1)+"\n\r\n"+cut(2)+"x", uint8(1))
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		whole, parts := &Follower{}, &Follower{}
		whole.take([]byte(text), noon)
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			parts.take(rest[:n], noon)
			rest = rest[n:]
		}
		if a, b := whole.Take(), parts.Take(); !reflect.DeepEqual(a, b) {
			t.Errorf("%v at once, %v in parts", a, b)
		}
	})
}

func BenchmarkPollWithoutNews(b *testing.B) {
	path := filepath.Join(b.TempDir(), "server.log")
	if err := os.WriteFile(path, []byte(config(1)), 0o644); err != nil {
		b.Fatal(err)
	}
	f := NewFollower([]string{path, path + ".2", path + ".3"}, false)
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		f.Poll(noon)
	}
}

func BenchmarkLine(b *testing.B) {
	lines := strings.Split(recorded(b, "debug-too-large.log"), "\n")
	p := &Parser{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Line(lines[i%len(lines)], noon)
	}
}
