package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// settingsPath is the file that keeps a person's choices: in the application's
// folder on macOS, else in the user's configuration folder (XDG Base Directory).
func settingsPath(goos, home string, getenv func(string) string) (string, error) {
	config := getenv("XDG_CONFIG_HOME")
	switch {
	case goos == "darwin" && home != "":
		return filepath.Join(home, "Library", "Application Support", "Plimsoll", "settings.json"), nil
	case goos != "darwin" && filepath.IsAbs(config):
		return filepath.Join(config, "plimsoll", "settings.json"), nil
	case goos != "darwin" && home != "":
		return filepath.Join(home, ".config", "plimsoll", "settings.json"), nil
	}
	return "", errors.New("finding the settings: HOME is not set")
}

// readSettings reads the file at path; one that is missing has the defaults.
// rest holds every field as it stands there, also those of another version.
func readSettings(path string) (settings api.Settings, rest map[string]json.RawMessage, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return settings, nil, fmt.Errorf("reading the settings: %s is not a file", path) // a pipe would wait for its writer
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings, nil, nil
	}
	if err != nil {
		return settings, nil, fmt.Errorf("reading the settings: %w", err)
	}
	if err := json.Unmarshal(text, &rest); err != nil {
		return settings, nil, &garbled{path, err}
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return api.Settings{}, nil, &garbled{path, err}
	}
	if err := checkSettings(settings); err != nil {
		return api.Settings{}, nil, &garbled{path, err}
	}
	return settings, rest, nil
}

// garbled is a settings file that says nothing usable.
type garbled struct {
	path  string
	cause error
}

func (g *garbled) Error() string {
	return fmt.Sprintf("reading the settings in %s: %v", g.path, g.cause)
}
func (g *garbled) Unwrap() error { return g.cause }

// checkSettings refuses what could not be put in force.
func checkSettings(s api.Settings) error {
	if s.Language != "" && s.Language != "en" && s.Language != "zh" {
		return api.Failure("bad_settings", fmt.Sprintf("there is no language %q", s.Language), nil)
	}
	if hot := s.HotCelsius; hot != nil && !plausibleHot(*hot) {
		return api.Failure("bad_hot", fmt.Sprintf("a temperature of %v °C", *hot), nil)
	}
	if s.Log != "" && s.Log != api.LogOff && !filepath.IsAbs(s.Log) {
		return api.Failure("bad_settings", fmt.Sprintf("the log %q is no absolute path", s.Log), nil)
	}
	if s.Server == "" {
		return nil
	}
	if _, err := backend.NewOllama(s.Server); err != nil {
		return api.Failure("bad_settings", "the server's address", err)
	}
	return nil
}

// plausibleHot reports a temperature, in °C, that a person may want to be warned
// at. What is no number is none.
func plausibleHot(celsius float64) bool {
	return celsius >= monitor.HotLeast && celsius <= monitor.HotMost
}

// settingsFile is the settings of the running agent and the file they are kept in.
type settingsFile struct {
	path string // "" keeps them in memory alone

	mu    sync.Mutex
	value api.Settings
	rest  map[string]json.RawMessage
}

// openSettings reads the file for an agent. One that cannot be understood is put
// aside under another name, so that nothing in it is lost, and the defaults are
// in force: problem then says what happened. It is nil otherwise.
func openSettings(path string) (file *settingsFile, aside string, problem error) {
	file = &settingsFile{path: path}
	if path == "" {
		return file, "", nil
	}
	file.value, file.rest, problem = readSettings(path)
	if _, ok := errors.AsType[*garbled](problem); !ok {
		return file, "", problem
	}
	aside, err := putAside(path)
	if err != nil {
		return file, "", errors.Join(problem, err)
	}
	return file, aside, problem
}

// putAside renames a file to the first free name with ".bad" at its end.
func putAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := path + ".bad"
		if n > 1 {
			aside += strconv.Itoa(n)
		}
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(path, aside)
		}
	}
}

func (f *settingsFile) get() api.Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value
}

// set stores settings. The file is replaced as a whole or not at all.
func (f *settingsFile) set(s api.Settings) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path != "" {
		text, err := merged(f.rest, s)
		if err == nil {
			err = replaceFile(f.path, text)
		}
		if err != nil {
			return fmt.Errorf("storing the settings: %w", err)
		}
	}
	f.value = s
	return nil
}

// merged puts settings into a copy of the fields that the file had, and leaves
// those alone that this version does not know.
func merged(rest map[string]json.RawMessage, s api.Settings) ([]byte, error) {
	all := map[string]json.RawMessage{}
	for name, value := range rest {
		if name != "language" && name != "server" && name != "log" && name != "quiet" && name != "hot_celsius" {
			all[name] = value
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	text, err = json.MarshalIndent(all, "", "  ")
	return append(text, '\n'), err
}

// replaceFile writes a file beside path and renames it over path, which may be a
// link to where the person keeps such files.
func replaceFile(path string, text []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Sync()
	}
	if closing := temp.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
