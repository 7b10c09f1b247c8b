package metal

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Fact is one field that a Reader tells, or does not.
type Fact struct {
	// Name is the section and the field, as a Snapshot's JSON has them:
	// "gpu.in_use_bytes". A section that is absent as a whole is one Fact: "gpu".
	Name string
	// Value is a string, bool, float64, uint64, int or []CoreLevel; nil when absent.
	Value any
	// Source is what was asked, "sysctl vm.swapusage"; "" when it is not known.
	Source string
	// Cost is the median of what asking took, of all of the section where the
	// source's own is not known. Measured says whether it was.
	Cost     time.Duration
	Measured bool
	// Err is why there is no value. It wraps ErrUnsupported, ErrNotPermitted,
	// ErrSilent or the system's own.
	Err error
}

// ErrSilent says that the source answered, and with nothing that can be true or
// that tells this.
var ErrSilent = errors.New("the source answers and does not tell it")

// Facts are those of the last round, in the order of the types' fields.
func (c *Recording) Facts() []Fact { return c.facts(len(c.rounds) - 1) }

// Earlier are the facts of the round before the last one, which a tool that ran in
// between may agree with as well. There are none of processes.
func (c *Recording) Earlier() []Fact { return c.facts(len(c.rounds) - 2) }

// Chip is the name of the machine's chip, System's version its OS; "" when absent.
func (c *Recording) Chip() string {
	if m := valueIn[Machine](c, sectionMachine); m != nil {
		return m.Chip
	}
	return ""
}

func (c *Recording) facts(round int) []Fact {
	if round < 0 || round >= len(c.rounds) {
		return nil
	}
	var all []Fact
	for _, s := range c.rounds[round] {
		if list, ok := s.value.([]Process); ok {
			all = append(all, c.processFacts(list)...)
			continue
		}
		v := reflect.ValueOf(s.value)
		if s.value == nil || v.IsNil() {
			f := Fact{Name: s.name, Source: c.source(s.name), Err: s.err}
			f.Cost, f.Measured = c.Cost(s.name)
			all = append(all, f)
			continue
		}
		for field, value := range v.Elem().Fields() {
			if f, ok := c.fact(s.name, field, value); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// noFacts are fields that say something about another one.
var noFacts = map[string]bool{
	"gpu.source": true, "gpu.limit_source": true, "gpu.temperature_sensor": true, "gpu.clock_requested": true,
	"memory.pressure_source": true, "thermal.source": true, "machine.memory_bandwidth_certain": true,
}

func (c *Recording) fact(sectionName string, field reflect.StructField, value reflect.Value) (Fact, bool) {
	tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	f := Fact{Name: sectionName + "." + tag}
	if tag == "" || tag == "-" || noFacts[f.Name] {
		return f, false
	}
	if value.Kind() == reflect.Bool && !value.Bool() {
		return f, false // a mark that is worth a line only when it is set
	}
	f.Source = c.source(f.Name)
	if f.Cost, f.Measured = c.Cost(question(f.Source)); !f.Measured && f.Source != sourceTable && f.Source != sourceEstimate {
		f.Cost, f.Measured = c.Cost(sectionName)
	}
	switch {
	case value.IsZero():
		f.Err = c.reason(f.Source)
	case value.Kind() == reflect.Pointer:
		f.Value = value.Elem().Interface()
	case value.Kind() == reflect.String:
		f.Value = value.String()
	default:
		f.Value = value.Interface()
	}
	return f, true
}

// question is the name under which a source's cost and failure are noted: what a
// source adds in parentheses is not part of it.
func question(source string) string {
	name, _, _ := strings.Cut(source, " (")
	return name
}

// reason is why a source told nothing.
func (c *Recording) reason(source string) error {
	name := question(source)
	switch err := c.failed[name]; {
	case err != nil:
		return told(err)
	case source == "":
		return fmt.Errorf("no source tells it here: %w", ErrUnsupported)
	}
	return ErrSilent
}

// processFacts counts what is told of processes; none of them is named.
func (c *Recording) processFacts(list []Process) []Fact {
	footprint, cpu, gpu := 0, 0, 0
	for _, p := range list {
		if p.Footprint != nil {
			footprint++
		}
		if p.CPU != nil {
			cpu++
		}
		if p.GPU != nil {
			gpu++
		}
	}
	all := []Fact{
		{Name: "processes.count", Value: len(list)},
		{Name: "processes.with_footprint", Value: footprint},
		{Name: "processes.with_cpu_seconds", Value: cpu},
		{Name: "processes.with_gpu_seconds", Value: gpu},
	}
	for i := range all {
		f := &all[i]
		f.Source = c.source(f.Name)
		if f.Cost, f.Measured = c.Cost(question(f.Source)); !f.Measured {
			f.Cost, f.Measured = c.Cost(sectionProcesses)
		}
		if f.Value == 0 {
			f.Value, f.Err = nil, c.reason(f.Source)
		}
	}
	return all
}

// source is what tells a fact.
func (c *Recording) source(fact string) string {
	switch c.System {
	case "darwin":
		return c.macSource(fact)
	case "linux":
		if s, ok := linuxSources[fact]; ok {
			return s
		}
		sectionName, _, _ := strings.Cut(fact, ".")
		return linuxSources[sectionName]
	}
	return ""
}

// What is not asked of the machine costs nothing.
const (
	sourceTable    = "chip table"
	sourceEstimate = "estimate"
)

// macSources are the questions that a Mac is asked, by the fact or its section.
var macSources = map[string]string{
	"machine.chip": "sysctl machdep.cpu.brand_string", "machine.model": "sysctl hw.model", "machine.cores": "sysctl hw.physicalcpu",
	"machine.core_levels": "sysctl hw.nperflevels", "machine.ram_bytes": "sysctl hw.memsize", "machine.os": "sysctl kern.osproductversion",
	"machine.generation": sourceTable, "machine.memory_bandwidth_bytes_per_second": sourceTable,
	"machine.uptime_seconds": "sysctl kern.boottime", "machine.boot_id": "sysctl kern.bootsessionuuid",
	"memory": askStatistics, "memory.total_bytes": "sysctl hw.memsize", "memory.pressure": "sysctl kern.memorystatus_vm_pressure_level",
	"swap": "sysctl vm.swapusage", "swap.swap_in_bytes": askStatistics, "swap.swap_out_bytes": askStatistics,
	"gpu": askAccelerators, "gpu.max_buffer_bytes": askDevice, "gpu.wired_limit_bytes": "sysctl iogpu.wired_limit_mb",
	"gpu.power_watts": askDelta + " (GPU Energy)", "gpu.clock_mhz": askDelta + " (GPUPH)", "gpu.top_clock_mhz": "IORegistry pmgr voltage-states9",
	"gpu.temperature_celsius": askKeys, "gpu.temperature_stuck": askKeys,
	"thermal": "notify " + thermalKey, "thermal.process_info_state": askState,
	"power": askSource, "power.low_power_mode": askLowPower,
	"processes": "sysctl kern.proc.all", "processes.with_footprint": askUsage, "processes.with_cpu_seconds": askUsage,
	"processes.with_gpu_seconds": askClients,
}

func (c *Recording) macSource(fact string) string {
	gpu, thermal := valueIn[GPU](c, sectionGPU), valueIn[Thermal](c, sectionThermal)
	switch {
	case fact == "gpu.working_set_bytes" && gpu != nil && gpu.LimitSource == limitFromSysctl,
		fact == "gpu.wired_limit_bytes" && c.failed["sysctl "+wiredLimits[0].key] != nil && c.failed["sysctl "+wiredLimits[1].key] == nil:
		for _, k := range wiredLimits {
			if name := "sysctl " + k.key; c.failed[name] == nil {
				return name
			}
		}
	case fact == "gpu.working_set_bytes" && gpu != nil && gpu.LimitSource == limitFromEstimate:
		return sourceEstimate
	case fact == "gpu.working_set_bytes":
		return askDevice
	case strings.HasPrefix(fact, "gpu.temperature") && gpu != nil && gpu.Sensor != "":
		if _, ok := c.Cost("SMC " + gpu.Sensor); ok {
			return "SMC " + gpu.Sensor
		}
		return askHID + " (" + gpu.Sensor + ")"
	case fact == "thermal.pressure" && thermal != nil && thermal.Source == thermalFromProcessInfo:
		return askState
	}
	if s, ok := macSources[fact]; ok {
		return s
	}
	sectionName, _, _ := strings.Cut(fact, ".")
	return macSources[sectionName]
}

// linuxSources are the files that Linux is read from. What is not told there has
// no source.
var linuxSources = map[string]string{
	"machine.chip": "/proc/cpuinfo", "machine.cores": "/proc/cpuinfo", "machine.ram_bytes": "/proc/meminfo", "machine.os": "/etc/os-release",
	"machine.uptime_seconds": "/proc/uptime", "machine.boot_id": "/proc/sys/kernel/random/boot_id",
	"memory": "/proc/meminfo", "memory.compressed_bytes": "/proc/meminfo (zswap)", "memory.pressure": "/proc/pressure/memory",
	"swap": "/proc/meminfo", "swap.swap_in_bytes": "/proc/vmstat", "swap.swap_out_bytes": "/proc/vmstat",
	"gpu": "/sys/class/drm, NVML", "power": "/sys/class/power_supply", "power.low_power_mode": "",
	"processes": "/proc/PID",
}
