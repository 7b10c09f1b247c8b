package monitor

import "plimsoll/metal"

// signs are what speaks for a slowed GPU in the newest snapshot, with their
// numbers: the signs first, then what supports them.
func (sc *slowScene) signs() []Sign {
	s := sc.h.back(0)
	if s.GPU == nil || !sc.sign(s) {
		return nil
	}
	var list []Sign
	if sc.paused.at(s) == yes {
		list = append(list, Sign{Reason: SignPaused, Power: s.GPU.Power, UsualPower: &sc.paused.level})
	}
	watts, usual := positive(s.GPU.Power), sc.usual.power() // said with the clock too, low or not
	if sc.clock(s) == yes {
		list = append(list, Sign{Reason: SignClock, Clock: s.GPU.Clock, TopClock: s.GPU.TopClock, UsualClock: sc.usual.clock(), Power: watts, UsualPower: usual})
	}
	if sc.power(s) == yes {
		list = append(list, Sign{Reason: SignPower, Power: watts, UsualPower: usual})
	}
	if sc.rate(s) == yes {
		rate, usual, _ := sc.decoding(s)
		list = append(list, Sign{Reason: SignDecodeRate, DecodeRate: &rate, UsualDecodeRate: &usual})
	}
	if heavy(s) || heat(s) == metal.ThermalModerate {
		list = append(list, Sign{Reason: SignPressure, Pressure: heat(s)})
	}
	if t := temperature(s); t != nil && *t >= hotAt {
		list = append(list, Sign{Reason: SignHot, Temperature: t})
	}
	return list
}
