package metal

import "strings"

// thermalNotifyKey is the key whose state is the level of thermal pressure (SDK
// header libkern/OSThermalNotification.h).
const thermalNotifyKey = "com.apple.system.thermalpressurelevel"

// NotifyutilText is what "notifyutil -g key" prints. Of several keys it is the one
// of thermal pressure, else the first; of several readings of that key the last.
type NotifyutilText struct {
	Key *string `json:"key"`
	// Value is 0 for a key that does not exist as well.
	Value *uint64 `json:"value"`
	// Level and Thermal are the value of the key of thermal pressure. Nominal is no
	// more than that no throttling is reported. Thermal is absent for a level that
	// macOS does not have.
	Level   *uint64 `json:"thermal_pressure_level"`
	Thermal *string `json:"thermal_pressure"`
	// Code is what notifyd failed with, which the command tells in its output and
	// not in its exit status.
	Code *uint64 `json:"failed_code"`
}

// thermalWords are the words of powermetrics for the levels of macOS. Other
// systems of Apple's count in tens.
var thermalWords = []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}

// ParseNotifyutil decodes the output of notifyutil -g. With an error (a *TextError)
// it returns what it could read as well.
func ParseNotifyutil(text string) (*NotifyutilText, error) {
	const tool = "notifyutil"
	n := &NotifyutilText{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		key = strings.TrimSuffix(key, ":")
		code, failed := strings.CutPrefix(strings.TrimSpace(value), "Failed with code ")
		state := whole(strings.TrimSpace(value))
		if !ok || !strings.Contains(key, ".") || n.Key != nil && key != thermalNotifyKey || !failed && state == nil {
			continue
		}
		*n = NotifyutilText{Key: word(key)}
		if failed {
			n.Code = whole(code)
		} else {
			n.Value = state
		}
	}
	switch {
	case n.Key == nil && strings.TrimSpace(text) == "":
		return n, &TextError{Truncated, tool, "no output"}
	case n.Key == nil:
		return n, &TextError{LabelsNotRecognised, tool, lastLine(text)}
	case n.Value == nil:
		return n, &TextError{ToolFailed, tool, lastLine(text)}
	}
	if *n.Key == thermalNotifyKey {
		n.Level = n.Value
		if int(min(*n.Level, 1<<20)) < len(thermalWords) {
			n.Thermal = new(thermalWords[*n.Level])
		}
	}
	return n, nil
}
