package metal

import (
	"errors"
	"fmt"
)

// Thermal reads the thermal pressure, at every call: the system's notifications of
// it do not arrive on some Macs (metaspartan/mactop#71, macmade/Hot#73).
func (m *mac) Thermal() (*Thermal, error) {
	if m.hardware == nil {
		return nil, fmt.Errorf("reading the thermal pressure: %w", ErrUnsupported)
	}
	var level *uint64
	var state *int64
	n, err := m.hardware.NotifyState(thermalKey)
	if err == nil {
		level = &n
	}
	s, stateErr := m.hardware.ThermalState()
	if stateErr == nil {
		state = &s
	}
	if r := thermalOf(level, state); r != nil {
		return r, nil
	}
	if err = errors.Join(err, stateErr); err == nil {
		err = fmt.Errorf("level %d and state %d have no words: %w", n, s, ErrUnsupported)
	}
	return nil, fmt.Errorf("reading the thermal pressure: %w", told(err))
}

// Power reads where power comes from and whether the low power mode is on.
func (m *mac) Power() (*Power, error) {
	if m.hardware == nil {
		return nil, fmt.Errorf("reading the power source: %w", ErrUnsupported)
	}
	r := &Power{}
	source, err := m.hardware.ProvidingPowerSource()
	if err == nil {
		if r.OnBattery = onBatteryOf(source); r.OnBattery == nil {
			err = fmt.Errorf("power from %q: %w", source, ErrUnsupported)
		}
	}
	low, lowErr := m.hardware.LowPowerMode()
	if lowErr == nil {
		r.LowPower = &low
	}
	if *r == (Power{}) {
		return nil, fmt.Errorf("reading the power source: %w", told(errors.Join(err, lowErr)))
	}
	return r, nil
}
