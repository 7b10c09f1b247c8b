package metal

import (
	"bytes"
	"fmt"
	"os"
)

// Power reads the power supplies and the platform's profile. A machine that has
// neither, as most desktops and virtual machines, has no notion of it:
// ErrUnsupported.
func (l *linux) Power() (*Power, error) {
	p := &Power{}
	var err error
	p.OnBattery, err = l.onBattery()
	// Documentation/ABI/testing/sysfs-platform_profile
	if profile := firstLine(l.roots.Sys + "/firmware/acpi/platform_profile"); profile != "" {
		p.LowPower = new(profile == "low-power")
	}
	if *p == (Power{}) {
		return nil, err
	}
	return p, nil
}

// onBattery looks for what feeds the machine.
//
// Files and values: Documentation/ABI/testing/sysfs-class-power.
func (l *linux) onBattery() (*bool, error) {
	root := l.roots.Sys + "/class/power_supply"
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fileError(root, err)
	}
	var batteries []string
	adapters := 0
	for _, e := range entries {
		dir := root + "/" + e.Name()
		if firstLine(dir+"/scope") == "Device" {
			continue // a mouse's or headset's own
		}
		if firstLine(dir+"/type") == "Battery" {
			batteries = append(batteries, dir)
			continue
		}
		switch firstLine(dir + "/online") {
		case "1", "2": // fixed, programmable
			return new(false), nil
		case "0":
			adapters++
		}
	}
	if on := onBattery(batteries, adapters); on != nil {
		return on, nil
	}
	return nil, fmt.Errorf("no power supply of this machine is told in %s: %w", root, ErrUnsupported)
}

// onBattery asks the batteries of a machine of which no adapter is online. They
// are asked last: on many laptops the answer comes from a slow controller.
func onBattery(batteries []string, adapters int) *bool {
	known := false
	for _, dir := range batteries {
		switch firstLine(dir + "/status") {
		case "Discharging":
			return new(true)
		case "Charging", "Full", "Not charging":
			known = true
		}
	}
	switch {
	case known:
		return new(false) // something feeds them, whatever the adapters say
	case len(batteries) > 0 && adapters > 0:
		return new(true)
	}
	return nil
}

// firstLine is a value of sysfs, "" when it is not there.
func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}
