package metal

import "strings"

// Powermetrics is what the command powermetrics prints, as text or as property
// lists. With several samples its fields are those of the last; First is the
// first then, and absent otherwise.
//
// The command needs root, so nothing that Plimsoll shows comes from it: it is
// there to check the direct readings against. Apple calls its powers estimates
// that are not to be compared between machines.
type Powermetrics struct {
	MachineModel *string `json:"machine_model"`
	OSBuild      *string `json:"os_build"`
	// Samples counts the samples that are told apart: the headings of a text, the
	// finished property lists. Absent for a part of a text without a heading.
	Samples *int `json:"samples"`
	PowermetricsSample
	First *PowermetricsSample `json:"first_sample,omitempty"`
}

// PowermetricsSample is one sample. Every field may be absent. Clocks are means
// over the time in which the part was busy.
type PowermetricsSample struct {
	// Elapsed is the length of the sample, which is longer than what was asked for.
	Elapsed   *float64 `json:"elapsed_ms"`
	ElapsedNS *uint64  `json:"elapsed_ns"` // property list only

	GPUFreq    *float64 `json:"gpu_freq_mhz"`
	GPUActive  *float64 `json:"gpu_active_percent"`
	GPUIdle    *float64 `json:"gpu_idle_percent"` // text only
	GPUIdleOf1 *float64 `json:"gpu_idle_ratio"`   // property list only
	// GPUSteps are the clocks of the GPU in the order they are printed, repetitions
	// too; GPULadderTop is the highest of them.
	GPUSteps     []PowermetricsStep `json:"gpu_steps"`
	GPULadderTop *float64           `json:"gpu_ladder_top_mhz"`
	// GPURequested is what was asked of the hardware, by step (until macOS 12) or
	// by state, and no sign of what it did.
	GPURequestedSteps []PowermetricsStep  `json:"gpu_requested_steps,omitempty"`
	GPURequested      []PowermetricsState `json:"gpu_requested_states,omitempty"`
	GPUSoftware       []PowermetricsState `json:"gpu_software_states,omitempty"`

	// Powers are in milliwatts. "GPU Power" can stand in the GPU's block and, with
	// another value, in the processor's. GPUPower is the one of the processor's
	// block, which is part of the printed sum, or the only one there is.
	GPUPower         *float64 `json:"gpu_power_mw"`
	GPUPowerGPUBlock *float64 `json:"gpu_power_gpu_block_mw"`
	GPUPowerCPUBlock *float64 `json:"gpu_power_cpu_block_mw"`
	CPUPower         *float64 `json:"cpu_power_mw"`
	ANEPower         *float64 `json:"ane_power_mw"`
	DRAMPower        *float64 `json:"dram_power_mw"`
	PackagePower     *float64 `json:"package_power_mw"`
	CombinedPower    *float64 `json:"combined_power_mw"`
	// The GPU's energy of a property list, which tells it twice as well, and the
	// power that follows from each.
	GPUEnergy               *float64 `json:"gpu_energy_mj"`
	GPUEnergyPower          *float64 `json:"gpu_power_from_gpu_energy_mw"`
	ProcessorGPUEnergy      *float64 `json:"processor_gpu_energy_mj"`
	ProcessorGPUEnergyPower *float64 `json:"gpu_power_from_processor_energy_mw"`

	// Thermal is the system's word: Nominal, Moderate, Heavy, Trapping, Sleeping.
	Thermal *string `json:"thermal_pressure"`

	// Clusters go by name: E and P until the M4, E0, P0, P1 on large chips, S, P0
	// and P1 on the M5 Pro and Max. CPUs go by number.
	Clusters map[string]*PowermetricsCore `json:"clusters"`
	CPUs     map[string]*PowermetricsCore `json:"cpus"`
	Tasks    []PowermetricsTask           `json:"tasks"`

	Battery    *float64 `json:"battery_percent"`
	NetworkOut *float64 `json:"network_out_bytes_per_second"`
	NetworkIn  *float64 `json:"network_in_bytes_per_second"`

	// The SMC's part is there on Intel only.
	Fan             *float64 `json:"fan_rpm"` // the first one
	CPUTemperature  *float64 `json:"cpu_temp_celsius"`
	GPUTemperature  *float64 `json:"gpu_temp_celsius"`
	CPUThermalLevel *float64 `json:"cpu_thermal_level"`
	GPUThermalLevel *float64 `json:"gpu_thermal_level"`
	Prochots        *float64 `json:"prochot_count"`
}

// PowermetricsStep is the share of the sample at one clock: in percent in a text,
// of 1 in a property list.
type PowermetricsStep struct {
	MHz     float64  `json:"mhz"`
	Percent *float64 `json:"percent,omitempty"`
	Ratio   *float64 `json:"ratio,omitempty"`
}

// PowermetricsState is the share of the sample in one state, "P1" or "SW_P1".
type PowermetricsState struct {
	Name    string   `json:"state"`
	Percent *float64 `json:"percent,omitempty"`
	Ratio   *float64 `json:"ratio,omitempty"`
}

// PowermetricsCore is a cluster of cores or one core. A text tells percents, a
// property list ratios and how many cores a cluster has.
type PowermetricsCore struct {
	Power       *float64 `json:"power_mw,omitempty"`
	FreqHz      *float64 `json:"freq_hz,omitempty"`
	Freq        *float64 `json:"freq_mhz,omitempty"`
	Active      *float64 `json:"active_percent,omitempty"`
	Idle        *float64 `json:"idle_percent,omitempty"`
	Down        *float64 `json:"down_percent,omitempty"`
	Online      *float64 `json:"online_percent,omitempty"`
	IdleRatio   *float64 `json:"idle_ratio,omitempty"`
	DownRatio   *float64 `json:"down_ratio,omitempty"`
	OnlineRatio *float64 `json:"online_ratio,omitempty"`
	CPUs        *int     `json:"cpus,omitempty"`
}

// PowermetricsTask is one row of the running tasks. ALL_TASKS has the pid −2.
type PowermetricsTask struct {
	Name string   `json:"name"`
	PID  int      `json:"pid"`
	CPU  *float64 `json:"cpu_ms_per_s"`
	GPU  *float64 `json:"gpu_ms_per_s,omitempty"`
}

// Bounds of what is kept of one sample; no machine has as many.
const (
	maxCores = 1024
	maxSteps = 1024
	maxTasks = 1 << 16
)

// ParsePowermetrics decodes the output of powermetrics, in whichever form it is.
// With an error (a *TextError) it returns what it could read as well.
func ParsePowermetrics(data []byte) (*Powermetrics, error) {
	if isPlist(data) {
		return parsePowermetricsPlist(data)
	}
	return parsePowermetricsText(string(data))
}

// core finds or makes the core with a name. Beyond maxCores it is not kept.
func core(of *map[string]*PowermetricsCore, name string) *PowermetricsCore {
	if *of == nil {
		*of = map[string]*PowermetricsCore{}
	}
	c := (*of)[name]
	if c == nil {
		c = &PowermetricsCore{}
		if len(*of) < maxCores {
			(*of)[name] = c
		}
	}
	return c
}

// clusterName is "P0" of "P0-Cluster", absent for anything else.
func clusterName(label string) string {
	name, ok := strings.CutSuffix(label, "-Cluster")
	if !ok || name == "" || len(name) > 32 || strings.ContainsAny(name, " \t") {
		return ""
	}
	return name
}

// ladderTop is the highest step.
func ladderTop(steps []PowermetricsStep) *float64 {
	var top *float64
	for _, s := range steps {
		if top == nil || s.MHz > *top {
			top = new(s.MHz)
		}
	}
	return top
}
