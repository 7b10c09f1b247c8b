package metal

// pressure fills in the level that PSI tells; without PSI both fields stay absent.
func (l *linux) pressure(m *Memory) error {
	text, err := l.psi.read()
	if err != nil {
		return err
	}
	if m.Pressure = psiPressure(text); m.Pressure != "" {
		m.PressureSource = pressureFromPSI
	}
	return nil
}
