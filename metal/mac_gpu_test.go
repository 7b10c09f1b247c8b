package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"testing"
	"time"

	"plimsoll/metal/internal/iokit"
)

// bench is a Mac's GPU whose answers are given. What is nil cannot be read.
type bench struct {
	accelerators []iokit.Accelerator
	properties   map[string][]byte
	times        map[int]uint64
	hid          []iokit.Sensor
	device       *iokit.Device
	state, level any // int64 and uint64
	low          any // bool
	source       string
	keys         *keyBench
	deltas       [][]iokit.Entry // one for each call of Delta but the first
	subscribed   []iokit.Channel
	asked        map[string]int
}

// keyBench are the keys of an SMC, in order when they are asked by index.
type keyBench struct {
	values map[string]float32
	kinds  map[string]string // of keys that are no "flt "
	order  []string
	asked  map[string]int
}

var errMissing = fmt.Errorf("closed: %w", iokit.ErrMissing)

func (b *bench) ask(what string) { b.asked[what]++ }

func (b *bench) Accelerators() ([]iokit.Accelerator, error) {
	b.ask("accelerators")
	if b.accelerators == nil {
		return nil, errMissing
	}
	return b.accelerators, nil
}

func (b *bench) ServiceProperty(service, property string) ([]byte, error) {
	b.ask("property")
	if p := b.properties[service+" "+property]; p != nil {
		return p, nil
	}
	return nil, errMissing
}

func (b *bench) GPUTimes() (map[int]uint64, error) {
	b.ask("times")
	if b.times == nil {
		return nil, errMissing
	}
	return b.times, nil
}

func (b *bench) HIDTemperatures() ([]iokit.Sensor, error) {
	b.ask("hid")
	if b.hid == nil {
		return nil, errMissing
	}
	return b.hid, nil
}

func (b *bench) Device() (*iokit.Device, error) {
	b.ask("device")
	if b.device == nil {
		return nil, errMissing
	}
	return new(*b.device), nil
}

func (b *bench) ThermalState() (int64, error) {
	b.ask("state")
	if b.state == nil {
		return 0, errMissing
	}
	return b.state.(int64), nil
}

func (b *bench) NotifyState(key string) (uint64, error) {
	b.ask(key)
	if b.level == nil {
		return 0, errClosed
	}
	return b.level.(uint64), nil
}

func (b *bench) LowPowerMode() (bool, error) {
	if b.low == nil {
		return false, errMissing
	}
	return b.low.(bool), nil
}

func (b *bench) ProvidingPowerSource() (string, error) {
	if b.source == "" {
		return "", errClosed
	}
	return b.source, nil
}

func (b *bench) Keys() (smcKeys, error) {
	b.ask("smc")
	if b.keys == nil {
		return nil, errMissing
	}
	return b.keys, nil
}

func (b *bench) Report(only ...iokit.Channel) (deltas, error) {
	b.ask("report")
	b.subscribed = only
	if b.deltas == nil {
		return nil, errMissing
	}
	return &deltaBench{b: b}, nil
}

type deltaBench struct {
	b     *bench
	begun bool
}

func (d *deltaBench) Delta() ([]iokit.Entry, error) {
	d.b.ask("delta")
	if !d.begun {
		d.begun = true
		return nil, nil
	}
	if len(d.b.deltas) == 0 {
		return nil, errClosed
	}
	next := d.b.deltas[0]
	if len(d.b.deltas) > 1 {
		d.b.deltas = d.b.deltas[1:]
	}
	return next, nil
}

func (k *keyBench) Count() (int, error) { return len(k.order), nil }

func (k *keyBench) KeyAt(i int) (string, error) {
	k.asked["at"]++
	if i < 0 || i >= len(k.order) {
		return "", errClosed
	}
	return k.order[i], nil
}

func (k *keyBench) Info(key string) (string, int, error) {
	k.asked["info"]++
	if _, ok := k.values[key]; !ok {
		return "", 0, iokit.ErrNoKey
	}
	if kind := k.kinds[key]; kind != "" {
		return kind, 4, nil
	}
	return "flt ", 4, nil
}

func (k *keyBench) Read(key string) (string, []byte, error) {
	k.asked["read "+key]++
	v, ok := k.values[key]
	if !ok {
		return "", nil, iokit.ErrNoKey
	}
	return "flt ", binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)), nil
}

func keysOf(values map[string]float32) *keyBench {
	k := &keyBench{values: values, kinds: map[string]string{}, asked: map[string]int{}}
	for key := range values {
		k.order = append(k.order, key)
	}
	sort.Strings(k.order)
	return k
}

// ladder of the M5, in Hz and mV; the first step is off.
func ladderBytes(hertz ...uint32) []byte {
	b := append(le32(0), le32(400)...)
	for i, f := range hertz {
		b = append(append(b, le32(f)...), le32(uint32(600+i))...)
	}
	return b
}

// states are the residencies of OFF, P1, P2, ….
func states(residencies ...int64) []iokit.State {
	var all []iokit.State
	for i, n := range residencies {
		name := "OFF"
		if i > 0 {
			name = fmt.Sprintf("P%d", i)
		}
		all = append(all, iokit.State{Name: name, Residency: n})
	}
	return all
}

func steps(residencies ...int64) iokit.Entry {
	return iokit.Entry{Group: "GPU Stats", Subgroup: "GPU Performance States", Name: "GPUPH", States: states(residencies...)}
}

func energy(name, unit string, value int64) iokit.Entry {
	return iokit.Entry{Group: "Energy Model", Name: name, Unit: unit, Value: &value}
}

func newBench() *bench {
	return &bench{
		accelerators: []iokit.Accelerator{{Class: "AGXAcceleratorG17G", Model: "Apple M5", Cores: new(int64(10)), Statistics: map[string]int64{
			"In use system memory (driver)": 0, "In use system memory": 14 << 30, "Alloc system memory": 400 << 30,
			"Device Utilization %": 84, "Renderer Utilization %": 80, "Tiler Utilization %": 3, "recoveryCount": 0,
		}}},
		properties: map[string][]byte{"pmgr voltage-states9": ladderBytes(338000000, 618000000, 796000000, 1182000000, 1182000000, 1578000000)},
		times:      map[int]uint64{4242: 1500000000},
		device:     &iokit.Device{Name: "Apple M5", WorkingSet: 25559 << 20, MaxBuffer: 19169 << 20, Allocated: 12345, Unified: true},
		state:      int64(1), level: uint64(2), low: true, source: "Battery Power",
		keys: keysOf(map[string]float32{
			"Ta1b": 10.4, "Tf14": 99, "Tg0U": 71.5, "Tg0X": 68, "Tg0d": 0, "Tg0g": 9.8, "Tg1Y": 126, "Tp00": 88,
		}),
		deltas: [][]iokit.Entry{{steps(100, 0, 0, 0, 0, 100, 300), energy("GPU Energy", "nJ", 34400000000), energy("GPU SRAM0", "mJ", 1)}},
		asked:  map[string]int{},
	}
}

// desk is a Mac with a GPU and a clock that stands still until it is moved.
type desk struct {
	*mac
	*mini
	bench *bench
	wall  time.Time
	up    time.Duration // awake
}

func newDesk(b *bench) *desk {
	d := &desk{mini: newMini(), bench: b, wall: now}
	d.values["iogpu.wired_limit_mb"] = le32(0)
	d.mac = newMac(d.mini, b, func() time.Time { return d.wall })
	d.mac.awake = func() time.Duration { return d.up }
	return d
}

// after lets time pass, awake, and reads the GPU.
func (d *desk) after(t testing.TB, passed time.Duration) *GPU {
	t.Helper()
	d.wall, d.up = d.wall.Add(passed), d.up+passed
	g, err := d.GPU()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMacGPU(t *testing.T) {
	d := newDesk(newBench())
	want := &GPU{
		Source: "iokit", Name: "Apple M5", Cores: new(10),
		WorkingSet: new(uint64(25559 << 20)), LimitSource: "metal", MaxBuffer: new(uint64(19169 << 20)), WiredLimit: new(uint64(0)),
		InUse: new(uint64(14 << 30)), Utilisation: new(0.84), Renderer: new(0.8), Tiler: new(0.03),
		Temperature: new(71.5), Sensor: "Tg0U", TopClock: new(1578.0), Resets: new(uint64(0)),
	}
	equal(t, "first reading", d.after(t, 0), want)
	want.Clock, want.Requested, want.Power = new((1182.0+3*1578)/4), true, new(17.2)
	equal(t, "second reading", d.after(t, 2*time.Second), want)
	equal(t, "subscribed", d.bench.subscribed, []iokit.Channel{
		{Group: "GPU Stats", Subgroup: "GPU Performance States", Name: "GPUPH"}, {Group: "Energy Model", Name: "GPU"},
	})
	machine, err := d.Machine()
	if err != nil || *machine.Bandwidth != 153e9 {
		t.Errorf("machine %s, %v", show(machine), err)
	}
}

// TestMacGPUFieldsAbsentAlone spoils one source after the other: what is made of
// it goes, and nothing else.
func TestMacGPUFieldsAbsentAlone(t *testing.T) {
	stat := func(key string, n int64) func(*bench) {
		return func(b *bench) { b.accelerators[0].Statistics[key] = n }
	}
	lose := func(key string) func(*bench) { return func(b *bench) { delete(b.accelerators[0].Statistics, key) } }
	measured := []string{"InUse", "Utilisation", "Renderer", "Tiler", "Resets"}
	for _, c := range []struct {
		name   string
		spoil  func(*bench)
		absent []string
	}{
		{"nothing", func(*bench) {}, nil},
		{"accelerator", func(b *bench) { b.accelerators = nil }, append([]string{"Cores"}, measured...)},
		{"cores", func(b *bench) { b.accelerators[0].Cores = nil }, []string{"Cores"}},
		{"statistics", func(b *bench) { b.accelerators[0].Statistics = nil }, measured},
		{"a stub's statistics", func(b *bench) { b.accelerators[0].Statistics = map[string]int64{"vramFreeBytes": 1 << 30} }, measured},
		{"in use", lose("In use system memory"), []string{"InUse"}},
		{"in use 0", stat("In use system memory", 0), []string{"InUse"}},
		{"in use negative", stat("In use system memory", -1), []string{"InUse"}},
		{"utilisation", lose("Device Utilization %"), []string{"Utilisation"}},
		{"impossible utilisation", stat("Device Utilization %", 870), []string{"Utilisation"}},
		{"tiler", lose("Tiler Utilization %"), []string{"Tiler"}},
		{"resets", lose("recoveryCount"), []string{"Resets"}},
		{"ladder", func(b *bench) { b.properties = nil }, []string{"Clock", "Requested", "TopClock"}},
		{"ladder that is too short", func(b *bench) { b.properties["pmgr voltage-states9"] = ladderBytes(338000000) }, []string{"Clock", "Requested"}},
		{"report", func(b *bench) { b.deltas = nil }, []string{"Power", "Clock", "Requested"}},
		{"steps", func(b *bench) { b.deltas[0] = b.deltas[0][1:] }, []string{"Clock", "Requested"}},
		{"off all the time", func(b *bench) { b.deltas[0][0] = steps(500, 0, 0) }, []string{"Clock", "Requested"}},
		{"a step set back", func(b *bench) { b.deltas[0][0] = steps(500, 1, -1) }, []string{"Clock", "Requested"}},
		{"energy", func(b *bench) { b.deltas[0] = b.deltas[0][:1] }, []string{"Power"}},
		{"energy without a value", func(b *bench) { b.deltas[0][1].Value = nil }, []string{"Power"}},
		{"INT64_MIN", func(b *bench) { b.deltas[0][1] = energy("GPU Energy", "nJ", math.MinInt64) }, []string{"Power"}},
		{"energy set back", func(b *bench) { b.deltas[0][1] = energy("GPU Energy", "nJ", -34400000000) }, []string{"Power"}},
		{"energy that stood still", func(b *bench) { b.deltas[0][1] = energy("GPU Energy", "nJ", 0) }, []string{"Power"}},
		{"absurd energy", func(b *bench) { b.deltas[0][1] = energy("GPU Energy", "mJ", 34400000000) }, []string{"Power"}},
		{"energy in a strange unit", func(b *bench) { b.deltas[0][1] = energy("GPU Energy", "pJ", 34400000000) }, []string{"Power"}},
		{"Metal", func(b *bench) { b.device = nil }, []string{"MaxBuffer"}},
		{"max buffer", func(b *bench) { b.device.MaxBuffer = 0 }, []string{"MaxBuffer"}},
		{"sensors", func(b *bench) { b.keys = nil }, []string{"Temperature", "Sensor"}},
		{"sensors that all lie", func(b *bench) { b.keys = keysOf(map[string]float32{"Tg0U": 0, "Tg0X": 9.8, "Tp00": 80}) }, []string{"Temperature", "Sensor"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench()
			c.spoil(b)
			d := newDesk(b)
			d.after(t, 0)
			g := d.after(t, 2*time.Second)
			usual := []string{"Stuck"} // absent when all is well
			want := fieldsOf(reflect.TypeFor[GPU](), append(usual, c.absent...))
			equal(t, "absent fields", absentFields(*g), want)
		})
	}
}

// fieldsOf sorts names as a type has its fields.
func fieldsOf(typ reflect.Type, names []string) []string {
	var sorted []string
	for i := range typ.NumField() {
		if name := typ.Field(i).Name; slices.Contains(names, name) {
			sorted = append(sorted, name)
		}
	}
	return sorted
}

func TestMacGPUNothing(t *testing.T) {
	d := newDesk(&bench{asked: map[string]int{}})
	clear(d.values)
	if g, err := d.GPU(); g != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%s, %v", show(g), err)
	}
	if r, err := d.Thermal(); r != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%s, %v", show(r), err)
	}
	if r, err := d.Power(); r != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%s, %v", show(r), err)
	}
}

// A virtual machine's GPU tells memory and nothing of what it does.
func TestMacGPUOfAVirtualMachine(t *testing.T) {
	d := newDesk(&bench{asked: map[string]int{}, accelerators: []iokit.Accelerator{{Class: "AppleParavirtGPU", Statistics: map[string]int64{
		"Alloc system memory": 39108608, "In use system memory": 50103936, "In use system memory (driver)": 50103936, "recoveryCount": 0,
	}}}})
	d.values["machdep.cpu.brand_string"] = []byte("Apple M1 (Virtual)\x00")
	equal(t, "GPU", d.after(t, 0), &GPU{
		Source: "iokit", Name: "Apple M1 (Virtual)", WiredLimit: new(uint64(0)), InUse: new(uint64(50103936)), Resets: new(uint64(0)),
	})
	m, err := d.Machine()
	if err != nil || m.Generation != "M1" || m.Bandwidth != nil || m.BandwidthCertain != nil {
		t.Errorf("machine %s, %v", show(m), err)
	}
}

// Of two accelerators it is the one that tells something.
func TestMacGPUOfTwo(t *testing.T) {
	b := newBench()
	b.accelerators = append([]iokit.Accelerator{{Class: "IntelAccelerator", Statistics: map[string]int64{"vramFreeBytes": 1}}}, b.accelerators[0])
	if g := newDesk(b).after(t, 0); g.Name != "Apple M5" || *g.InUse != 14<<30 {
		t.Errorf("%s", show(g))
	}
}

// The chip's bandwidth is decided by the GPU's cores, also when these are told late.
func TestMacBandwidthFollowsTheCores(t *testing.T) {
	b := newBench()
	cores := b.accelerators
	cores[0].Cores = new(int64(40))
	b.accelerators = nil
	d := newDesk(b)
	d.values["machdep.cpu.brand_string"] = []byte("Apple M5 Max\x00")
	bandwidth := func() (float64, bool) {
		t.Helper()
		m, err := d.Machine()
		if err != nil || m.Bandwidth == nil || m.BandwidthCertain == nil {
			t.Fatal(show(m), err)
		}
		return *m.Bandwidth, *m.BandwidthCertain
	}
	if n, certain := bandwidth(); n != 460e9 || certain {
		t.Errorf("%v, %v before the cores are known", n, certain)
	}
	b.accelerators = cores
	d.after(t, 0)
	if n, certain := bandwidth(); n != 614e9 || !certain {
		t.Errorf("%v, %v with 40 cores", n, certain)
	}
}

func TestMacGPUSecondsOfProcesses(t *testing.T) {
	d := newDesk(newBench())
	d.mac.sys = miniWithProcesses()
	list, err := d.Processes()
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, p := range list {
		if p.GPU != nil {
			told++
			if p.PID != 4242 || *p.GPU != 1.5 {
				t.Errorf("process %d used the GPU for %v s", p.PID, *p.GPU)
			}
		}
	}
	if told != 1 || len(list) < 2 {
		t.Errorf("%d of %d processes have GPU time", told, len(list))
	}
	if p, err := d.Process(4242); err != nil || p.GPU != nil || d.bench.asked["times"] != 1 {
		t.Errorf("one process: %s, %v; the clients were walked %d times", show(p), err, d.bench.asked["times"])
	}
}
