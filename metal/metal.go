// Package metal reads facts about the machine it runs on: chip, memory, swap,
// memory pressure, GPU, heat and processes. All reads of the operating system
// live here.
//
// This file holds the types. A file what.go holds the decoding of what, and mac.go
// the reading of a Mac over a small seam of calls, so that every byte a Mac tells
// is decoded in tests on Linux; the calls themselves stand in metal_darwin.go and
// internal/iokit. what_linux.go reads proc and sys, below roots that are given.
// What the commands vm_stat, sysctl and memory_pressure print is decoded too
// (ParseVMStat and its like), to check the direct calls against.
//
// No read starts a process, and none needs root. The package keeps open handles
// and what never changes, and no more: rates are made from counters by package
// monitor, which knows when it read them.
//
// Absent is never zero: a field that the system did not tell is nil.
package metal

import "errors"

// Reader is the one seam for local facts. The operating system implements it
// here (New), the simulated Mac in package monitor/sim.
//
// Each call returns a fresh value that the caller may keep, or an error that
// wraps ErrUnsupported, ErrNotPermitted or the system's own. It fails only when it
// has nothing to tell: a field that cannot be read is absent and takes no other
// with it. A call takes microseconds, but Processes, which takes milliseconds and
// is asked for only when somebody looks. A Reader is used by one goroutine at a
// time.
type Reader interface {
	// Machine tells what does not change while the system is up, and uptime.
	Machine() (*Machine, error)
	Memory() (*Memory, error)
	Swap() (*Swap, error)
	GPU() (*GPU, error)
	Thermal() (*Thermal, error)
	Power() (*Power, error)
	// Processes lists all processes that this user may see.
	Processes() ([]Process, error)
	// Process reads one process again, without Args. It fails with ErrNoProcess
	// when there is none with that pid; one that ended and was not collected by
	// its parent is none.
	Process(pid int) (*Process, error)
}

var (
	// ErrUnsupported says that this system or this build has no source for a fact.
	ErrUnsupported = errors.New("not told by this system")
	// ErrNotPermitted says that the source exists and is closed to this user.
	ErrNotPermitted = errors.New("not permitted")
	// ErrNoProcess says that a process is gone.
	ErrNoProcess = errors.New("no such process")
)

// Machine is the identity of the machine. Every field may be absent.
type Machine struct {
	// Chip is the name the system gives, "Apple M5", or the CPU's model name on Linux.
	Chip string `json:"chip,omitzero"`
	// Model is the model identifier, "Mac17,3". Absent on Linux.
	Model string `json:"model,omitzero"`
	// Cores is the number of physical cores, of which the levels name the kinds,
	// fastest first, in the system's own words ("Super", "Performance", …).
	// Levels is absent where the system does not tell them.
	Cores  *int        `json:"cores,omitempty"`
	Levels []CoreLevel `json:"core_levels,omitempty"`
	// RAMBytes is the memory of the machine in bytes.
	RAMBytes *uint64 `json:"ram_bytes,omitempty"`
	// Generation is the chip's, "M5". Absent for chips that are not in the table
	// of LookupChip, and on Linux.
	Generation string `json:"generation,omitzero"`
	// Bandwidth is the most that the chip's memory delivers in bytes per second;
	// BandwidthCertain is false where it is the lower of several figures for chips
	// of this name. Absent for chips that are not in the table.
	Bandwidth        *float64 `json:"memory_bandwidth_bytes_per_second,omitempty"`
	BandwidthCertain *bool    `json:"memory_bandwidth_certain,omitempty"`
	// OS is the system's name and version, "macOS 26.4", "Debian GNU/Linux 12".
	OS string `json:"os,omitzero"`
	// Uptime is the time since start in seconds, sleep included.
	Uptime *float64 `json:"uptime_seconds,omitempty"`
	// BootID changes at every start of the system. Absent where it is not told.
	BootID string `json:"boot_id,omitzero"`
}

// CoreLevel is one kind of core.
type CoreLevel struct {
	Name  string `json:"name"`
	Cores int    `json:"cores"`
}

// Memory is physical memory, in bytes. A field that is absent was not told by the
// system; none is ever a made-up zero.
type Memory struct {
	// Total is the memory of the machine.
	Total *uint64 `json:"total_bytes,omitempty"`
	// Used is counted as Activity Monitor does: App + Wired + Compressed.
	// On Linux it is MemTotal − MemAvailable.
	Used *uint64 `json:"used_bytes,omitempty"`
	// App is anonymous memory of programs less what they may lose (internal −
	// purgeable pages). On Linux: AnonPages.
	App *uint64 `json:"app_bytes,omitempty"`
	// Wired cannot be paged out; GPU memory in use is part of it. On Linux:
	// Unevictable + SUnreclaim + KernelStack + PageTables.
	Wired *uint64 `json:"wired_bytes,omitempty"`
	// Compressed is the memory that the compressor occupies (not what it holds).
	// On Linux: zswap, absent where it is not switched on.
	Compressed *uint64 `json:"compressed_bytes,omitempty"`
	// Cached is file cache and purgeable memory that macOS can drop. On Linux:
	// Buffers + Cached + SReclaimable − Shmem.
	Cached *uint64 `json:"cached_bytes,omitempty"`
	// Free is memory nobody uses.
	Free *uint64 `json:"free_bytes,omitempty"`
	// Available is what the system can give up without compressing or swapping:
	// free + speculative + purgeable + file-backed pages. On Linux: MemAvailable.
	Available *uint64 `json:"available_bytes,omitempty"`
	// Pressure is the kernel's level. Absent when it was not readable.
	Pressure Pressure `json:"pressure,omitzero"`
	// PressureSource says who told Pressure: "kernel" (kern.memorystatus_vm_pressure_level)
	// or "psi" (Linux: levels made of /proc/pressure/memory).
	PressureSource string `json:"pressure_source,omitzero"`
}

// Pressure is the kernel's level of memory pressure; "" is unknown.
type Pressure string

// The levels of kern.memorystatus_vm_pressure_level: 1, 2 and 4 (XNU,
// doc/vm/memorystatus_notify.md).
const (
	PressureNormal   Pressure = "normal"
	PressureWarning  Pressure = "warning"
	PressureCritical Pressure = "critical"
)

// Swap is swap space in bytes. Used and Total are amounts now; In and Out count
// since the system started and only ever make rates.
type Swap struct {
	Used  *uint64 `json:"used_bytes,omitempty"`
	Total *uint64 `json:"total_bytes,omitempty"`
	// In and Out are swapins and swapouts (never pageins and pageouts) × page size.
	In  *uint64 `json:"swap_in_bytes,omitempty"`
	Out *uint64 `json:"swap_out_bytes,omitempty"`
}

// GPU is the graphics processor as the system sees it.
type GPU struct {
	// Source says who told it: "iokit", "nvml", "simulator" or the kernel's driver
	// on Linux, "amdgpu".
	Source string `json:"source,omitzero"`
	Name   string `json:"name,omitzero"`
	// Cores is the number of GPU cores.
	Cores *int `json:"cores,omitempty"`
	// WorkingSet is the effective GPU limit in bytes: what Metal recommends as
	// the most for the GPU (recommendedMaxWorkingSetSize). On Linux it is the
	// memory of the card.
	WorkingSet *uint64 `json:"working_set_bytes,omitempty"`
	// LimitSource says who told WorkingSet: "metal", "sysctl" (an override that
	// is set, where Metal is not there), "estimate" or the GPU's Source.
	LimitSource string `json:"limit_source,omitzero"`
	// MaxBuffer is the largest single allocation in bytes. An override of the
	// limit does not raise it.
	MaxBuffer *uint64 `json:"max_buffer_bytes,omitempty"`
	// WiredLimit is iogpu.wired_limit_mb in bytes as it is set; 0 is the
	// system's default.
	WiredLimit *uint64 `json:"wired_limit_bytes,omitempty"`
	// InUse is the memory that the GPU driver holds now, of all processes.
	InUse *uint64 `json:"in_use_bytes,omitempty"`
	// Utilisation is the busy share of the device, 0 to 1, Renderer and Tiler
	// those of its two halves. The first is not the larger of the others.
	Utilisation *float64 `json:"utilisation_ratio,omitempty"`
	Renderer    *float64 `json:"renderer_ratio,omitempty"`
	Tiler       *float64 `json:"tiler_ratio,omitempty"`
	// Temperature is the hottest plausible sensor of the GPU in °C, Sensor its
	// name. Stuck marks a value that no longer follows the load.
	Temperature *float64 `json:"temperature_celsius,omitempty"`
	Sensor      string   `json:"temperature_sensor,omitzero"`
	Stuck       bool     `json:"temperature_stuck,omitzero"`
	// Power is in watts. Absent at the first reading and after sleep.
	Power *float64 `json:"power_watts,omitempty"`
	// Clock is the mean clock while the GPU was busy, in MHz, made of residencies:
	// what was asked for, which the hardware may not have kept (Requested). TopClock
	// is the highest step of its ladder.
	Clock     *float64 `json:"clock_mhz,omitempty"`
	Requested bool     `json:"clock_requested,omitzero"`
	TopClock  *float64 `json:"top_clock_mhz,omitempty"`
	// Resets counts recoveries of the GPU since the system started.
	Resets *uint64 `json:"resets,omitempty"`
}

// Thermal is the thermal pressure.
type Thermal struct {
	Pressure ThermalPressure `json:"pressure,omitzero"`
	// Source says who told Pressure: "notify", "process_info" (which cannot tell
	// moderate from heavy) or "simulator".
	Source string `json:"source,omitzero"`
	// State is ProcessInfo.thermalState: nominal, fair, serious or critical.
	State string `json:"process_info_state,omitzero"`
}

// ThermalPressure is the system's word; "" is unknown.
type ThermalPressure string

// The levels of the notify key com.apple.system.thermalpressurelevel, 0 to 4
// (SDK header libkern/OSThermalNotification.h). Nominal never means that the
// machine is not throttled, only that no throttling is reported.
const (
	ThermalNominal  ThermalPressure = "nominal"
	ThermalModerate ThermalPressure = "moderate"
	ThermalHeavy    ThermalPressure = "heavy"
	ThermalTrapping ThermalPressure = "trapping"
	ThermalSleeping ThermalPressure = "sleeping"
)

// Power is where the machine takes its power from.
type Power struct {
	// OnBattery is absent where the system has no notion of it.
	OnBattery *bool `json:"on_battery,omitempty"`
	// LowPower is the low power mode. Absent where the system does not tell.
	LowPower *bool `json:"low_power_mode,omitempty"`
}

// Process is one process.
type Process struct {
	PID    int `json:"pid"`
	Parent int `json:"parent_pid,omitzero"`
	// Started tells two processes with one pid apart; its unit is the system's
	// (ticks since boot on Linux, microseconds since 1970 on macOS).
	Started uint64 `json:"started,omitzero"`
	// Name is the executable's base name; App the application it belongs to
	// (the outermost .app bundle on macOS, the desktop's app scope or Name on
	// Linux). Helpers of one application share its App.
	Name string `json:"name,omitzero"`
	App  string `json:"app,omitzero"`
	// Args is the command line. Absent for other users' processes, and not read
	// by Process.
	Args []string `json:"-"`
	// Footprint is the physical footprint in bytes (ri_phys_footprint): it holds
	// GPU allocations and compressed pages, which resident size does not. On
	// Linux: anonymous resident + swapped (RssAnon + RssShmem + VmSwap).
	Footprint *uint64 `json:"footprint_bytes,omitempty"`
	// CPU is the processor time spent so far, user and system, in seconds.
	CPU *float64 `json:"cpu_seconds,omitempty"`
	// GPU is the time that the GPU worked for the process so far, in seconds.
	// Absent where the system does not tell it, and not read by Process.
	GPU *float64 `json:"gpu_seconds,omitempty"`
}
