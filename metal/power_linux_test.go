package metal

import (
	"errors"
	"os"
	"testing"
)

func TestLinuxPower(t *testing.T) {
	set := func(root, file, value string) {
		if err := os.WriteFile(root+"/sys/class/power_supply/"+file, []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(root string)
		want   *bool
	}{
		{"adapter out, discharging", func(string) {}, new(true)},
		{"adapter in", func(r string) { set(r, "AC/online", "1") }, new(false)},
		{"adapter in, too weak", func(r string) { set(r, "AC/online", "2"); set(r, "BAT0/status", "Discharging") }, new(false)},
		{"fed by a port that is not told", func(r string) { set(r, "BAT0/status", "Charging") }, new(false)},
		{"battery tells nothing", func(r string) { set(r, "BAT0/status", "Unknown") }, new(true)},
		{"only a mouse", func(r string) { remove(t, r+"/sys/class/power_supply/AC"); remove(t, r+"/sys/class/power_supply/BAT0") }, nil},
		{"no such folder", func(r string) { remove(t, r+"/sys/class/power_supply") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, root := laptop(t)
			c.change(root)
			p, err := l.Power()
			if c.want == nil {
				if p != nil || !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s, %v; want ErrUnsupported", show(p), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "on battery", *p.OnBattery, *c.want)
		})
	}
}

func BenchmarkPower(b *testing.B) {
	l, _ := laptop(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Power(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLinuxLowPower(t *testing.T) {
	for profile, want := range map[string]bool{"low-power": true, "balanced": false, "performance": false} {
		l, root := laptop(t)
		if err := os.MkdirAll(root+"/sys/firmware/acpi", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/sys/firmware/acpi/platform_profile", []byte(profile+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := l.Power()
		if err != nil || p.OnBattery == nil || p.LowPower == nil || *p.LowPower != want {
			t.Errorf("%s: %s, %v", profile, show(p), err)
		}
		remove(t, root+"/sys/class/power_supply")
		if p, err = l.Power(); err != nil || p.OnBattery != nil || *p.LowPower != want {
			t.Errorf("%s on a desktop: %s, %v", profile, show(p), err)
		}
	}
}
