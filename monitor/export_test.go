package monitor

import "plimsoll/monitor/backend"

// SetChild makes a monitor read the slots of a server's child through another reader.
func (m *Monitor) SetChild(open func(port int) backend.SlotReader) { m.child = open }
