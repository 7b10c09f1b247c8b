package metal

import (
	"math"
	"strconv"
	"strings"
)

// SysctlText is what the command sysctl prints, of the names that Plimsoll knows.
// Every field may be absent: only what stands in the text is told.
type SysctlText struct {
	Chip         *string `json:"chip"`             // machdep.cpu.brand_string
	Model        *string `json:"model_identifier"` // hw.model
	OSVersion    *string `json:"os_version"`       // kern.osproductversion
	RAM          *uint64 `json:"ram_bytes"`        // hw.memsize
	PageSize     *uint64 `json:"page_size_bytes"`  // hw.pagesize
	CPUs         *uint64 `json:"cpu_count"`        // hw.ncpu, else the sum of all levels
	PhysicalCPUs *uint64 `json:"physical_cpu_count"`
	LogicalCPUs  *uint64 `json:"logical_cpu_count"`
	LevelCount   *uint64 `json:"perf_level_count"` // hw.nperflevels
	// Levels are those that any line names, fastest first.
	Levels     []SysctlLevel `json:"perf_levels"`
	CPUMaxFreq *uint64       `json:"cpu_max_freq_mhz"` // machdep.xcpm.hard_plimit_max_100mhz_ratio, Intel

	// WiredLimitMB is iogpu.wired_limit_mb, in MiB; 0 is the system's default.
	WiredLimitMB        *uint64 `json:"wired_limit_mb"`
	WiredLimit          *uint64 `json:"wired_limit_bytes"`
	WiredLimitIsDefault *bool   `json:"wired_limit_is_default"`
	// WiredLimitOldMB and NewMB are what a write printed, "0 -> 114688".
	WiredLimitOldMB *uint64 `json:"wired_limit_old_mb"`
	WiredLimitNewMB *uint64 `json:"wired_limit_new_mb"`
	DynamicLWM      *uint64 `json:"dynamic_lwm"` // iogpu.dynamic_lwm

	SwapUsage

	// PressureLevel is kern.memorystatus_vm_pressure_level: 1, 2 or 4; Pressure
	// its name in the system's tools: normal, warn, critical.
	PressureLevel *uint64 `json:"memory_pressure_level"`
	Pressure      *string `json:"memory_pressure"`
	// FreePercent is kern.memorystatus_level, not a share of free memory.
	FreePercent *uint64 `json:"memorystatus_level_percent"`

	UserWireLimit        *uint64  `json:"user_wire_limit_bytes"` // vm.global_user_wire_limit
	NoUserWire           *uint64  `json:"no_user_wire_bytes"`    // vm.global_no_user_wire_amount
	UserWireLimitPercent *float64 `json:"user_wire_limit_percent_of_ram"`
	CompressorMode       *uint64  `json:"compressor_mode"`
	// SwapOutsUnder30s and so on count pages swapped out that young.
	SwapOutsUnder30s  *uint64 `json:"swapouts_under_30s"`
	SwapOutsUnder60s  *uint64 `json:"swapouts_under_60s"`
	SwapOutsUnder300s *uint64 `json:"swapouts_under_300s"`

	FreePages        *uint64 `json:"free_pages"` // vm.page_free_count
	SpeculativePages *uint64 `json:"speculative_pages"`
	InternalPages    *uint64 `json:"internal_pages"`
	ExternalPages    *uint64 `json:"external_pages"`
	TotalPages       *uint64 `json:"total_pages"` // vm.pages

	// UnknownOIDs are the names that this system does not have.
	UnknownOIDs []string `json:"unknown_oids"`
}

// SysctlLevel is one kind of core, hw.perflevelN. Index 0 is the fastest.
type SysctlLevel struct {
	Index uint64  `json:"index"`
	Name  *string `json:"name"`
	// CPUs is the number of physical cores.
	CPUs    *uint64 `json:"cpus"`
	Logical *uint64 `json:"logical_cpus"`
	L1I     *uint64 `json:"l1i_cache_bytes"`
	L1D     *uint64 `json:"l1d_cache_bytes"`
	L2      *uint64 `json:"l2_cache_bytes"`
}

// maxLevels bounds hw.perflevelN; no chip has more than three.
const maxLevels = 16

// sysctlNumbers says where the value of a name goes when it is a whole number.
var sysctlNumbers = map[string]func(*SysctlText) **uint64{
	"hw.memsize":                                func(s *SysctlText) **uint64 { return &s.RAM },
	"hw.pagesize":                               func(s *SysctlText) **uint64 { return &s.PageSize },
	"vm.pagesize":                               func(s *SysctlText) **uint64 { return &s.PageSize },
	"hw.ncpu":                                   func(s *SysctlText) **uint64 { return &s.CPUs },
	"hw.physicalcpu":                            func(s *SysctlText) **uint64 { return &s.PhysicalCPUs },
	"hw.logicalcpu":                             func(s *SysctlText) **uint64 { return &s.LogicalCPUs },
	"hw.nperflevels":                            func(s *SysctlText) **uint64 { return &s.LevelCount },
	"iogpu.wired_limit_mb":                      func(s *SysctlText) **uint64 { return &s.WiredLimitMB },
	"debug.iogpu.wired_limit":                   func(s *SysctlText) **uint64 { return &s.WiredLimit }, // bytes, before macOS 14
	"iogpu.dynamic_lwm":                         func(s *SysctlText) **uint64 { return &s.DynamicLWM },
	"kern.memorystatus_vm_pressure_level":       func(s *SysctlText) **uint64 { return &s.PressureLevel },
	"kern.memorystatus_level":                   func(s *SysctlText) **uint64 { return &s.FreePercent },
	"vm.global_user_wire_limit":                 func(s *SysctlText) **uint64 { return &s.UserWireLimit },
	"vm.global_no_user_wire_amount":             func(s *SysctlText) **uint64 { return &s.NoUserWire },
	"vm.compressor_mode":                        func(s *SysctlText) **uint64 { return &s.CompressorMode },
	"vm.compressor_swapouts_under_30s":          func(s *SysctlText) **uint64 { return &s.SwapOutsUnder30s },
	"vm.compressor_swapouts_under_60s":          func(s *SysctlText) **uint64 { return &s.SwapOutsUnder60s },
	"vm.compressor_swapouts_under_300s":         func(s *SysctlText) **uint64 { return &s.SwapOutsUnder300s },
	"vm.page_free_count":                        func(s *SysctlText) **uint64 { return &s.FreePages },
	"vm.page_speculative_count":                 func(s *SysctlText) **uint64 { return &s.SpeculativePages },
	"vm.page_pageable_internal_count":           func(s *SysctlText) **uint64 { return &s.InternalPages },
	"vm.page_pageable_external_count":           func(s *SysctlText) **uint64 { return &s.ExternalPages },
	"vm.pages":                                  func(s *SysctlText) **uint64 { return &s.TotalPages },
	"machdep.xcpm.hard_plimit_max_100mhz_ratio": func(s *SysctlText) **uint64 { return &s.CPUMaxFreq },
}

var sysctlWords = map[string]func(*SysctlText) **string{
	"machdep.cpu.brand_string": func(s *SysctlText) **string { return &s.Chip },
	"hw.model":                 func(s *SysctlText) **string { return &s.Model },
	"kern.osproductversion":    func(s *SysctlText) **string { return &s.OSVersion },
}

// set stores the value that the text gives for a name.
func (s *SysctlText) set(name, value string) {
	switch {
	case name == "vm.swapusage":
		// A cut value leaves its fields absent.
		if u, _ := ParseSwapUsage(value); u != nil {
			s.SwapUsage = *u
		}
	case name == "iogpu.wired_limit_mb" && strings.Contains(value, "->"):
		before, after, _ := strings.Cut(value, "->")
		s.WiredLimitOldMB = whole(strings.TrimSpace(before))
		s.WiredLimitNewMB = whole(strings.TrimSpace(after))
	case sysctlNumbers[name] != nil:
		*sysctlNumbers[name](s) = whole(value)
	case sysctlWords[name] != nil && value != "":
		*sysctlWords[name](s) = &value
	case strings.HasPrefix(name, "hw.perflevel"):
		index, key, ok := strings.Cut(strings.TrimPrefix(name, "hw.perflevel"), ".")
		n, err := strconv.ParseUint(index, 10, 8)
		if ok && err == nil && n < maxLevels {
			s.level(n).set(key, value)
		}
	}
}

func (l *SysctlLevel) set(key, value string) {
	switch key {
	case "name":
		if value != "" {
			l.Name = &value
		}
	case "physicalcpu":
		l.CPUs = whole(value)
	case "logicalcpu":
		l.Logical = whole(value)
	case "l1icachesize":
		l.L1I = whole(value)
	case "l1dcachesize":
		l.L1D = whole(value)
	case "l2cachesize":
		l.L2 = whole(value)
	}
}

// level finds or makes the level with an index and keeps them in order.
func (s *SysctlText) level(index uint64) *SysctlLevel {
	i := 0
	for i < len(s.Levels) && s.Levels[i].Index < index {
		i++
	}
	if i == len(s.Levels) || s.Levels[i].Index != index {
		s.Levels = append(s.Levels[:i:i], append([]SysctlLevel{{Index: index}}, s.Levels[i:]...)...)
	}
	return &s.Levels[i]
}

// derive fills what follows from other values.
func (s *SysctlText) derive() {
	if s.WiredLimitMB != nil {
		s.WiredLimit = times(s.WiredLimitMB, 1<<20)
	}
	if s.WiredLimit != nil {
		s.WiredLimitIsDefault = new(*s.WiredLimit == 0)
	}
	s.CPUMaxFreq = times(s.CPUMaxFreq, 100)
	s.PageSize = pageSize(s.PageSize)
	if s.PressureLevel != nil {
		s.Pressure = pressureWord(*s.PressureLevel)
	}
	if s.RAM == nil {
		// The second amount is the memory less the first (XNU, kmem_set_user_wire_limits).
		s.RAM = sum(s.UserWireLimit, s.NoUserWire)
	}
	if s.UserWireLimit != nil && s.RAM != nil && *s.RAM > 0 {
		p := float64(*s.UserWireLimit) / float64(*s.RAM) * 100
		s.UserWireLimitPercent = new(math.Round(p*1e4) / 1e4)
	}
	if s.CPUs == nil && s.LevelCount != nil && uint64(len(s.Levels)) == *s.LevelCount {
		var parts []*uint64
		for _, l := range s.Levels {
			parts = append(parts, l.Logical)
		}
		if len(parts) > 0 {
			s.CPUs = sum(parts...)
		}
	}
}

// pressureWord is the system's word for a level (memory_pressure(1): "warn").
func pressureWord(level uint64) *string {
	switch level {
	case 1:
		return new("normal")
	case 2:
		return new("warn")
	case 4:
		return new("critical")
	}
	return nil
}
