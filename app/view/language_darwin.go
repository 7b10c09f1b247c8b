package view

import (
	"os"
	"path/filepath"
)

// desktopLanguage is the first of the languages chosen in System Settings, read
// from the file that "defaults read -g AppleLanguages" shows. No framework and
// no process is needed for it.
func desktopLanguage(getenv func(string) string) string {
	data, err := os.ReadFile(filepath.Join(getenv("HOME"), "Library", "Preferences", ".GlobalPreferences.plist"))
	if err != nil {
		return ""
	}
	return firstOf(data, "AppleLanguages")
}
