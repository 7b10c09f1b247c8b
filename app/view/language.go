package view

import (
	"strings"

	"golang.org/x/text/language"
)

// SystemLanguage is the language the person has set, as a tag for In, or ""
// when none is set. getenv is os.Getenv; the first of LC_ALL, LC_MESSAGES, LANG
// and LANGUAGE that is set decides, and C and POSIX mean none. A program that
// is started from the desktop on macOS has none of them: then the system's list
// of preferred languages decides.
func SystemLanguage(getenv func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"} {
		value := getenv(name)
		if value == "" {
			continue
		}
		tag, _, _ := strings.Cut(value, ":") // LANGUAGE is a list
		tag = plainTag(tag)
		if tag == "C" || tag == "POSIX" {
			return ""
		}
		return tag
	}
	return desktopLanguage(getenv)
}

// plainTag makes a language tag of a POSIX locale: "zh_CN.UTF-8@x" is "zh-CN".
func plainTag(locale string) string {
	if end := strings.IndexAny(locale, ".@"); end >= 0 {
		locale = locale[:end]
	}
	return strings.ReplaceAll(locale, "_", "-")
}

// translated is the language of the messages that a tag gets. Every kind of
// Chinese gets the one Chinese there is: to most readers of the other script it
// is nearer than English.
func translated(tag string) string {
	parsed, err := language.Parse(plainTag(tag))
	if err != nil {
		return "en"
	}
	if base, _ := parsed.Base(); base.String() == "zh" {
		return "zh"
	}
	return "en"
}
