package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/metal"
)

// slack is how far a tool may be from what was read. They look at different
// moments: the value before the tool ran counts too.
type slack string

const (
	// exact values do not change.
	exact slack = "exact"
	// ofRAM allows 2 % of the machine's memory: amounts that change all the time.
	ofRAM slack = "ram"
	// moment allows 50 points of a share of one moment, which may be anything the
	// next moment. It finds wrong units and wrong fields.
	moment slack = "moment"
	// mean allows 50 %, or 1 of its unit, between means over different times.
	mean slack = "mean"
	// rounded allows 1 of its unit.
	rounded slack = "rounded"
)

const (
	ramShare    = 0.02
	pointsShare = 0.5
	meanShare   = 0.5
)

// claim is what a tool says of a fact: nil when it does not.
type claim struct {
	fact, tool string
	slack      slack
	says       func(value any) any
}

// says makes a claim's function for one tool's type.
func says[T any](f func(*T) any) func(any) any {
	return func(v any) any {
		t, ok := v.(*T)
		if !ok || t == nil {
			return nil
		}
		return f(t)
	}
}

func sysctlSays(f func(*metal.SysctlText) any) func(any) any   { return says(f) }
func profiler(f func(*metal.SystemProfiler) any) func(any) any { return says(f) }
func ioreg(f func(*metal.IORegistryText) any) func(any) any    { return says(f) }
func power(f func(*metal.Powermetrics) any) func(any) any      { return says(f) }
func freeSays(f func(*freeText) any) func(any) any             { return says(f) }

func vmStat(f func(*metal.Memory) any) func(any) any {
	return says(func(v *metal.VMStat) any { return f(v.Memory()) })
}

// claims is what is held against what.
var claims = []claim{
	{"machine.chip", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.Chip })},
	{"machine.chip", "system_profiler", exact, profiler(func(s *metal.SystemProfiler) any { return s.Chip })},
	{"machine.model", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.Model })},
	{"machine.model", "system_profiler", exact, profiler(func(s *metal.SystemProfiler) any { return s.ModelIdentifier })},
	{"machine.cores", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.PhysicalCPUs })},
	{"machine.core_levels", "sysctl", exact, sysctlSays(sysctlLevels)},
	{"machine.ram_bytes", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.RAM })},
	{"machine.ram_bytes", "memory_pressure", exact, says(func(m *metal.MemoryPressureText) any { return m.RAM })},
	{"machine.ram_bytes", "system_profiler", exact, profiler(func(s *metal.SystemProfiler) any { return s.RAM })},
	{"machine.os", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return macOS(s.OSVersion) })},
	{"machine.os", "system_profiler", exact, profiler(func(s *metal.SystemProfiler) any { return macOS(s.OSVersion) })},
	{"memory.total_bytes", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.RAM })},
	{"memory.used_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Used })},
	{"memory.app_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.App })},
	{"memory.wired_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Wired })},
	{"memory.compressed_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Compressed })},
	{"memory.cached_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Cached })},
	{"memory.free_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Free })},
	{"memory.available_bytes", "vm_stat", ofRAM, vmStat(func(m *metal.Memory) any { return m.Available })},
	{"memory.pressure", "sysctl", exact, sysctlSays(sysctlPressure)},
	{"swap.total_bytes", "sysctl", ofRAM, sysctlSays(func(s *metal.SysctlText) any { return s.Total })},
	{"swap.used_bytes", "sysctl", ofRAM, sysctlSays(func(s *metal.SysctlText) any { return s.Used })},
	{"swap.swap_in_bytes", "vm_stat", ofRAM, says(func(v *metal.VMStat) any { return pagesOf(v.SwapIns, v.PageSize) })},
	{"swap.swap_out_bytes", "vm_stat", ofRAM, says(func(v *metal.VMStat) any { return pagesOf(v.SwapOuts, v.PageSize) })},
	{"gpu.name", "ioreg", exact, ioreg(func(r *metal.IORegistryText) any { return r.Model })},
	{"gpu.cores", "ioreg", exact, ioreg(func(r *metal.IORegistryText) any { return r.Cores })},
	{"gpu.cores", "system_profiler", exact, profiler(func(s *metal.SystemProfiler) any { return s.GPUCores })},
	{"gpu.wired_limit_bytes", "sysctl", exact, sysctlSays(func(s *metal.SysctlText) any { return s.WiredLimit })},
	{"gpu.in_use_bytes", "ioreg", ofRAM, ioreg(func(r *metal.IORegistryText) any { return inUse(r) })},
	{"gpu.utilisation_ratio", "ioreg", moment, ioreg(func(r *metal.IORegistryText) any { return ofHundred(r.Device) })},
	{"gpu.renderer_ratio", "ioreg", moment, ioreg(func(r *metal.IORegistryText) any { return ofHundred(r.Renderer) })},
	{"gpu.tiler_ratio", "ioreg", moment, ioreg(func(r *metal.IORegistryText) any { return ofHundred(r.Tiler) })},
	{"gpu.resets", "ioreg", exact, ioreg(func(r *metal.IORegistryText) any { return r.Recoveries })},
	{"gpu.power_watts", "powermetrics", mean, power(func(p *metal.Powermetrics) any { return thousandth(p.GPUPower) })},
	{"gpu.clock_mhz", "powermetrics", mean, power(func(p *metal.Powermetrics) any { return p.GPUFreq })},
	{"gpu.top_clock_mhz", "powermetrics", rounded, power(func(p *metal.Powermetrics) any { return p.GPULadderTop })},
	{"thermal.pressure", "notifyutil", exact, says(func(n *metal.NotifyutilText) any { return lower(n.Thermal) })},
	{"thermal.pressure", "powermetrics", exact, power(func(p *metal.Powermetrics) any { return lower(p.Thermal) })},

	{"machine.ram_bytes", "meminfo", exact, freeSays(func(f *freeText) any { return f.Total })},
	{"memory.total_bytes", "meminfo", exact, freeSays(func(f *freeText) any { return f.Total })},
	{"memory.total_bytes", "free", exact, freeSays(func(f *freeText) any { return f.Total })},
	{"memory.free_bytes", "meminfo", ofRAM, freeSays(func(f *freeText) any { return f.Free })},
	{"memory.free_bytes", "free", ofRAM, freeSays(func(f *freeText) any { return f.Free })},
	{"memory.available_bytes", "meminfo", ofRAM, freeSays(func(f *freeText) any { return f.Available })},
	{"memory.available_bytes", "free", ofRAM, freeSays(func(f *freeText) any { return f.Available })},
	{"swap.total_bytes", "meminfo", exact, freeSays(func(f *freeText) any { return f.SwapTotal })},
	{"swap.total_bytes", "free", exact, freeSays(func(f *freeText) any { return f.SwapTotal })},
	{"swap.used_bytes", "meminfo", ofRAM, freeSays(func(f *freeText) any { return f.SwapUsed })},
	{"swap.used_bytes", "free", ofRAM, freeSays(func(f *freeText) any { return f.SwapUsed })},
}

func sysctlLevels(s *metal.SysctlText) any {
	var levels []metal.CoreLevel
	for _, l := range s.Levels {
		if l.Name == nil || l.CPUs == nil {
			return nil
		}
		levels = append(levels, metal.CoreLevel{Name: *l.Name, Cores: int(min(*l.CPUs, 1<<16))})
	}
	if levels == nil {
		return nil
	}
	return levels
}

// sysctlPressure is the level by the word that a Reader has for it.
func sysctlPressure(s *metal.SysctlText) any {
	if s.PressureLevel == nil {
		return nil
	}
	return map[uint64]any{1: "normal", 2: "warning", 4: "critical"}[*s.PressureLevel]
}

func macOS(version *string) any {
	if version == nil {
		return nil
	}
	return "macOS " + *version
}

func pagesOf(n, size *uint64) any {
	if n == nil || size == nil || *size == 0 || *n > math.MaxUint64 / *size {
		return nil
	}
	return *n * *size
}

// inUse leaves out 0, which a driver says that does not know.
func inUse(r *metal.IORegistryText) any {
	if r.InUse == nil || *r.InUse == 0 {
		return nil
	}
	return *r.InUse
}

func ofHundred(n *uint64) any {
	if n == nil {
		return nil
	}
	return float64(*n) / 100
}

func thousandth(f *float64) any {
	if f == nil {
		return nil
	}
	return *f / 1000
}

func lower(s *string) any {
	if s == nil {
		return nil
	}
	return strings.ToLower(*s)
}

// check is one fact held against one tool.
type check struct {
	Tool string `json:"tool"`
	// Says is what the tool says, in the unit of the fact's name.
	Says any `json:"says"`
	// Allowed is the kind of difference that is allowed: exact, ram (2 % of the
	// memory), moment (50 points), mean (50 %), rounded (1).
	Allowed slack `json:"allowed"`
	Differs bool  `json:"differs,omitzero"`
}

// checks holds a fact against every tool that tells it.
func checks(name string, now, earlier any, ram float64, outputs []printed) []check {
	var all []check
	for _, c := range claims {
		if c.fact != name {
			continue
		}
		i := slices.IndexFunc(outputs, func(o printed) bool { return o.tool == c.tool && o.value != nil })
		if i < 0 {
			continue
		}
		said := plain(c.says(outputs[i].value))
		if said == nil {
			continue
		}
		k := check{Tool: c.tool, Says: said, Allowed: c.slack}
		switch {
		case now == nil:
			// What is of the moment may be gone a moment later.
			k.Differs = c.slack == exact || c.slack == ofRAM
		default:
			k.Differs = !c.slack.near(said, plain(now), plain(earlier), ram)
		}
		all = append(all, k)
	}
	return all
}

// plain is a value without pointers and names of types: nil, a string, a bool or a
// float64.
func plain(v any) any {
	switch v := v.(type) {
	case *uint64:
		if v != nil {
			return float64(*v)
		}
	case *float64:
		if v != nil {
			return *v
		}
	case *string:
		if v != nil {
			return *v
		}
	case uint64:
		return float64(v)
	case int:
		return float64(v)
	case float64, string, bool:
		return v
	case metal.Pressure:
		return string(v)
	case metal.ThermalPressure:
		return string(v)
	case []metal.CoreLevel:
		return levelsText(v)
	}
	return nil
}

// near tells whether a tool agrees with what was read before and after it ran.
func (s slack) near(said, now, earlier any, ram float64) bool {
	n, number := said.(float64)
	a, ok := now.(float64)
	if !number || !ok {
		return said == now || said == earlier
	}
	b, ok := earlier.(float64)
	if !ok {
		b = a
	}
	allowed := 0.0
	switch s {
	case ofRAM:
		allowed = ramShare * ram
	case moment:
		allowed = pointsShare
	case mean:
		allowed = max(meanShare*max(a, b, n), 1)
	case rounded:
		allowed = 1
	}
	return n >= min(a, b)-allowed-1e-9 && n <= max(a, b)+allowed+1e-9
}

// levelsText is "4 Super + 6 Efficiency".
func levelsText(levels []metal.CoreLevel) string {
	var parts []string
	for _, l := range levels {
		parts = append(parts, strconv.Itoa(l.Cores)+" "+l.Name)
	}
	return strings.Join(parts, " + ")
}
