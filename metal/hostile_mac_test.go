package metal

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"plimsoll/metal/internal/iokit/fake"
)

// Numbers that no Mac can have are absent, and all the rest stays.
func TestNumbersThatNoMacHas(t *testing.T) {
	w := newWholeMac(t)
	defer w.close(t)
	w.tick(t, 0)
	w.libraries.SetDevice(fake.Device{Name: "Apple M4", WorkingSet: math.MaxUint64, MaxBuffer: 1})
	w.libraries.SetStatistics(map[string]int64{"In use system memory": math.MaxInt64, "Device Utilization %": 250, "Renderer Utilization %": 7, "recoveryCount": -1})
	w.libraries.SetKey(thermalKey, math.MaxUint64)
	w.libraries.SetTemperature("Tg0G", math.NaN())
	g := w.tick(t, time.Minute).GPU
	if g.InUse != nil || g.Utilisation != nil || g.Resets != nil || g.LimitSource == "metal" || g.WorkingSet == nil || *g.WorkingSet > *w.number("hw.memsize") {
		t.Errorf("GPU %s", show(g))
	}
	if g.Renderer == nil || *g.Renderer != 0.07 || g.Temperature == nil {
		t.Errorf("what is right is gone too: %s", show(g))
	}
}

// What an editor puts before a text it saves is no part of it, and of several
// readings the last one counts.
func TestDecodeSavedText(t *testing.T) {
	for source, text := range map[string]string{
		"notifyutil":   "com.apple.system.thermalpressurelevel 0\ncom.apple.system.thermalpressurelevel 2\n",
		"sysctl":       "iogpu.wired_limit_mb: 28000\n",
		"powermetrics": "Machine model: Mac16,10\n\n**** GPU usage ****\n\nGPU HW active frequency: 1182 MHz\nGPU Power: 4100 mW\n",
	} {
		plain, marked := decodedObject(t, source, []byte(text)), decodedObject(t, source, []byte("\ufeff"+text))
		a, _ := json.Marshal(plain)
		b, _ := json.Marshal(marked)
		if string(a) != string(b) || plain["error"] != nil {
			t.Errorf("%s: %s with a mark, %s without", source, b, a)
		}
		if source == "notifyutil" && plain["thermal_pressure"] != "Heavy" {
			t.Errorf("the last reading is Heavy: %s", a)
		}
	}
}
