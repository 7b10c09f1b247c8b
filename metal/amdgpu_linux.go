package metal

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// drmCard is a graphics card as the kernel shows it below /sys/class/drm. The
// files are amdgpu's; other drivers have some of them, most have none.
//
// Files and units: Documentation/gpu/amdgpu/driver-misc.rst and thermal.rst.
type drmCard struct {
	device  string // …/card0/device
	driver  string
	model   string
	top     *float64
	sensors hwmonSensors
}

// findCard picks the card with the most memory among those that tell anything.
func findCard(sys string) *drmCard {
	devices, _ := filepath.Glob(sys + "/class/drm/card[0-9]*/device") // in order
	var best *drmCard
	most := uint64(0)
	for _, device := range devices {
		if strings.Contains(filepath.Base(filepath.Dir(device)), "-") {
			continue // a connector, card0-DP-1
		}
		c := openCard(device, sys)
		if c == nil {
			continue
		}
		n := uint64(0)
		if total := numberIn(device + "/mem_info_vram_total"); total != nil {
			n = *total
		}
		if best == nil || n > most {
			best, most = c, n
		}
	}
	return best
}

// openCard is nil for a card of which nothing is told, such as a virtual one.
func openCard(device, sys string) *drmCard {
	link, err := os.Readlink(device + "/driver")
	if err != nil {
		return nil
	}
	c := &drmCard{device: device, driver: filepath.Base(link)}
	c.sensors.find(device + "/hwmon")
	if len(c.sensors.watched) == 0 && (c.driver == "i915" || c.driver == "xe") {
		c.sensors.findPackage(sys + "/class/hwmon")
	}
	if c.read() == nil {
		return nil
	}
	if c.model = firstLine(device + "/product_name"); c.model == "" && c.driver == gpuFromAMD {
		c.model = strings.TrimSpace("AMD GPU " + firstLine(device+"/device"))
	}
	c.top = topStep(device + "/pp_dpm_sclk")
	return c
}

// read reads what the card tells, nil when that is nothing. A card that the kernel
// switched off is left alone: reading its files would wake it.
func (c *drmCard) read() *GPU {
	if _, err := os.Stat(c.device); err != nil {
		return nil
	}
	g := &GPU{Source: c.driver, Name: c.model, TopClock: c.top}
	if status := firstLine(c.device + "/power/runtime_status"); status == "suspended" || status == "suspending" {
		return g
	}
	told := false
	if n := numberIn(c.device + "/gpu_busy_percent"); n != nil && *n <= 100 {
		g.Utilisation, told = new(float64(*n)/100), true
	}
	if n := numberIn(c.device + "/mem_info_vram_total"); n != nil && *n > 0 {
		g.WorkingSet, g.LimitSource, told = n, c.driver, true
		g.InUse = numberIn(c.device + "/mem_info_vram_used")
	}
	c.sensors.read(g.Utilisation)
	g.feel(hottestOf(c.sensors.watched))
	g.Power, g.Clock = c.sensors.power(), c.sensors.clock()
	if told || g.Temperature != nil || g.Power != nil || g.Clock != nil {
		return g
	}
	return nil
}

// topStep is the highest step of a list like "1: 2400Mhz *", in MHz.
func topStep(path string) *float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var steps []float64
	for line := range strings.Lines(string(text)) {
		_, step, _ := strings.Cut(line, ":")
		step = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(step), "*")))
		if mhz, err := strconv.ParseUint(strings.TrimSuffix(step, "mhz"), 10, 16); err == nil && mhz > 0 {
			steps = append(steps, float64(mhz))
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return new(slices.Max(steps))
}

// numberIn is a file's whole number, nil when there is none.
func numberIn(path string) *uint64 { return whole(strings.TrimSpace(firstLine(path))) }
