package metal

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/metal/internal/iokit"
)

// macHardware is what a Mac is asked about its GPU, heat and power.
type macHardware interface {
	Accelerators() ([]iokit.Accelerator, error)
	ServiceProperty(service, property string) ([]byte, error)
	GPUTimes() (map[int]uint64, error)
	HIDTemperatures() ([]iokit.Sensor, error)
	Device() (*iokit.Device, error)
	ThermalState() (int64, error)
	LowPowerMode() (bool, error)
	NotifyState(key string) (uint64, error)
	ProvidingPowerSource() (string, error)
	Keys() (smcKeys, error)
	Report(only ...iokit.Channel) (deltas, error)
}

// smcKeys are the keys of the system management controller.
type smcKeys interface {
	Count() (int, error)
	KeyAt(i int) (string, error)
	Info(key string) (kind string, size int, err error)
	Read(key string) (kind string, value []byte, err error)
}

// deltas are the changes of IOReport channels since the last call, nil at the first.
type deltas interface {
	Delta() ([]iokit.Entry, error)
}

// frameworks is the real hardware.
type frameworks struct{ *iokit.System }

func (f frameworks) Keys() (smcKeys, error) {
	c, err := f.OpenSMC()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (f frameworks) Report(only ...iokit.Channel) (deltas, error) {
	r, err := f.Subscribe(only...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// macGPU is what is kept between two readings of the GPU.
type macGPU struct {
	cores   *int
	awake   time.Duration // of the last reading
	wall    time.Time
	read    bool // there was one
	limit   gpuLimit
	rates   gpuRates
	sensors macSensors
}

// A longer sleep than this between two readings makes no rates: the counters stand
// still, go on or start anew, which nobody promises.
const noticedSleep = time.Second

// GPU reads the graphics processor. What it does and holds is asked at every
// call; the limit when it changed or may have.
func (m *mac) GPU() (*GPU, error) {
	if m.hardware == nil {
		return nil, fmt.Errorf("reading the GPU: %w", ErrUnsupported)
	}
	wall, awake := m.now(), m.awake()
	elapsed, woke := awake-m.gpu.awake, false
	if m.gpu.read {
		woke = wall.Round(0).Sub(m.gpu.wall)-elapsed > noticedSleep
	}
	r := &GPU{}
	accelerators, err := m.hardware.Accelerators()
	r.describe(accelerators)
	if r.Cores != nil && m.gpu.cores == nil {
		m.gpu.cores, m.identity = r.Cores, nil // the bandwidth depends on it
	}
	r.Cores = m.gpu.cores
	limitErr := m.gpuLimit(r, awake, woke)
	if r.Name == "" && err != nil && limitErr != nil {
		return nil, fmt.Errorf("reading the GPU: %w", told(errors.Join(err, limitErr)))
	}
	m.gpu.rates.read(m.hardware, awake, woke)
	r.Clock, r.TopClock, r.Power = m.gpu.rates.clock, m.gpu.rates.top, m.gpu.rates.power
	r.Requested = r.Clock != nil
	r.feel(m.gpu.sensors.read(m.hardware, m.generation(), r.Utilisation, awake))
	if r.Name == "" {
		r.Name = m.text("machdep.cpu.brand_string")
	}
	r.Source = gpuFromIOKit
	m.gpu.awake, m.gpu.wall, m.gpu.read = awake, wall.Round(0), true
	return r, nil
}

// The sources of a GPU.
const (
	gpuFromIOKit = "iokit"
	gpuFromNVML  = "nvml"
	gpuFromAMD   = "amdgpu"
)

// told says in the words of this package that a machine does not have what was asked.
func told(err error) error {
	if errors.Is(err, iokit.ErrMissing) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// generation is the chip's, "" when it is not known.
func (m *mac) generation() string {
	if m.identity == nil {
		m.identity = m.identify()
	}
	return m.identity.Generation
}

// describe takes what the driver says. Of several accelerators it is the one that
// tells its cores or what it does.
//
// "In use system memory" is what the driver holds now, of all programs. Beside it
// stand "Alloc system memory", address space that was handed out and up to thirty
// times as much, and "In use system memory (driver)", which is 0 on real GPUs.
func (g *GPU) describe(accelerators []iokit.Accelerator) {
	best := -1
	for i, a := range accelerators {
		_, tells := a.Statistics["Device Utilization %"]
		if best < 0 || (tells || a.Cores != nil) && accelerators[best].Cores == nil {
			best = i
		}
	}
	if best < 0 {
		return
	}
	a := accelerators[best]
	g.Name = a.Model
	if a.Cores != nil && *a.Cores > 0 && *a.Cores < 1<<12 {
		g.Cores = new(int(*a.Cores))
	}
	if n, ok := a.Statistics["In use system memory"]; ok && n > 0 && n <= mostMemory {
		g.InUse = new(uint64(n))
	}
	if n, ok := a.Statistics["recoveryCount"]; ok && n >= 0 {
		g.Resets = new(uint64(n))
	}
	g.Utilisation = percentOf(a.Statistics, "Device Utilization %")
	g.Renderer = percentOf(a.Statistics, "Renderer Utilization %")
	g.Tiler = percentOf(a.Statistics, "Tiler Utilization %")
}

// percentOf is a value in per cent as a share; nil when it is not told or cannot
// be one.
func percentOf(statistics map[string]int64, key string) *float64 {
	n, ok := statistics[key]
	if !ok || n < 0 || n > 100 {
		return nil
	}
	return new(float64(n) / 100)
}
