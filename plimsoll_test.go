package plimsoll

import (
	"regexp"
	"testing"
)

func TestDetailsAreThere(t *testing.T) {
	for what, value := range map[string]string{"Name": Name, "ID": ID, "Version": Version} {
		if value == "" {
			t.Errorf("FyneApp.toml has no %s", what)
		}
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Version) {
		t.Errorf("version %q is not MAJOR.MINOR.PATCH", Version)
	}
	if got := detail("NoSuchKey"); got != "" {
		t.Errorf("an absent key gave %q, want nothing", got)
	}
}
