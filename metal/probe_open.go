package metal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OpenRecording opens what Recording.Files made and has its decoders run, see
// Replay.
func OpenRecording(dir fs.FS) (*Recording, error) {
	return openRecording(func(name string) ([]byte, error) {
		info, err := fs.Stat(dir, name)
		if err != nil {
			return nil, err
		}
		if info.Size() > mostFileBytes {
			return nil, fmt.Errorf("%s has %d bytes", name, info.Size())
		}
		return fs.ReadFile(dir, name)
	})
}

// mostRounds and mostFileBytes bound what is opened.
const (
	mostRounds    = 64
	mostFileBytes = 64 << 20
)

func openRecording(read func(name string) ([]byte, error)) (*Recording, error) {
	c, files, err := openManifest(read)
	if err == nil {
		switch c.System {
		case "darwin":
			err = c.openMac(files)
		case "linux":
			err = c.openSystem(files)
		default:
			err = fmt.Errorf("system %q: %w", c.System, ErrUnsupported)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	return c, nil
}

// openManifest reads the manifest and, by it, all other files.
func openManifest(read func(name string) ([]byte, error)) (*Recording, map[string][]byte, error) {
	text, err := read(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("it has no %s: %w", manifestFile, errIncomplete)
	}
	if err != nil {
		return nil, nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", manifestFile, err)
	}
	switch {
	case m.Format != recordingFormat:
		return nil, nil, fmt.Errorf("its format is %d, and this version reads %d: %w", m.Format, recordingFormat, ErrUnsupported)
	case len(m.Rounds) == 0 || len(m.Rounds) > mostRounds || !slices.IsSorted(m.Rounds) || m.Rounds[0] < 0:
		return nil, nil, fmt.Errorf("its rounds make no sense: %w", errIncomplete)
	}
	files := map[string][]byte{}
	for name, sum := range m.Files {
		data, err := read(name)
		if err != nil {
			return nil, nil, err
		}
		if fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
			return nil, nil, fmt.Errorf("%s is not what was recorded: %w", name, errIncomplete)
		}
		files[name] = data
	}
	c := &Recording{System: m.System, Taken: m.Taken, at: m.Rounds, costs: map[string][]time.Duration{}, failed: map[string]error{}}
	for name, us := range m.Costs {
		c.costs[name] = []time.Duration{time.Duration(us * 1e3)}
	}
	return c, files, nil
}

// openMac lets a Mac's reader run through all rounds and leaves it in the last.
func (c *Recording) openMac(files map[string][]byte) error {
	p := &played{taken: c.Taken, at: c.at, rounds: make([]map[string]map[string]answer, len(c.at))}
	for i := range p.rounds {
		p.rounds[i] = map[string]map[string]answer{}
	}
	for name, text := range files {
		number, file, _ := strings.Cut(strings.TrimPrefix(name, "raw/"), "/")
		i, err := strconv.Atoi(number)
		if !strings.HasPrefix(name, "raw/") || err != nil || i < 0 || i >= len(p.rounds) {
			continue
		}
		var answers map[string]answer
		if err := json.Unmarshal(text, &answers); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		p.rounds[i][strings.TrimSuffix(file, ".json")] = answers
	}
	reader := newMac(p, p, p.now)
	c.reader = reader
	for i := range p.rounds {
		p.round = i
		for file, answers := range p.rounds[i] {
			for key, a := range answers {
				c.recordedFailure(file, key, a)
			}
		}
		c.rounds = append(c.rounds, readAll(reader, i == len(p.rounds)-1, func(string, time.Duration, error) {}))
	}
	return nil
}

// recordedFailure notes why a question had no answer, under the name it has live.
func (c *Recording) recordedFailure(file, key string, a answer) {
	name := key
	switch {
	case file == fileProcess:
		return
	case file == fileSysctl:
		name = "sysctl " + key
	case file == fileNotify:
		name = "notify " + key
	case file == fileRegistry && key != askAccelerators:
		name = "IORegistry " + key
	}
	delete(c.failed, name)
	if a.Error != "" {
		c.failed[name] = &recordedError{key, a.Error, a.Detail}
	}
}
