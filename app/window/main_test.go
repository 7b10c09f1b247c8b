package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

func TestParse(t *testing.T) {
	words := view.In("zh")
	o, err := parse([]string{"--socket", "/s", "--page", "settings", "--picture", "p.png", "--lang", "zh", "--update", "u.jsonl", "--dark"}, words, io.Discard)
	if err != nil || o.socket != "/s" || o.page != pageSettings || o.still.file != "p.png" || o.still.language != "zh" || o.still.updates != "u.jsonl" || !o.still.dark || o.still.scale != 2 {
		t.Errorf("parsed %+v, %v", o, err)
	}
	if o, err := parse([]string{"--page", "overview"}, words, io.Discard); err != nil || o.page != pageOverview {
		t.Errorf("overview: %+v, %v", o, err)
	}
	for _, bad := range [][]string{{"--page", "other"}, {"rest"}, {"--no-such-flag"}} {
		var out bytes.Buffer
		if _, err := parse(bad, words, &out); err == nil || out.Len() == 0 {
			t.Errorf("%v: error %v, told %q", bad, err, out.String())
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"--help"}, words, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), words.Text("window.usage")) {
		t.Errorf("--help: %v\n%s", err, help.String())
	}
}

func TestPictureFromARecording(t *testing.T) {
	folder := t.TempDir()
	recording, file := filepath.Join(folder, "r.jsonl"), filepath.Join(folder, "p.png")
	var lines bytes.Buffer
	for _, u := range course(swapping()) {
		if err := json.NewEncoder(&lines).Encode(u); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(recording, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		how := still{file: file, updates: recording, language: "zh", scale: 1.5, whole: whole}
		if err := shoot(options{still: how}); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(in)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds().Size()
		if size.X != 630 || !whole && size.Y != 960 || whole && size.Y < 1200 {
			t.Errorf("whole %v: the picture is %v", whole, size)
		}
		if n := colours(img); n < 100 {
			t.Errorf("the picture has only %d colours", n)
		}
	}
}

func TestPictureNeedsAnUpdate(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "p.png")
	for name, o := range map[string]options{
		"empty":    {still: still{file: file, updates: empty}},
		"missing":  {still: still{file: file, updates: filepath.Join(folder, "no")}},
		"no agent": {socket: filepath.Join(folder, "a.sock"), still: still{file: file}},
	} {
		if err := shoot(o); err == nil {
			t.Errorf("%s: a picture was made of nothing", name)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a picture was left behind")
	}
}

func TestAgentSocket(t *testing.T) {
	t.Setenv("PLIMSOLL_SOCKET", "/run/mine/agent.sock")
	if path, startable, err := agentSocket(""); err != nil || path != "/run/mine/agent.sock" || !startable {
		t.Errorf("the usual socket: %s, %v, %v", path, startable, err)
	}
	if path, startable, err := agentSocket("/run/demo.sock"); err != nil || path != "/run/demo.sock" || startable {
		t.Errorf("a named socket: %s, %v, %v; no agent may be started there", path, startable, err)
	}
	var coded *api.Error
	if _, _, err := agentSocket("/" + strings.Repeat("x", 200)); !errors.As(err, &coded) || coded.Code() != "path_too_long" {
		t.Errorf("a long path: %v", err)
	}
}
