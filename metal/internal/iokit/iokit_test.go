package iokit_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// mac is a fake Mac and the system opened on it. At the test's end nothing may be
// left open and no call may have been wrong.
type mac struct {
	*iokit.System
	*fake.Mac
}

func open(t testing.TB, options ...fake.Option) mac {
	t.Helper()
	m := mac{Mac: fake.New(t, options...)}
	var err error
	if m.System, err = iokit.Open(m.Paths); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Release()
		m.Left(t)
	})
	return m
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%+v\nwant\n%+v", what, got, want)
	}
}

// missing reports what is no error that wraps ErrMissing and has these words.
func missing(t testing.TB, err error, words string) {
	t.Helper()
	if !errors.Is(err, iokit.ErrMissing) || !strings.Contains(err.Error(), words) {
		t.Errorf("the error is %v; want one of what is missing, with %q", err, words)
	}
}

// reads are all that a System can be asked, each by what it needs.
var reads = []struct {
	name    string
	library func(p *iokit.Paths) *string
	symbols []string
	read    func(s *iokit.System) error
}{
	{"VMStatistics", system, []string{"mach_host_self", "host_statistics64"}, func(s *iokit.System) error { _, err := s.VMStatistics(); return err }},
	{"PageSize", system, []string{"host_page_size"}, func(s *iokit.System) error { _, err := s.PageSize(); return err }},
	{"Timebase", system, []string{"mach_timebase_info"}, func(s *iokit.System) error { _, _, err := s.Timebase(); return err }},
	{"Usage", system, []string{"proc_pid_rusage"}, func(s *iokit.System) error { _, err := s.Usage(fake.PID); return err }},
	{"Path", system, []string{"proc_pidpath"}, func(s *iokit.System) error { _, err := s.Path(fake.PID); return err }},
	{"NotifyState", system, []string{"notify_register_check", "notify_get_state", "notify_cancel"}, func(s *iokit.System) error { _, err := s.NotifyState("k"); return err }},
	{"Accelerators", iokitPath, []string{"IOServiceMatching", "IOServiceGetMatchingServices", "IOIteratorNext", "IOObjectRelease",
		"IOObjectGetClass", "IORegistryEntryGetName", "IORegistryEntryCreateCFProperty"},
		func(s *iokit.System) error { _, err := s.Accelerators(); return err }},
	{"Accelerators", cf, []string{"CFRelease", "CFGetTypeID", "CFStringGetTypeID", "CFNumberGetTypeID", "CFDictionaryGetTypeID", "CFArrayGetTypeID",
		"CFDataGetTypeID", "CFStringCreateWithCString", "CFStringGetCString", "CFNumberCreate", "CFNumberGetValue",
		"CFDataGetBytePtr", "CFDataGetLength", "CFArrayGetCount", "CFArrayGetValueAtIndex", "CFArrayCreateMutable",
		"CFArrayAppendValue", "CFDictionaryGetCount", "CFDictionaryGetValue", "CFDictionaryGetKeysAndValues",
		"CFDictionaryCreateMutable", "CFDictionaryCreateMutableCopy", "CFDictionarySetValue", "kCFTypeArrayCallBacks",
		"kCFTypeDictionaryKeyCallBacks", "kCFTypeDictionaryValueCallBacks"},
		func(s *iokit.System) error { _, err := s.Accelerators(); return err }},
	{"GPUTimes", iokitPath, []string{"IORegistryEntryGetChildIterator"}, func(s *iokit.System) error { _, err := s.GPUTimes(); return err }},
	{"ServiceProperty", iokitPath, nil, func(s *iokit.System) error { _, err := s.ServiceProperty("pmgr", "voltage-states9"); return err }},
	{"SMC", iokitPath, []string{"IOServiceOpen", "IOServiceClose", "IOConnectCallStructMethod"}, readSMC},
	{"SMC", system, []string{"mach_task_self_"}, readSMC},
	{"HIDTemperatures", iokitPath, []string{"IOHIDEventSystemClientCreate", "IOHIDEventSystemClientSetMatching", "IOHIDEventSystemClientCopyServices",
		"IOHIDServiceClientCopyProperty", "IOHIDServiceClientCopyEvent", "IOHIDEventGetFloatValue"},
		func(s *iokit.System) error { _, err := s.HIDTemperatures(); return err }},
	{"IOReport", func(p *iokit.Paths) *string { return &p.IOReport }, []string{"IOReportCopyChannelsInGroup", "IOReportMergeChannels",
		"IOReportCreateSubscription", "IOReportCreateSamples", "IOReportCreateSamplesDelta", "IOReportChannelGetGroup",
		"IOReportChannelGetSubGroup", "IOReportChannelGetChannelName", "IOReportChannelGetUnitLabel",
		"IOReportChannelGetFormat", "IOReportSimpleGetIntegerValue", "IOReportStateGetCount",
		"IOReportStateGetNameForIndex", "IOReportStateGetResidency"}, readReport},
	{"ProvidingPowerSource", iokitPath, []string{"IOPSCopyPowerSourcesInfo", "IOPSGetProvidingPowerSourceType"},
		func(s *iokit.System) error { _, err := s.ProvidingPowerSource(); return err }},
	{"Device", func(p *iokit.Paths) *string { return &p.Metal }, []string{"MTLCreateSystemDefaultDevice", "MTLCopyAllDevices"},
		func(s *iokit.System) error { _, err := s.Device(); return err }},
	{"ThermalState", objcPath, []string{"objc_getClass", "sel_registerName", "objc_autoreleasePoolPush", "objc_autoreleasePoolPop", "objc_msgSend"},
		func(s *iokit.System) error { _, err := s.ThermalState(); return err }},
	{"LowPowerMode", objcPath, nil, func(s *iokit.System) error { _, err := s.LowPowerMode(); return err }},
}

func system(p *iokit.Paths) *string    { return &p.System }
func iokitPath(p *iokit.Paths) *string { return &p.IOKit }
func cf(p *iokit.Paths) *string        { return &p.CoreFoundation }
func objcPath(p *iokit.Paths) *string  { return &p.ObjC }

func readSMC(s *iokit.System) error {
	c, err := s.OpenSMC()
	if err != nil {
		return err
	}
	defer c.Close()
	_, _, err = c.Read("Tg0G")
	return err
}

func readReport(s *iokit.System) error {
	r, err := s.Subscribe(gpuChannels...)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Delta()
	if err == nil {
		_, err = r.Delta()
	}
	return err
}

// TestEverything reads all there is twice: with what is opened, and with what is
// kept.
func TestEverything(t *testing.T) {
	m := open(t)
	for range 2 {
		for _, r := range reads {
			if err := r.read(m.System); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
	}
}

// TestMissingLibraries: one library less takes only what needs it.
func TestMissingLibraries(t *testing.T) {
	if s, err := iokit.Open(iokit.Paths{}); s != nil || err == nil {
		t.Errorf("no path at all: %v, %v", s, err)
	}
	for _, gone := range []struct {
		library func(*iokit.Paths) *string
		left    []string
	}{
		{iokitPath, []string{"VMStatistics", "Usage", "NotifyState", "IOReport", "Device", "ThermalState", "LowPowerMode"}},
		{cf, []string{"VMStatistics", "Usage", "NotifyState", "Device", "ThermalState", "LowPowerMode"}},
		{func(p *iokit.Paths) *string { return &p.IOReport }, []string{"VMStatistics", "Accelerators", "GPUTimes", "SMC", "HIDTemperatures", "Device"}},
		{objcPath, []string{"VMStatistics", "Accelerators", "SMC", "IOReport", "ProvidingPowerSource"}},
		{func(p *iokit.Paths) *string { return &p.Metal }, []string{"Accelerators", "ThermalState", "LowPowerMode"}},
		{func(p *iokit.Paths) *string { return &p.Foundation }, []string{"Accelerators", "NotifyState"}},
		{system, nil},
	} {
		for _, path := range []string{"", t.TempDir() + "/none.so"} {
			m := fake.New(t)
			*gone.library(&m.Paths) = path
			s, err := iokit.Open(m.Paths)
			if err != nil {
				t.Fatal(err)
			}
			works := map[string]bool{}
			for _, name := range gone.left {
				works[name] = true
			}
			for _, r := range reads {
				err := r.read(s)
				switch {
				case works[r.name] && err != nil:
					t.Errorf("without %q, %s: %v", path, r.name, err)
				case err == nil && (path == "" && r.library(&m.Paths) == gone.library(&m.Paths)):
					t.Errorf("%s works without its library", r.name)
				case err != nil:
					missing(t, err, "")
				}
			}
			s.Release()
			m.Left(t)
		}
	}
}

// TestMissingSymbols: each symbol that is not there is an error that names it.
func TestMissingSymbols(t *testing.T) {
	for _, r := range reads {
		for _, symbol := range r.symbols {
			m := fake.New(t, fake.Without(symbol))
			s, err := iokit.Open(m.Paths)
			if err != nil {
				t.Fatal(err)
			}
			missing(t, r.read(s), "finding "+symbol+" in ")
			s.Release()
			m.Left(t)
		}
	}
}

// TestOpenedOnce: the paths decide, and every mach_host_self adds a reference that
// nobody gives back.
func TestOpenedOnce(t *testing.T) {
	m := open(t)
	for range 100 {
		if _, err := m.VMStatistics(); err != nil {
			t.Fatal(err)
		}
		again, err := iokit.Open(m.Paths)
		if err != nil || again != m.System {
			t.Fatalf("opening again gives another system: %v", err)
		}
	}
	if n := m.Open("hosts"); n != 1 {
		t.Errorf("%d references to the host port, want 1", n)
	}
}

// TestManyReads reads everything from eight goroutines, which also moves stacks
// while calls are under way. PLIMSOLL_LONG=1 makes it 100000 reads.
func TestManyReads(t *testing.T) {
	rounds := 40
	if os.Getenv("PLIMSOLL_LONG") != "" {
		rounds = 100_000/(8*len(reads)) + 1
	}
	m := open(t)
	smc, err := m.OpenSMC()
	if err != nil {
		t.Fatal(err)
	}
	report, err := m.Subscribe(gpuChannels...)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range rounds {
				for _, r := range reads {
					if err := r.read(m.System); err != nil {
						t.Errorf("%s: %v", r.name, err)
						return
					}
				}
				if kind, value, err := smc.Read("Tg0H"); kind != "flt " || len(value) != 4 || err != nil {
					t.Errorf("SMC: %s %x, %v", kind, value, err)
				}
				if _, err := report.Delta(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d reads", 8*rounds*(len(reads)+2))
	smc.Close()
	report.Close()
}
