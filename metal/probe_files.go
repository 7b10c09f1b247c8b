package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A recording on disk:
//
//	manifest.json        what it is of, when, what each question cost, and the sum of every file
//	raw/0/sysctl.json    what was asked in round 0 and what was told: {"hw.memsize": {"hex": "…"}}
//	raw/proc/meminfo     on Linux the files themselves
//	decoded/memory.json  what the decoders make of it, as Replay gives it
//	tools/…              what the system's tools printed, if the caller adds it

// manifestFile is written last: without it a recording is not complete.
const manifestFile = "manifest.json"

// recordingFormat is the version of all this.
const recordingFormat = 1

// Manifest is what a recording says about itself.
type Manifest struct {
	Format int `json:"format"`
	// Program is who recorded and on what, "plimsoll 0.1.0 (darwin/arm64)".
	Program string `json:"program"`
	System  string `json:"system"`
	// Chip, Model and OS are those of Machine.
	Chip  string    `json:"chip,omitzero"`
	Model string    `json:"model,omitzero"`
	OS    string    `json:"os,omitzero"`
	Taken time.Time `json:"taken"`
	// Rounds are the times of the rounds since Taken, in nanoseconds.
	Rounds []time.Duration `json:"rounds_ns"`
	// LeftOut counts the processes that were not recorded.
	LeftOut int `json:"processes_left_out"`
	// Costs are the medians of what each question cost, in microseconds.
	Costs map[string]float64 `json:"cost_us"`
	// Files are the SHA-256 of all other files.
	Files map[string]string `json:"files"`
}

// hexBytes are bytes as JSON writes them here.
type hexBytes []byte

func (h hexBytes) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(h)) }

func (h *hexBytes) UnmarshalJSON(text []byte) error {
	var digits string
	if err := json.Unmarshal(text, &digits); err != nil {
		return err
	}
	b, err := hex.DecodeString(digits)
	*h = b
	return err
}

// Files are the files of a recording by their names, with what identifies a person
// or a machine taken out; secrets are the names of the user and of the machine.
// More are files of the caller's, such as what tools printed, already scrubbed.
// program is the name and version of the caller. It fails with ErrUnsupported for
// a Reader that is no machine.
func (c *Recording) Files(program string, more map[string][]byte, secrets ...string) (map[string][]byte, error) {
	files := map[string][]byte{}
	var left int
	var err error
	switch {
	case c.mac != nil:
		c.mac.readKeys()
		left, err = c.macFiles(files, secrets)
	default:
		left, err = c.systemFiles(files)
	}
	if err != nil {
		return nil, fmt.Errorf("recording the machine: %w", err)
	}
	m := Manifest{Format: recordingFormat, Program: program + " (" + architecture() + ")", System: c.System,
		Taken: c.Taken.UTC().Round(0), Rounds: c.at, LeftOut: left, Costs: map[string]float64{}, Files: map[string]string{}}
	for name := range c.costs {
		if cost, ok := c.Cost(name); ok {
			m.Costs[name] = float64(cost.Nanoseconds()) / 1e3
		}
	}
	if machine := valueIn[Machine](c, sectionMachine); machine != nil {
		m.Chip, m.Model, m.OS = Scrub(machine.Chip, secrets...), Scrub(machine.Model, secrets...), Scrub(machine.OS, secrets...)
	}
	maps.Copy(files, more)
	if err := m.close(files); err != nil {
		return nil, err
	}
	// What the decoders make of it belongs to it, and only what was written counts.
	again, err := openRecording(func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	})
	if err != nil {
		return nil, fmt.Errorf("reading back what was recorded: %w", err)
	}
	for _, s := range again.rounds[len(again.rounds)-1] {
		files["decoded/"+s.name+".json"] = encoded(s)
	}
	return files, m.close(files)
}

// close sums the files up.
func (m *Manifest) close(files map[string][]byte) error {
	clear(m.Files)
	for name, data := range files {
		if name != manifestFile {
			m.Files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		}
	}
	text, err := json.MarshalIndent(m, "", "  ")
	files[manifestFile] = append(text, '\n')
	return err
}

// encoded is a section as JSON, or why there is none.
func encoded(s section) []byte {
	v := s.value
	if s.err != nil {
		v = map[string]string{"error": errorWord(s.err)}
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		text = []byte("null")
	}
	return append(text, '\n')
}

// macFiles writes what passed through the recorder.
func (c *Recording) macFiles(files map[string][]byte, secrets []string) (left int, err error) {
	r := &redactor{}
	if list, ok := c.last(sectionProcesses).value.([]Process); ok {
		left = r.choose(list)
	}
	for i, asked := range c.mac.rounds {
		for file, all := range asked {
			answers := map[string]answer{}
			for key, t := range all {
				if a, ok := r.answer(file, key, t, secrets); ok {
					answers[key] = a
				}
			}
			if len(answers) == 0 {
				continue
			}
			text, err := lines(answers)
			if err != nil {
				return left, fmt.Errorf("writing %s: %w", file, err)
			}
			files[fmt.Sprintf("raw/%d/%s.json", i, file)] = text
		}
	}
	return left, nil
}

// answer is what may be written of an answer; false for what is left out.
func (r *redactor) answer(file, key string, t answered, secrets []string) (answer, bool) {
	name, pid, ofProcess := strings.Cut(key, " ")
	if n, err := strconv.Atoi(pid); file == fileProcess && ofProcess && err == nil && !r.keep[n] {
		return answer{}, false
	}
	if t.err != nil {
		return answer{Error: errorWord(t.err), Detail: Scrub(t.err.Error(), secrets...)}, true
	}
	switch b, _ := t.value.([]byte); {
	case file == fileSysctl && key == "kern.bootsessionuuid":
		return bytesAnswer([]byte(noUUID + "\x00")), true
	case file == fileSysctl:
		return bytesAnswer(b), publicSysctl(key)
	case key == "kern.proc.all":
		return bytesAnswer(r.kinfos(b)), true
	case name == "kern.procargs2":
		return bytesAnswer(r.procargs(b)), true
	case name == askUsage:
		return bytesAnswer(usageWithoutUUID(b)), true
	case name == askPath:
		executable, _ := t.value.(string)
		return valueAnswer(r.path(executable))
	case key == askClients:
		times, _ := t.value.(map[int]uint64)
		times = maps.Clone(times)
		maps.DeleteFunc(times, func(pid int, _ uint64) bool { return !r.keep[pid] })
		return valueAnswer(times)
	case file == fileProcess:
		return answer{}, false
	case file == fileRegistry && key != askAccelerators:
		return bytesAnswer(b), strings.HasPrefix(key, "pmgr voltage-states")
	case file == fileNotify:
		a, ok := valueAnswer(t.value)
		return a, ok && strings.HasPrefix(key, "com.apple.system.")
	case file == fileSMC:
		if smcName, ok := strings.CutPrefix(key, "read "); ok && !publicKey(smcName) {
			return answer{}, false
		}
	case b != nil:
		return bytesAnswer(b), file == fileHost
	}
	a, ok := valueAnswer(t.value)
	a.Value = json.RawMessage(Scrub(string(a.Value), secrets...))
	return a, ok && json.Valid(a.Value)
}

// lines is a JSON object with one answer a line.
func lines(answers map[string]answer) ([]byte, error) {
	text := []byte("{")
	for i, key := range slices.Sorted(maps.Keys(answers)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		a, err := json.Marshal(answers[key])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(append(text, "\n  "...), name...), ": "...), a...)
	}
	return append(text, "\n}\n"...), nil
}

func bytesAnswer(b []byte) answer { h := hexBytes(b); return answer{Hex: &h} }

func valueAnswer(v any) (answer, bool) {
	text, err := json.Marshal(v)
	return answer{Value: text}, err == nil
}
