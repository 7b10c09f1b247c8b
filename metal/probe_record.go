package metal

import (
	"fmt"
	"time"

	"plimsoll/metal/internal/iokit"
)

// recorder stands between a Mac and its decoders and keeps what passes, as it
// passes. What of it is written, and what is taken out before, is decided in
// probe_redact.go.
type recorder struct {
	sys    macSystem
	hw     macHardware // nil where there is none
	asked  func(name string, cost time.Duration, err error)
	now    func() time.Time
	rounds []round
	reader *mac
	played *played // sys and hw, when they are a recording themselves
	smc    smcKeys // what was opened, for readKeys
}

// round is what was told in one round: by the file that it goes to, then by what
// was asked.
type round map[string]map[string]answered

type answered struct {
	value any
	err   error
}

func newRecorder(m *mac, asked func(string, time.Duration, error)) *recorder {
	r := &recorder{sys: m.sys, hw: m.hardware, asked: asked, now: m.now}
	if p, ok := m.sys.(*played); ok {
		r.played = p.rewound()
		r.sys, r.hw, r.now = r.played, r.played, r.played.now
	}
	var hw macHardware
	if r.hw != nil {
		hw = recordedHardware{r.hw, r}
	}
	r.reader = newMac(recordedSystem{r.sys, r}, hw, r.now)
	return r
}

// begin begins round i of n and tells the time.
func (r *recorder) begin(i, n int) time.Time {
	r.rounds = append(r.rounds, round{})
	if r.played != nil {
		r.played.step(i, n)
	}
	return r.now()
}

// keep keeps the first answer of a round to a question.
func (r *recorder) keep(file, key string, value any, err error) {
	now := r.rounds[len(r.rounds)-1]
	if now[file] == nil {
		now[file] = map[string]answered{}
	}
	if _, ok := now[file][key]; !ok {
		now[file][key] = answered{value, err}
	}
}

// pass asks, and keeps what was told and what it cost.
func pass[T any](r *recorder, file, key, name string, ask func() (T, error)) (T, error) {
	start := time.Now()
	value, err := ask()
	r.asked(name, time.Since(start), err)
	r.keep(file, key, value, err)
	return value, err
}

// The files of a round, and the names of what is asked. A name that holds a key
// begins with one of these.
const (
	fileSysctl   = "sysctl"
	fileHost     = "mach"
	fileProcess  = "processes"
	fileRegistry = "ioregistry"
	fileHID      = "hid"
	fileMetal    = "metal"
	fileInfo     = "process_info"
	fileNotify   = "notify"
	filePower    = "power_source"
	fileSMC      = "smc"
	fileReport   = "ioreport"

	askStatistics   = "host_statistics64"
	askPage         = "host_page_size"
	askTimebase     = "mach_timebase_info"
	askUsage        = "proc_pid_rusage"
	askPath         = "proc_pidpath"
	askAccelerators = "IORegistry IOAccelerator"
	askClients      = "IORegistry IOAccelerator clients"
	askHID          = "IOHID temperatures"
	askDevice       = "Metal device"
	askState        = "NSProcessInfo thermalState"
	askLowPower     = "NSProcessInfo lowPowerMode"
	askSource       = "IOPS power source"
	askKeys         = "SMC"
	askReport       = "IOReport subscription"
	askDelta        = "IOReport sample"
)

// recordedSystem is macSystem with what passes kept.
type recordedSystem struct {
	macSystem
	r *recorder
}

func (s recordedSystem) Sysctl(name string, args ...int) ([]byte, error) {
	file, key := fileSysctl, name
	if len(args) > 0 || name == "kern.proc.all" {
		file = fileProcess
	}
	for _, a := range args {
		key += fmt.Sprintf(" %d", a)
	}
	return pass(s.r, file, key, "sysctl "+name, func() ([]byte, error) { return s.macSystem.Sysctl(name, args...) })
}

func (s recordedSystem) VMStatistics() ([]byte, error) {
	return pass(s.r, fileHost, askStatistics, askStatistics, s.macSystem.VMStatistics)
}

func (s recordedSystem) PageSize() (uint64, error) {
	return pass(s.r, fileHost, askPage, askPage, s.macSystem.PageSize)
}

func (s recordedSystem) Timebase() (uint32, uint32, error) {
	pair, err := pass(s.r, fileHost, askTimebase, askTimebase, func() ([2]uint32, error) {
		n, d, err := s.macSystem.Timebase()
		return [2]uint32{n, d}, err
	})
	return pair[0], pair[1], err
}

func (s recordedSystem) Usage(pid int) ([]byte, error) {
	return pass(s.r, fileProcess, fmt.Sprintf("%s %d", askUsage, pid), askUsage, func() ([]byte, error) { return s.macSystem.Usage(pid) })
}

func (s recordedSystem) Path(pid int) (string, error) {
	return pass(s.r, fileProcess, fmt.Sprintf("%s %d", askPath, pid), askPath, func() (string, error) { return s.macSystem.Path(pid) })
}

// recordedHardware is macHardware with what passes kept.
type recordedHardware struct {
	macHardware
	r *recorder
}

func (h recordedHardware) Accelerators() ([]iokit.Accelerator, error) {
	return pass(h.r, fileRegistry, askAccelerators, askAccelerators, h.macHardware.Accelerators)
}

func (h recordedHardware) ServiceProperty(service, property string) ([]byte, error) {
	name := "IORegistry " + service + " " + property
	return pass(h.r, fileRegistry, service+" "+property, name, func() ([]byte, error) { return h.macHardware.ServiceProperty(service, property) })
}

func (h recordedHardware) GPUTimes() (map[int]uint64, error) {
	return pass(h.r, fileProcess, askClients, askClients, h.macHardware.GPUTimes)
}

func (h recordedHardware) HIDTemperatures() ([]iokit.Sensor, error) {
	return pass(h.r, fileHID, askHID, askHID, h.macHardware.HIDTemperatures)
}

func (h recordedHardware) Device() (*iokit.Device, error) {
	return pass(h.r, fileMetal, askDevice, askDevice, h.macHardware.Device)
}

func (h recordedHardware) ThermalState() (int64, error) {
	return pass(h.r, fileInfo, askState, askState, h.macHardware.ThermalState)
}

func (h recordedHardware) LowPowerMode() (bool, error) {
	return pass(h.r, fileInfo, askLowPower, askLowPower, h.macHardware.LowPowerMode)
}

func (h recordedHardware) NotifyState(key string) (uint64, error) {
	return pass(h.r, fileNotify, key, "notify "+key, func() (uint64, error) { return h.macHardware.NotifyState(key) })
}

func (h recordedHardware) ProvidingPowerSource() (string, error) {
	return pass(h.r, filePower, askSource, askSource, h.macHardware.ProvidingPowerSource)
}

func (h recordedHardware) Keys() (smcKeys, error) {
	_, err := pass(h.r, fileSMC, askKeys, askKeys, func() (struct{}, error) {
		var err error
		h.r.smc, err = h.macHardware.Keys()
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	return recordedKeys{h.r.smc, h.r}, nil
}

func (h recordedHardware) Report(only ...iokit.Channel) (deltas, error) {
	var report deltas
	_, err := pass(h.r, fileReport, askReport, askReport, func() ([]iokit.Channel, error) {
		var err error
		report, err = h.macHardware.Report(only...)
		return only, err
	})
	if err != nil {
		return nil, err
	}
	return recordedDeltas{report, h.r}, nil
}

// recordedDeltas keeps the samples of a subscription.
type recordedDeltas struct {
	deltas
	r *recorder
}

func (d recordedDeltas) Delta() ([]iokit.Entry, error) {
	return pass(d.r, fileReport, askDelta, askDelta, d.deltas.Delta)
}

// recordedKeys keeps what is read of the SMC.
type recordedKeys struct {
	smcKeys
	r *recorder
}

// What is kept of the SMC, by "count", "at 12", "info Tg0f", "read Tg0f".
type smcInfo struct {
	Type string `json:"type"`
	Size int    `json:"size"`
}

type smcValue struct {
	Type string   `json:"type"`
	Hex  hexBytes `json:"hex"`
}

func (k recordedKeys) Count() (int, error) {
	return pass(k.r, fileSMC, "count", "SMC #KEY", k.smcKeys.Count)
}

func (k recordedKeys) KeyAt(i int) (string, error) {
	return pass(k.r, fileSMC, fmt.Sprintf("at %d", i), "SMC keys", func() (string, error) { return k.smcKeys.KeyAt(i) })
}

func (k recordedKeys) Info(key string) (string, int, error) {
	v, err := pass(k.r, fileSMC, "info "+key, "SMC info", func() (smcInfo, error) {
		kind, size, err := k.smcKeys.Info(key)
		return smcInfo{kind, size}, err
	})
	return v.Type, v.Size, err
}

func (k recordedKeys) Read(key string) (string, []byte, error) {
	v, err := pass(k.r, fileSMC, "read "+key, "SMC "+key, func() (smcValue, error) {
		kind, b, err := k.smcKeys.Read(key)
		return smcValue{kind, b}, err
	})
	return v.Type, v.Hex, err
}

// readKeys asks the SMC for the names of all its keys, and for those that are
// temperatures (T…) and the power of the machine (PSTR) what they say: a chip
// that is not in the table is added by them. What other keys say stays where it
// is: some of them are serial numbers.
func (r *recorder) readKeys() {
	if r.smc == nil {
		return
	}
	count, err := r.smc.Count()
	r.keep(fileSMC, "count", count, err)
	if err != nil || count > mostKeys {
		return
	}
	for i := range count {
		key, err := r.smc.KeyAt(i)
		r.keep(fileSMC, fmt.Sprintf("at %d", i), key, err)
		if err != nil || !publicKey(key) {
			continue
		}
		kind, size, err := r.smc.Info(key)
		r.keep(fileSMC, "info "+key, smcInfo{kind, size}, err)
		if err == nil {
			kind, b, err := r.smc.Read(key)
			r.keep(fileSMC, "read "+key, smcValue{kind, b}, err)
		}
	}
}
