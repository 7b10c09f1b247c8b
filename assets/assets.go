// Package assets embeds what the program shows: translations and icons.
//
// Translations are go-i18n message files, locale/AREA.LANGUAGE.json. An area
// belongs to one part of the program; every area exists in every language with
// the same keys. To add a language, add its files.
package assets

import "embed"

// Locale holds the message files of every language.
//
//go:embed locale/*.json
var Locale embed.FS
