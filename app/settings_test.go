package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

func TestSettingsPath(t *testing.T) {
	for _, c := range []struct{ goos, home, config, want string }{
		{"darwin", "/Users/a", "/x", "/Users/a/Library/Application Support/Plimsoll/settings.json"},
		{"linux", "/home/a", "/x", "/x/plimsoll/settings.json"},
		{"linux", "/home/a", "relative", "/home/a/.config/plimsoll/settings.json"},
		{"linux", "/home/a", "", "/home/a/.config/plimsoll/settings.json"},
		{"linux", "", "", ""},
	} {
		got, err := settingsPath(c.goos, c.home, func(string) string { return c.config })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsKeepWhatTheyDoNotKnow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "settings.json")
	write(t, path, `{"language": "zh", "quiet": true, "from_the_future": {"a": [1, 2]}}`)
	file, aside, problem := openSettings(path)
	if problem != nil || aside != "" || file.get() != (api.Settings{Language: "zh", Quiet: true}) {
		t.Fatalf("read %+v, %q, %v", file.get(), aside, problem)
	}
	if err := file.set(api.Settings{HotCelsius: new(92.5)}); err != nil {
		t.Fatal(err)
	}
	if again, _, err := readSettings(path); err != nil || !again.Same(api.Settings{HotCelsius: new(92.5)}) {
		t.Errorf("read again %+v, %v, want the temperature", again, err)
	}
	if err := file.set(api.Settings{Server: "mini:11434"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if all["from_the_future"] == nil || all["server"] != "mini:11434" || all["language"] != nil || all["quiet"] != nil || all["hot_celsius"] != nil {
		t.Errorf("stored %s", text)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("beside the settings lie %q", left)
	}
}

func TestSettingsThatCannotBeUnderstoodAreKept(t *testing.T) {
	for name, text := range map[string]string{
		"cut": `{"language": "z`, "no object": `[]`, "wrong kind": `{"quiet": "yes"}`, "empty": "",
		"no such language": `{"language": "xx"}`, "no address": `{"server": "http://["}`,
		"no temperature of a chip": `{"hot_celsius": 900}`, "no temperature": `{"hot_celsius": "warm"}`,
	} {
		path := filepath.Join(t.TempDir(), "settings.json")
		write(t, path, text)
		write(t, path+".bad", "an older one")
		file, aside, problem := openSettings(path)
		if problem == nil || aside != path+".bad2" || file.get() != (api.Settings{}) {
			t.Errorf("%s: %+v, aside %q, %v", name, file.get(), aside, problem)
		}
		if kept, err := os.ReadFile(aside); err != nil || string(kept) != text {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
		if err := file.set(api.Settings{Quiet: true}); err != nil {
			t.Errorf("%s: storing afterwards: %v", name, err)
		}
		if again, _, err := readSettings(path); err != nil || !again.Quiet {
			t.Errorf("%s: read again %+v, %v", name, again, err)
		}
	}
}

func TestSettingsThroughALinkStayThere(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, "settings.json")
	write(t, real, "{}")
	if err := os.Symlink("dotfiles.json", link); err != nil {
		t.Fatal(err)
	}
	file, _, _ := openSettings(link)
	if err := file.set(api.Settings{Quiet: true}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(real); !strings.Contains(string(text), "quiet") {
		t.Errorf("the file behind the link holds %q", text)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

func TestSettingsThatCannotBeStoredStayAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	file := &settingsFile{path: filepath.Join(dir, "file", "settings.json")}
	if err := file.set(api.Settings{Quiet: true}); err == nil {
		t.Error("storing below a file succeeded")
	}
	if file.get().Quiet {
		t.Error("settings are in force that were not stored")
	}
}

func TestAnAgentTakesSettingsAtOnce(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	client := api.Dial(socket)
	for _, bad := range []api.Settings{{Language: "de"}, {Server: "http://["}, {Log: "server.log"}} {
		if err := client.SetSettings(t.Context(), bad); !errors.Is(err, api.Failure("bad_settings", "", nil)) {
			t.Errorf("%+v: %v, want bad_settings", bad, err)
		}
	}
	for _, bad := range []float64{-1, 0, 39.9, 120.1, 1e300} {
		err := client.SetSettings(t.Context(), api.Settings{HotCelsius: &bad})
		if !errors.Is(err, api.Failure("bad_hot", "", nil)) {
			t.Errorf("%v °C: %v, want bad_hot", bad, err)
		}
		has(t, "in English", view.In("en").Error(err), "40 to 120 °C")
		has(t, "in Chinese", view.In("zh").Error(err), "40 到 120 °C")
	}
	for _, good := range []float64{40, 95, 120} {
		if err := client.SetSettings(t.Context(), api.Settings{HotCelsius: &good}); err != nil {
			t.Errorf("%v °C: %v", good, err)
		}
		if got, err := client.Settings(t.Context()); err != nil || !got.Same(api.Settings{HotCelsius: &good}) {
			t.Errorf("settings are %+v, %v, want %v °C", got, err, good)
		}
	}
	if err := client.SetSettings(t.Context(), api.Settings{Language: "zh"}); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Settings(t.Context()); err != nil || got != (api.Settings{Language: "zh"}) {
		t.Errorf("settings are %+v, %v", got, err)
	}
	if err := client.OpenWindow(t.Context(), "elsewhere"); !errors.Is(err, api.Failure("bad_request", "", nil)) {
		t.Errorf("a page that is none: %v", err)
	}
}

// The sentence about a temperature that is refused names the numbers themselves.
func TestPlausibleTemperatures(t *testing.T) {
	if monitor.HotLeast != 40 || monitor.HotMost != 120 {
		t.Errorf("the bounds are %v and %v; error.bad_hot says 40 and 120", monitor.HotLeast, monitor.HotMost)
	}
	if plausibleHot(math.NaN()) || plausibleHot(math.Inf(1)) {
		t.Error("what is no number is a temperature")
	}
}
