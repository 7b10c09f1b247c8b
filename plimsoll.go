// Package plimsoll tells the program's name, identifier and version. They are
// written once, in FyneApp.toml, which this package embeds.
package plimsoll

import (
	_ "embed"
	"strings"
)

//go:embed FyneApp.toml
var fyneApp string

// Name is the name a person sees, and ID the bundle identifier of the agent.
// Version is the released version without a leading "v". Each is "" only if
// FyneApp.toml lost its line, which a test forbids.
var (
	Name    = detail("Name")
	ID      = detail("ID")
	Version = detail("Version")
)

// detail returns the quoted value of one key of FyneApp.toml. The file is ours
// and flat, so two string cuts do; a TOML parser would be the only user of one.
func detail(key string) string {
	_, rest, _ := strings.Cut(fyneApp, "\n"+key+" = \"")
	value, _, _ := strings.Cut(rest, "\"")
	return value
}
