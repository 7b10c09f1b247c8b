package metal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"plimsoll/metal/internal/iokit"
)

// Replay opens a recording that Recording.Files wrote, as a machine that stands
// still: the decoders of a Mac run over its raw bytes on any system, those of
// Linux on Linux only. It fails for a folder that is no recording, is not complete
// or was changed.
func Replay(dir fs.FS) (Reader, error) {
	c, err := OpenRecording(dir)
	if err != nil {
		return nil, err
	}
	return c.reader, nil
}

// played is a Mac that answers what it answered once. It implements macSystem and
// macHardware.
type played struct {
	taken  time.Time
	at     []time.Duration // of each round
	rounds []map[string]map[string]answer
	round  int // now
}

// answer is one answer as it is written: bytes, a value, or why there is none.
type answer struct {
	Hex    *hexBytes       `json:"hex,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
	Detail string          `json:"detail,omitempty"`
}

// rewound is the same recording at its first round, for another reader.
func (p *played) rewound() *played {
	return &played{taken: p.taken, at: p.at, rounds: p.rounds}
}

// step goes to round i of n that are asked for: the last stays the last.
func (p *played) step(i, n int) {
	p.round = min(i, len(p.rounds)-1)
	if i == n-1 {
		p.round = len(p.rounds) - 1
	}
}

func (p *played) now() time.Time { return p.taken.Add(p.at[p.round]) }

// find finds an answer: of this round, else the newest before it, else the first
// after it. Samples of IOReport count from one to the next and belong to their
// round alone.
func (p *played) find(file, key string) (answer, error) {
	try := func(i int) (answer, bool) { a, ok := p.rounds[i][file][key]; return a, ok }
	a, ok := try(p.round)
	if key != askDelta {
		for i := p.round - 1; i >= 0 && !ok; i-- {
			a, ok = try(i)
		}
		for i := p.round + 1; i < len(p.rounds) && !ok; i++ {
			a, ok = try(i)
		}
	}
	switch {
	case !ok:
		return a, fmt.Errorf("%s: %w: %w", key, errNotRecorded, ErrUnsupported)
	case a.Error != "":
		return a, &recordedError{key, a.Error, a.Detail}
	}
	return a, nil
}

var errNotRecorded = errors.New("not in the recording")

// The kinds of errors that are told apart, as they are written.
var errorKinds = []struct {
	word string
	err  error
}{
	{"no_key", iokit.ErrNoKey}, {"missing", iokit.ErrMissing}, {"unsupported", ErrUnsupported},
	{"not_permitted", ErrNotPermitted}, {"no_process", ErrNoProcess},
}

// recordedError is an error that was recorded.
type recordedError struct{ key, kind, detail string }

func (e *recordedError) Error() string { return e.key + ": " + e.detail }

func (e *recordedError) Unwrap() error {
	for _, k := range errorKinds {
		if k.word == e.kind {
			return k.err
		}
	}
	return nil
}

func errorWord(err error) string {
	for _, k := range errorKinds {
		if errors.Is(err, k.err) {
			return k.word
		}
	}
	return "failed"
}

// bytes and value give what a question was answered with.
func (p *played) bytes(file, key string) ([]byte, error) {
	a, err := p.find(file, key)
	if err != nil {
		return nil, err
	}
	if a.Hex == nil {
		return nil, fmt.Errorf("%s: the recording has no bytes", key)
	}
	return append([]byte(nil), *a.Hex...), nil
}

func playedValue[T any](p *played, file, key string) (T, error) {
	var v T
	a, err := p.find(file, key)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(a.Value, &v); err != nil {
		return v, fmt.Errorf("%s: reading the recording: %w", key, err)
	}
	return v, nil
}

func (p *played) Sysctl(name string, args ...int) ([]byte, error) {
	file, key := fileSysctl, name
	for _, a := range args {
		file, key = fileProcess, key+fmt.Sprintf(" %d", a)
	}
	if name == "kern.proc.all" {
		file = fileProcess
	}
	b, err := p.bytes(file, key)
	if err != nil && name == "kern.proc.pid" && len(args) == 1 {
		return p.kinfo(args[0])
	}
	return b, err
}

// kinfo is one process of the list, no bytes when it has none.
func (p *played) kinfo(pid int) ([]byte, error) {
	b, err := p.bytes(fileProcess, "kern.proc.all")
	for ; len(b) >= kinfoBytes; b = b[kinfoBytes:] {
		if k := decodeKinfo(b); k.pid == pid {
			return b[:kinfoBytes], nil
		}
	}
	return nil, err
}

func (p *played) VMStatistics() ([]byte, error) { return p.bytes(fileHost, askStatistics) }
func (p *played) PageSize() (uint64, error)     { return playedValue[uint64](p, fileHost, askPage) }

func (p *played) Timebase() (uint32, uint32, error) {
	pair, err := playedValue[[2]uint32](p, fileHost, askTimebase)
	return pair[0], pair[1], err
}

func (p *played) Usage(pid int) ([]byte, error) {
	return p.bytes(fileProcess, fmt.Sprintf("%s %d", askUsage, pid))
}

func (p *played) Path(pid int) (string, error) {
	return playedValue[string](p, fileProcess, fmt.Sprintf("%s %d", askPath, pid))
}

func (p *played) Accelerators() ([]iokit.Accelerator, error) {
	return playedValue[[]iokit.Accelerator](p, fileRegistry, askAccelerators)
}

func (p *played) ServiceProperty(service, property string) ([]byte, error) {
	return p.bytes(fileRegistry, service+" "+property)
}

func (p *played) GPUTimes() (map[int]uint64, error) {
	return playedValue[map[int]uint64](p, fileProcess, askClients)
}

func (p *played) HIDTemperatures() ([]iokit.Sensor, error) {
	return playedValue[[]iokit.Sensor](p, fileHID, askHID)
}

func (p *played) Device() (*iokit.Device, error) {
	return playedValue[*iokit.Device](p, fileMetal, askDevice)
}

func (p *played) ThermalState() (int64, error) { return playedValue[int64](p, fileInfo, askState) }
func (p *played) LowPowerMode() (bool, error)  { return playedValue[bool](p, fileInfo, askLowPower) }

func (p *played) NotifyState(key string) (uint64, error) {
	return playedValue[uint64](p, fileNotify, key)
}

func (p *played) ProvidingPowerSource() (string, error) {
	return playedValue[string](p, filePower, askSource)
}

func (p *played) Keys() (smcKeys, error) {
	if _, err := p.find(fileSMC, askKeys); err != nil {
		return nil, err
	}
	return playedKeys{p}, nil
}

func (p *played) Report(...iokit.Channel) (deltas, error) {
	if _, err := p.find(fileReport, askReport); err != nil {
		return nil, err
	}
	return playedDeltas{p}, nil
}

type playedDeltas struct{ p *played }

func (d playedDeltas) Delta() ([]iokit.Entry, error) {
	return playedValue[[]iokit.Entry](d.p, fileReport, askDelta)
}

type playedKeys struct{ p *played }

func (k playedKeys) Count() (int, error) { return playedValue[int](k.p, fileSMC, "count") }

func (k playedKeys) KeyAt(i int) (string, error) {
	return playedValue[string](k.p, fileSMC, fmt.Sprintf("at %d", i))
}

func (k playedKeys) Info(key string) (string, int, error) {
	v, err := playedValue[smcInfo](k.p, fileSMC, "info "+key)
	return v.Type, v.Size, noKey(err)
}

func (k playedKeys) Read(key string) (string, []byte, error) {
	v, err := playedValue[smcValue](k.p, fileSMC, "read "+key)
	return v.Type, v.Hex, noKey(err)
}

// noKey says of a key that was not recorded what the SMC says of one it has not.
func noKey(err error) error {
	if errors.Is(err, errNotRecorded) {
		return fmt.Errorf("%w: %w", iokit.ErrNoKey, err)
	}
	return err
}
