package metal

import (
	"strconv"
	"strings"
)

// IOReportText is what "macmon debug" prints of the tables of clocks and of the
// channels of IOReport. Every field may be absent.
type IOReportText struct {
	Chip  *string `json:"chip"`
	Model *string `json:"model_identifier"`
	// The ladders are the steps of clock, lowest first, without the 0 that stands
	// for off; GPULadderMV are the voltages of the GPU's.
	GPULadder    []float64 `json:"gpu_ladder_mhz"`
	GPULadderMV  []float64 `json:"gpu_ladder_mv"`
	GPULadderTop *float64  `json:"gpu_ladder_top_mhz"`
	CPUPLadder   []float64 `json:"cpu_p_ladder_mhz"` // not on the M5, which has other keys
	CPUELadder   []float64 `json:"cpu_e_ladder_mhz"`
	// Energy are the channels of the group "Energy Model".
	Energy []IOReportEnergy `json:"energy_channels"`
	// GPUActive is the share of time in which the GPU was not off, GPUClock the
	// mean of the ladder over it: the clock that was asked for, which the hardware
	// may not have kept.
	GPUActive *float64 `json:"gpu_active_percent"`
	GPUClock  *float64 `json:"gpu_freq_mhz"`
}

// IOReportEnergy is one channel of energy; its unit is that of the channel.
type IOReportEnergy struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Power *float64 `json:"power_w"` // absent where the channel told nonsense
}

// maxChannels bounds what is kept; an M2 Ultra has some hundreds.
const maxChannels = 1 << 14

// ParseIOReportText decodes the output of "macmon debug" or a part of it.
func ParseIOReportText(text string) (*IOReportText, error) {
	r := &IOReportText{}
	tables := map[string][2][]float64{} // frequencies and voltages by key
	var states map[string]float64
	known, cut := false, ""
	for line := range strings.Lines(text) {
		whole := strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(line)
		switch {
		case !whole && (strings.HasPrefix(line, "voltage-states") || strings.HasPrefix(line, "Chip: ")):
			cut = line // a table or name that lacks its end
		case strings.HasPrefix(line, "voltage-states"):
			known = voltageStates(tables, line) || known
		case strings.HasPrefix(line, "Energy Model ::"):
			if e, ok := energyChannel(line); ok && len(r.Energy) < maxChannels {
				r.Energy, known = append(r.Energy, e), true
			}
		case strings.HasPrefix(line, "GPU Stats :: GPU Performance States :: GPUPH "):
			states, known = residencies(line), true
		case strings.HasPrefix(line, "Chip: "):
			r.chipLine(line)
			known = true
		}
	}
	r.ladders(tables)
	r.gpuResidency(states)
	switch {
	case cut != "":
		return r, &TextError{Truncated, "macmon", lastLine(cut)}
	case known:
		return r, nil
	case strings.TrimSpace(text) == "":
		return r, &TextError{Truncated, "macmon", "no output"}
	}
	return r, &TextError{LabelsNotRecognised, "macmon", lastLine(text)}
}

// chipLine reads "Chip: Apple M2 Ultra | Model: Mac14,14 | OS: … | proc 24:16:8".
func (r *IOReportText) chipLine(line string) {
	for part := range strings.SplitSeq(line, "|") {
		name, value, _ := strings.Cut(part, ":")
		switch strings.TrimSpace(name) {
		case "Chip":
			r.Chip = knownChip(word(value))
		case "Model":
			r.Model = word(value)
		}
	}
}

// voltageStates reads "voltage-states9: (f) 0 444000000 …" into tables.
func voltageStates(tables map[string][2][]float64, line string) bool {
	key, rest, _ := strings.Cut(line, ":")
	kind, list, _ := strings.Cut(strings.TrimSpace(rest), ")")
	which := strings.Index("(f(v", kind) / 2
	if kind != "(f" && kind != "(v" || len(tables) > 256 {
		return false
	}
	var numbers []float64
	for _, w := range strings.Fields(list) {
		n := number(w)
		if n == nil || len(numbers) == maxSteps {
			return false
		}
		numbers = append(numbers, *n)
	}
	t := tables[key]
	t[which] = numbers
	tables[key] = t
	return true
}

// ladders takes the table of each kind of core: 9 is the GPU's on every chip, 5
// and 1 are the CPU's until the M4 (macmon, src_lib).
func (r *IOReportText) ladders(tables map[string][2][]float64) {
	r.GPULadder, r.GPULadderMV = ladder(tables, "voltage-states9", "voltage-states9-sram")
	for _, mhz := range r.GPULadder {
		if r.GPULadderTop == nil || mhz > *r.GPULadderTop {
			r.GPULadderTop = new(mhz)
		}
	}
	r.CPUPLadder, _ = ladder(tables, "voltage-states5-sram", "voltage-states5")
	r.CPUELadder, _ = ladder(tables, "voltage-states1-sram", "voltage-states1")
}

func ladder(tables map[string][2][]float64, keys ...string) (mhz, mv []float64) {
	for _, key := range keys {
		t := tables[key]
		for i, f := range t[0] {
			if f == 0 {
				continue
			}
			mhz = append(mhz, tableMHz(f))
			if len(t[1]) == len(t[0]) {
				mv = append(mv, t[1][i])
			}
		}
		if mhz != nil {
			return mhz, mv
		}
	}
	return nil, nil
}

// tableMHz tells kHz (tables of the CPU from the M4 on) from Hz (all others): no
// step is under 50 MHz, and none reaches 50 GHz.
func tableMHz(f float64) float64 {
	if f < 50e6 {
		return f / 1e3
	}
	return f / 1e6
}

// energyChannel reads "Energy Model :: subgroup :: GPU Energy (nJ, subscribed) = 0.05W".
func energyChannel(line string) (e IOReportEnergy, ok bool) {
	parts := strings.SplitN(line, " :: ", 3)
	if len(parts) != 3 {
		return e, false
	}
	// A subgroup may be empty and leave one blank: " ::  :: ".
	name, watts, ok := strings.Cut(parts[2], ") = ")
	i := strings.LastIndex(name, " (")
	if !ok || i < 0 {
		return e, false
	}
	e.Unit, _, _ = strings.Cut(name[i+2:], ",")
	e.Name = name[:i]
	digits, whole := strings.CutSuffix(watts, "W")
	if !whole || e.Unit != "mJ" && e.Unit != "uJ" && e.Unit != "nJ" {
		return e, false
	}
	e.Power = number(digits)
	return e, true
}

// residencies reads [("OFF", 12), ("P1", 34)], ticks by state.
func residencies(line string) map[string]float64 {
	_, list, _ := strings.Cut(line, "= [")
	list, whole := strings.CutSuffix(list, "]")
	states := map[string]float64{}
	for whole {
		name, rest, ok := strings.Cut(strings.TrimLeft(list, `, `), `", `)
		ticks, rest, closed := strings.Cut(rest, ")")
		n := number(ticks)
		if !ok || !closed || len(states) > maxSteps {
			break
		}
		if n == nil { // INT64_MIN is seen
			return nil
		}
		states[strings.TrimPrefix(name, `("`)], list = *n, rest
	}
	return states
}

// gpuResidency makes activity and clock of the time in each state: P1 is the first
// step of the ladder. A state without a step leaves the clock unknown.
func (r *IOReportText) gpuResidency(states map[string]float64) {
	var all, clock float64
	complete := true
	for name, ticks := range states {
		all += ticks
		if name == "OFF" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(name, "P"))
		if err != nil || n < 1 || n > len(r.GPULadder) {
			complete = false
			continue
		}
		clock += ticks * r.GPULadder[n-1]
	}
	busy := all - states["OFF"]
	r.GPUActive = share(busy, all)
	if complete && busy > 0 {
		r.GPUClock = rounded(clock/busy, 4)
	}
}
