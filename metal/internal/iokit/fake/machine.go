package fake

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// PID is a process that each Mac has: Ollama's server, 13.795 GB of footprint.
const PID = 4242

// What each Mac has in the IORegistry: the accelerator, the device of the chip that
// knows the frequencies, and the SMC.
const (
	GPU  Entry = 0
	PMGR Entry = 1
	SMC  Entry = 2
)

// Entry is an entry of the IORegistry.
type Entry int32

// quiet makes the machine that every test begins with: a Mac mini with M4, 10 GPU
// cores and 32 GB at rest, a little under memory pressure.
func (m *Mac) quiet() {
	gpu := m.Entry("AGXAcceleratorG16G", "IOAccelerator IOGraphicsAccelerator2 IOService", "AGXAcceleratorG16G", -1)
	m.Set(gpu, "model", "Apple M4")
	m.Set(gpu, "gpu-core-count", 10)
	m.Set(gpu, "PerformanceStatistics", map[string]any{
		"Device Utilization %": 4, "Renderer Utilization %": 3, "Tiler Utilization %": 2,
		"In use system memory": 1 << 30, "In use system memory (driver)": 0,
		"Alloc system memory": 9 << 30, "recoveryCount": 0, "SplitSceneCount": 0,
		"lastRecoveryTime": "never", // a text: not a statistic
		"TiledSceneBytes":  1.5,     // no whole number
	})

	pmgr := m.Entry("AppleARMIODevice", "IOService", "pmgr", -1)
	m.Set(pmgr, "voltage-states9", ladder(0, 338, 618, 796, 924, 1056, 1182, 1312, 1470))

	smc := m.Entry("AppleSMCKeysEndpoint", "AppleSMC IOService", "AppleSMCKeysEndpoint", -1)
	m.Set(smc, "opens", true)
	m.Entry("AppleARMIODevice", "IOService", "aic", -1)
	m.Client(gpu, "pid 4242, ollama", 3_000_000_000, 500_000_000)
	m.Client(gpu, "pid 391, WindowServer", 70_000_000)
	for key, celsius := range map[string]float64{
		"Tg0G": 41.5, "Tg0H": 42, "Tg0K": 40.25, "Tg0L": 41, "Tg0d": 39.5, "Tg0e": 40, "Tg0j": 41.75, "Tg0k": 42.5, "Tp01": 45,
	} {
		m.SetTemperature(key, celsius)
	}
	m.SetSMC("PSTR", "flt ", binary.LittleEndian.AppendUint32(nil, math.Float32bits(6.5)))
	m.SetSMC("F0ID", "{fds", make([]byte, 16))

	for name, celsius := range map[string]float64{"PMU tdie1": 43.5, "PMU tdie2": 42.25, "PMU tdev1": 38, "PMU tcal": 51.85, "NAND CH0 temp": 35} {
		m.SetSensor(name, celsius)
	}
	m.sensor("a power sensor", 5, 1, 0xff08, 2) // not to be matched
	m.sensor("gas gauge battery", 0, 0, 0xff00, 5)

	for i, state := range []string{"OFF", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8"} {
		m.AddResidency("GPU Stats", "GPU Performance States", "GPUPH", state, int64(1000*(9-i)))
	}
	m.AddResidency("GPU Stats", "GPU Performance States", "GPU_CLTM", "NO_CLTM", 1000)
	for _, name := range []string{"GPU Energy", "GPU SRAM", "CPU Energy", "ANE", "DRAM"} {
		m.AddValue("Energy Model", "", name, 1_000_000)
	}
	m.channel("PMP", "DCS BW", "GPU RD", "", 3)

	m.SetKey("com.apple.system.thermalpressurelevel", 0)
	m.SetPower("AC Power")
	m.SetDevice(Device{Name: "Apple M4", WorkingSet: 26_800_603_136, MaxBuffer: 14_302_699_520, Allocated: 65536})
	m.SetProcess(PID, "/Applications/Ollama.app/Contents/Resources/ollama", 13_795_000_000, 24_000_000, 12_000_000)
}

// ladder is voltage-states9 for steps in MHz.
func ladder(steps ...uint32) []byte {
	var b []byte
	for i, mhz := range steps {
		b = binary.LittleEndian.AppendUint32(b, mhz*1_000_000)
		b = binary.LittleEndian.AppendUint32(b, uint32(400+60*i))
	}
	return b
}

// SetInt changes a number of the machine by its name: "free_count" and the other
// counts of struct vm_statistics64 that tests read, "swapins", "swapouts", "page",
// "numer", "denom"; "thermal" and "lowpower" (−1: a system that does not know it) of
// NSProcessInfo; "device" 0 for no Metal device; "words" for a kernel that fills in
// less; "iterator.none" 1 for a kernel that has no iterator where nothing matches;
// "process.none" 1; "smc.result" and "smc.answer" for what the SMC's driver says.
// "twist.leak", "twist.selector" and "twist.width" make it want something else than
// it does, as if the bindings were wrong.
func (m *Mac) SetInt(name string, n int64) { m.setInt(name, n) }

// Entry adds an entry to the IORegistry; parent is −1 for a service that can be
// matched, by its class and its ancestors, words with blanks between.
func (m *Mac) Entry(class, ancestors, name string, parent Entry) Entry {
	return Entry(m.entry(class, ancestors, name, int32(parent)))
}

// RemoveEntry takes an entry away. Who holds it finds no properties any more.
func (m *Mac) RemoveEntry(e Entry) { m.removeEntry(int32(e)) }

// Set gives an entry a property: an int, float64, bool, string, []byte, []any or
// map[string]any; nil takes it away.
func (m *Mac) Set(e Entry, property string, value any) {
	m.property(int32(e), property, m.make(value))
}

func (m *Mac) make(value any) uintptr {
	switch v := value.(type) {
	case nil:
		return 0
	case int:
		return m.number(int64(v))
	case int64:
		return m.number(v)
	case float64:
		return m.real(v)
	case bool:
		return m.yes(1)
	case string:
		return m.text(v)
	case []byte:
		return m.data(v, int64(len(v)))
	case []any:
		list := m.list()
		for _, item := range v {
			m.add(list, "", m.make(item))
		}
		return list
	case map[string]any:
		all := m.dictionary()
		for key, item := range v {
			m.add(all, key, m.make(item))
		}
		return all
	}
	m.t.Fatalf("a property cannot be %T", value)
	return 0
}

// SetStatistics replaces the GPU's PerformanceStatistics: whole keys, whole numbers.
func (m *Mac) SetStatistics(statistics map[string]int64) {
	all := map[string]any{}
	for key, n := range statistics {
		all[key] = n
	}
	m.Set(GPU, "PerformanceStatistics", all)
}

// Client adds a user client to an accelerator, with the nanoseconds of GPU time it
// used, one per interface.
func (m *Mac) Client(accelerator Entry, creator string, times ...int64) Entry {
	client := m.Entry("AGXDeviceUserClient", "IOUserClient IOService", "AGXDeviceUserClient", accelerator)
	m.Set(client, "IOUserClientCreator", creator)
	m.SetUsage(client, times...)
	return client
}

// SetUsage changes a client's GPU times.
func (m *Mac) SetUsage(client Entry, times ...int64) {
	var usage []any
	for _, t := range times {
		usage = append(usage, map[string]any{"API": "Metal", "accumulatedGPUTime": t, "lastSubmittedTime": int64(1)})
	}
	m.Set(client, "AppUsage", usage)
}

// SetSMC gives the SMC a key, and "#KEY" the number of keys with it.
func (m *Mac) SetSMC(key, kind string, value []byte) {
	m.smc(key, kind, value, int32(len(value)))
	m.countSMC()
}

// SetTemperature gives the SMC a key of type "flt ".
func (m *Mac) SetTemperature(key string, celsius float64) {
	m.SetSMC(key, "flt ", binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(celsius))))
}

// RemoveSMC takes a key away.
func (m *Mac) RemoveSMC(key string) {
	m.smc(key, "", nil, -1)
	m.countSMC()
}

func (m *Mac) countSMC() {
	var zero [4]byte
	m.smc("#KEY", "ui32", zero[:], 4)
	m.smc("#KEY", "ui32", binary.BigEndian.AppendUint32(nil, uint32(m.count("smc keys"))), 4)
}

// SetSensor gives the HID system a temperature sensor, or changes it.
func (m *Mac) SetSensor(name string, celsius float64) { m.sensor(name, celsius, 1, 0xff00, 5) }

// Mute makes a sensor tell nothing.
func (m *Mac) Mute(sensor string) { m.sensor(sensor, 0, 0, 0xff00, 5) }

// Kinds of IOReport's channels.
const (
	simple = 1
	states = 2
)

// AddValue makes a simple channel of IOReport count on, by nJ in "Energy Model". A
// channel that is not there is made.
func (m *Mac) AddValue(group, subgroup, name string, n int64) {
	m.value(m.channel(group, subgroup, name, "nJ      ", simple), n, 0)
}

// SetInvalid makes a simple channel tell an error, as drivers do.
func (m *Mac) SetInvalid(group, subgroup, name string) {
	m.value(m.channel(group, subgroup, name, "nJ      ", simple), 0, math.MinInt64)
}

// AddResidency makes a channel count on that tells how long it was in which state.
// A channel or state that is not there is made.
func (m *Mac) AddResidency(group, subgroup, name, state string, n int64) {
	m.state(m.channel(group, subgroup, name, "24Mticks", states), state, n)
}

// SetUnit changes the unit label of a simple channel.
func (m *Mac) SetUnit(group, subgroup, name, unit string) {
	m.channel(group, subgroup, name, unit, simple)
}

// SetKey sets the state of a Darwin notify key.
func (m *Mac) SetKey(name string, state uint64) { m.key(name, state) }

// SetPower sets what feeds the machine; "" if it does not tell.
func (m *Mac) SetPower(source string) { m.setText("power", source) }

// Device is the GPU as Metal has it. Sizes are in bytes.
type Device struct {
	Name                             string
	WorkingSet, MaxBuffer, Allocated uint64
}

// SetDevice changes what Metal tells.
func (m *Mac) SetDevice(d Device) {
	m.setText("device.name", d.Name)
	m.setInt("device.working", int64(d.WorkingSet))
	m.setInt("device.buffer", int64(d.MaxBuffer))
	m.setInt("device.allocated", int64(d.Allocated))
}

// SetProcess adds or changes a process: footprint in bytes, times in mach time. An
// empty path and no footprint end it.
func (m *Mac) SetProcess(pid int, path string, footprint, user, system uint64) {
	m.process(int32(pid), path, footprint, user, system)
}

// Fail makes a function of a library fail from now on, with this result, or with
// NULL if that is what it returns. 0 mends it.
func (m *Mac) Fail(function string, code int32) { m.fail(function, code, 0) }

// FailAfter is Fail after so many more calls that succeed.
func (m *Mac) FailAfter(function string, code int32, calls int) { m.fail(function, code, int64(calls)) }

// Calls is how often a function was called. Small functions that only read an
// object are not counted.
func (m *Mac) Calls(function string) int { return int(m.calls(function)) }

// Bad is how many calls macOS would not have taken, and the first of them.
func (m *Mac) Bad() (n int, first string) {
	if n = int(m.bad()); n != 0 {
		first = m.firstBad()
	}
	return n, first
}

// Forgive forgets bad calls, for tests that make them.
func (m *Mac) Forgive() { m.forgive() }

// counters are what has to be given back.
var counters = []string{"objects", "handles", "connections", "tokens", "pools"}

// Open is what is open now: "objects", CF's and Objective-C's; "handles" of services
// and iterators; "connections"; notify "tokens"; autorelease "pools"; also "hosts",
// references to the host port ever made, and "channels sampled" by IOReport.
func (m *Mac) Open(what string) int { return int(m.count(what)) }

// Leftovers is everything that is still open.
func (m *Mac) Leftovers() (left []string) {
	for _, what := range counters {
		if n := m.Open(what); n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	return left
}

// Left reports everything that is still open.
func (m *Mac) Left(t testing.TB) {
	t.Helper()
	if left := m.Leftovers(); left != nil {
		t.Errorf("these are left: %s", strings.Join(left, ", "))
	}
}
