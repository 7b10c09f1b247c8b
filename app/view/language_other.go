//go:build !darwin

package view

// desktopLanguage is "": everywhere but on macOS the session sets LANG.
func desktopLanguage(func(string) string) string { return "" }
