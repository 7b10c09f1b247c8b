package metal

import (
	"math"
	"strconv"
)

// parsePowermetricsPlist reads the stream of "-f plist": property lists with NULs
// between them, of which the last may be unfinished when the command was ended.
// That one is dropped.
func parsePowermetricsPlist(data []byte) (*Powermetrics, error) {
	m := &Powermetrics{}
	pieces, _ := plistPieces(data)
	if len(pieces) == 0 {
		return m, &TextError{Truncated, "powermetrics", "no finished property list"}
	}
	last, err := plistSample(pieces[len(pieces)-1])
	if err != nil {
		return m, err
	}
	m.Samples = new(len(pieces))
	m.MachineModel, m.OSBuild = last.word("hw_model"), last.word("kern_osversion")
	m.PowermetricsSample = sampleOf(last)
	if len(pieces) > 1 {
		if first, err := plistSample(pieces[0]); err == nil {
			m.First = new(sampleOf(first))
			if m.MachineModel == nil {
				m.MachineModel, m.OSBuild = first.word("hw_model"), first.word("kern_osversion")
			}
		}
	}
	return m, nil
}

// plistSample is the dictionary of one sample.
func plistSample(piece []byte) (plistDict, error) {
	v, err := parsePlist(piece)
	if err != nil {
		return nil, &TextError{NotPlist, "powermetrics", err.Error()}
	}
	d, ok := v.(plistDict)
	if !ok {
		return nil, &TextError{LabelsNotRecognised, "powermetrics", "no dictionary"}
	}
	for _, key := range []string{"is_delta", "elapsed_ns", "hw_model", "processor", "gpu", "thermal_pressure", "tasks", "smc"} {
		if _, ok := d[key]; ok {
			return d, nil
		}
	}
	return nil, &TextError{LabelsNotRecognised, "powermetrics", "no key of a sample"}
}

func sampleOf(d plistDict) PowermetricsSample {
	s := PowermetricsSample{ElapsedNS: d.whole("elapsed_ns"), Thermal: d.word("thermal_pressure")}
	if s.ElapsedNS != nil {
		s.Elapsed = new(float64(*s.ElapsedNS) / 1e6)
	}
	s.readProcessor(d.dict("processor"))
	s.readGPU(d.dict("gpu"))
	s.GPUEnergyPower = s.overElapsed(s.GPUEnergy)
	s.ProcessorGPUEnergyPower = s.overElapsed(s.ProcessorGPUEnergy)
	for _, t := range d.dicts("tasks") {
		s.addTask(t)
	}
	if all := d.dict("all_tasks"); all != nil {
		s.addTask(all)
	}
	s.Battery = d.dict("battery").number("percent_charge")
	s.NetworkOut = d.dict("network").number("obyte_rate")
	s.NetworkIn = d.dict("network").number("ibyte_rate")
	smc := d.dict("smc")
	s.Fan, s.CPUTemperature, s.GPUTemperature = smc.number("fan"), smc.number("cpu_die"), smc.number("gpu_die")
	s.CPUThermalLevel, s.GPUThermalLevel = smc.number("cpu_thermal_level"), smc.number("gpu_thermal_level")
	return s
}

func (s *PowermetricsSample) readProcessor(d plistDict) {
	s.CPUPower, s.GPUPower = d.number("cpu_power"), d.number("gpu_power")
	s.ANEPower, s.CombinedPower = d.number("ane_power"), d.number("combined_power")
	s.DRAMPower, s.PackagePower = d.number("dram_power"), d.number("package_power")
	s.GPUPowerCPUBlock = s.GPUPower
	s.ProcessorGPUEnergy = d.number("gpu_energy")
	for _, c := range d.dicts("clusters") {
		label := c.word("name")
		if label == nil {
			continue
		}
		name := clusterName(*label)
		if name == "" {
			name = *label
		}
		cluster := core(&s.Clusters, name)
		cluster.read(c)
		cluster.Power = c.number("power")
		if cpus := c.dicts("cpus"); cpus != nil {
			cluster.CPUs = new(len(cpus))
			for _, cpu := range cpus {
				if n := cpu.whole("cpu"); n != nil {
					core(&s.CPUs, strconv.FormatUint(*n, 10)).read(cpu)
				}
			}
		}
	}
}

// read takes what clusters and cores have in common; their freq_hz is in hertz.
func (c *PowermetricsCore) read(d plistDict) {
	c.FreqHz = d.number("freq_hz")
	if c.FreqHz != nil {
		c.Freq = rounded(*c.FreqHz/1e6, 6)
	}
	c.IdleRatio, c.DownRatio, c.OnlineRatio = d.number("idle_ratio"), d.number("down_ratio"), d.number("online_ratio")
}

func (s *PowermetricsSample) readGPU(d plistDict) {
	// The key says hertz and the value is megahertz (338 on an M4 Max). A system
	// that mends this will print what no GPU has in megahertz.
	s.GPUFreq = d.number("freq_hz")
	if s.GPUFreq != nil && *s.GPUFreq >= 1e6 {
		s.GPUFreq = rounded(*s.GPUFreq/1e6, 6)
	}
	s.GPUEnergy = d.number("gpu_energy")
	s.GPUIdleOf1 = d.number("idle_ratio")
	if idle := s.GPUIdleOf1; idle != nil && *idle <= 1 {
		s.GPUActive = rounded((1-*idle)*100, 4)
	}
	for _, step := range d.dicts("dvfm_states") {
		if mhz := step.number("freq"); mhz != nil && len(s.GPUSteps) < maxSteps {
			s.GPUSteps = append(s.GPUSteps, PowermetricsStep{MHz: *mhz, Ratio: step.number("used_ratio")})
		}
	}
	s.GPULadderTop = ladderTop(s.GPUSteps)
	s.GPURequested = plistStates(d.dicts("sw_requested_state"), "sw_req_state")
	s.GPUSoftware = plistStates(d.dicts("sw_state"), "sw_state")
}

func plistStates(list []plistDict, key string) []PowermetricsState {
	var states []PowermetricsState
	for _, d := range list {
		if name := d.word(key); name != nil && len(states) < maxSteps {
			states = append(states, PowermetricsState{Name: *name, Ratio: d.number("used_ratio")})
		}
	}
	return states
}

func (s *PowermetricsSample) addTask(d plistDict) {
	name, pid := d.word("name"), d.integer("pid")
	if name != nil && pid != nil && len(s.Tasks) < maxTasks {
		s.Tasks = append(s.Tasks, PowermetricsTask{*name, *pid, d.number("cputime_ms_per_s"), d.number("gputime_ms_per_s")})
	}
}

// overElapsed is the mean power in mW of an energy in mJ.
func (s *PowermetricsSample) overElapsed(mJ *float64) *float64 {
	if mJ == nil || s.ElapsedNS == nil || *s.ElapsedNS == 0 {
		return nil
	}
	mW := *mJ / (float64(*s.ElapsedNS) / 1e9)
	if math.IsInf(mW, 0) {
		return nil
	}
	return rounded(mW, 6)
}
