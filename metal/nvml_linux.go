package metal

import (
	"bytes"
	"fmt"
	"unsafe"

	"plimsoll/metal/objc"
)

// nvmlLibrary is NVIDIA's management library, which comes with its driver.
const nvmlLibrary = "libnvidia-ml.so.1"

// nvml is the library with the device that is read. Its functions return
// nvmlReturn_t, 0 being success. Names, types and units: nvml.h and
// https://docs.nvidia.com/deploy/nvml-api. The library is loaded once and never
// closed; a device is a pointer of the library's.
type nvml struct {
	// nvmlReturn_t nvmlInit_v2(void);
	init func() int32
	// nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount);
	count func(count *uint32) int32
	// nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
	handle func(index uint32, device *uintptr) int32
	// nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);
	name func(device uintptr, name unsafe.Pointer, length uint32) int32
	// nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
	memory func(device uintptr, memory *nvmlMemory) int32
	// nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
	utilisation func(device uintptr, utilisation *nvmlUtilisation) int32
	// nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp);
	temperature func(device uintptr, sensor int32, celsius *uint32) int32
	// nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power);
	power func(device uintptr, milliwatts *uint32) int32
	// nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock);
	clock func(device uintptr, kind int32, mhz *uint32) int32
	// nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock);
	topClock func(device uintptr, kind int32, mhz *uint32) int32

	device uintptr
	model  string
	top    *float64
	sensor [1]watchedSensor
}

// nvmlMemory is nvmlMemory_t, in bytes.
type nvmlMemory struct{ total, _, used uint64 } // _: free

// nvmlUtilisation is nvmlUtilization_t, in per cent.
type nvmlUtilisation struct{ gpu, _ uint32 } // _: memory

const (
	nvmlNameSize       = 96 // NVML_DEVICE_NAME_V2_BUFFER_SIZE
	nvmlTemperatureGPU = 0  // NVML_TEMPERATURE_GPU
	nvmlClockGraphics  = 0  // NVML_CLOCK_GRAPHICS
	nvmlMostDevices    = 64
)

// openNVML loads the library and picks the device with the most memory.
func openNVML(path string) (*nvml, error) {
	lib, err := objc.Load(path)
	if err != nil {
		return nil, err
	}
	n := &nvml{}
	for _, f := range []struct {
		call any
		name string
	}{
		{&n.init, "nvmlInit_v2"},
		{&n.count, "nvmlDeviceGetCount_v2"},
		{&n.handle, "nvmlDeviceGetHandleByIndex_v2"},
		{&n.name, "nvmlDeviceGetName"},
		{&n.memory, "nvmlDeviceGetMemoryInfo"},
		{&n.utilisation, "nvmlDeviceGetUtilizationRates"},
		{&n.temperature, "nvmlDeviceGetTemperature"},
		{&n.power, "nvmlDeviceGetPowerUsage"},
		{&n.clock, "nvmlDeviceGetClockInfo"},
		{&n.topClock, "nvmlDeviceGetMaxClockInfo"},
	} {
		if err := lib.Func(f.call, f.name); err != nil {
			return nil, err
		}
	}
	if r := n.init(); r != 0 {
		return nil, fmt.Errorf("nvmlInit_v2: result %d", r)
	}
	if n.device = n.largest(); n.device == 0 {
		return nil, errNoGPU
	}
	buffer := new([nvmlNameSize]byte)
	if n.name(n.device, unsafe.Pointer(buffer), nvmlNameSize) == 0 {
		text, _, _ := bytes.Cut(buffer[:], []byte{0})
		n.model = string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	}
	var mhz uint32
	if n.topClock(n.device, nvmlClockGraphics, &mhz) == 0 && mhz > 0 {
		n.top = new(float64(mhz))
	}
	n.sensor[0].name = "GPU"
	return n, nil
}

func (n *nvml) largest() (best uintptr) {
	var count uint32
	if n.count(&count) != 0 {
		return 0
	}
	most := uint64(0)
	for i := range min(count, nvmlMostDevices) {
		var device uintptr
		if n.handle(i, &device) != 0 || device == 0 {
			continue
		}
		var m nvmlMemory
		if n.memory(device, &m) != 0 {
			m.total = 0
		}
		if best == 0 || m.total > most {
			best, most = device, m.total
		}
	}
	return best
}

// read asks for everything; what the device does not tell is absent. It fails when
// it tells nothing any more.
func (n *nvml) read() (*GPU, error) {
	g := &GPU{}
	var failed int32
	ask := func(result int32, take func()) {
		if result == 0 {
			take()
		} else {
			failed = result
		}
	}
	var m nvmlMemory
	ask(n.memory(n.device, &m), func() {
		if m.total > 0 {
			g.WorkingSet, g.LimitSource, g.InUse = &m.total, gpuFromNVML, &m.used
		}
	})
	var u nvmlUtilisation
	ask(n.utilisation(n.device, &u), func() {
		if u.gpu <= 100 {
			g.Utilisation = new(float64(u.gpu) / 100)
		}
	})
	var celsius, milliwatts, mhz uint32
	ask(n.temperature(n.device, nvmlTemperatureGPU, &celsius), func() {
		n.sensor[0].see(float64(celsius), g.Utilisation)
		g.feel(hottestOf(n.sensor[:]))
	})
	ask(n.power(n.device, &milliwatts), func() {
		if milliwatts > 0 {
			g.Power = new(float64(milliwatts) / 1000)
		}
	})
	ask(n.clock(n.device, nvmlClockGraphics, &mhz), func() {
		if mhz > 0 {
			g.Clock = new(float64(mhz))
		}
	})
	if *g == (GPU{}) {
		return nil, fmt.Errorf("NVML tells nothing of the device: result %d", failed)
	}
	g.Source, g.Name, g.TopClock = gpuFromNVML, n.model, n.top
	return g, nil
}
