package iokit

import (
	"errors"
	"fmt"
)

// power is what is needed of power sources.
type power struct {
	part

	// CFTypeRef IOPSCopyPowerSourcesInfo(void);  <IOKit/ps/IOPowerSources.h>
	copyInfo function
	// CFStringRef IOPSGetProvidingPowerSourceType(CFTypeRef snapshot);  <IOKit/ps/IOPowerSources.h>
	providing function
}

func (s *System) powerSources() (*power, error) {
	p := &s.power
	if !p.bound() {
		p.bind("IOKit", s.paths.IOKit,
			binding{"IOPSCopyPowerSourcesInfo", &p.copyInfo},
			binding{"IOPSGetProvidingPowerSourceType", &p.providing})
	}
	return p, p.err
}

// ProvidingPowerSource is what feeds the machine: "AC Power", "Battery Power" or
// "UPS Power" (kIOPMACPowerKey and so on, <IOKit/pwr_mgt/IOPM.h>).
func (s *System) ProvidingPowerSource() (string, error) {
	p, err := s.powerSources()
	if err != nil {
		return "", err
	}
	r, err := s.reader()
	if err != nil {
		return "", err
	}
	defer r.done()
	info := r.call(p.copyInfo)
	if info == 0 {
		return "", errors.New("IOPSCopyPowerSourcesInfo: no information")
	}
	defer r.release(info)
	source := r.text(r.call(p.providing, info))
	if source == "" {
		return "", fmt.Errorf("IOPSGetProvidingPowerSourceType: no source: %w", ErrMissing)
	}
	return source, nil
}
