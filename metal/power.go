package metal

// onBatteryOf makes sense of the providing power source's name (IOKit/ps,
// IOPSKeys.h: kIOPMACPowerKey, kIOPMBatteryPowerKey, kIOPMUPSPowerKey). A UPS is a
// battery too. nil for other words.
func onBatteryOf(source string) *bool {
	switch source {
	case "AC Power":
		return new(false)
	case "Battery Power", "UPS Power":
		return new(true)
	}
	return nil
}
