package view

import (
	"path"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"plimsoll/assets"
)

// Renderer renders in one language. It is safe for concurrent use.
type Renderer struct {
	localizer *i18n.Localizer
	language  string
}

// Args are the values of a message's {{.Name}} places. "Count" also selects the
// plural form.
type Args map[string]any

// In makes a Renderer for a language tag such as "zh-Hans-CN" or "en". What
// there is no translation for becomes English.
func In(tag string) *Renderer {
	bundle := i18n.NewBundle(language.English)
	files, err := assets.Locale.ReadDir("locale")
	if err != nil {
		panic(err) // the folder is embedded at build time
	}
	for _, file := range files {
		if _, err := bundle.LoadMessageFileFS(assets.Locale, path.Join("locale", file.Name())); err != nil {
			panic(err) // so are the files, and a test reads each
		}
	}
	matcher := language.NewMatcher([]language.Tag{language.English, language.Chinese})
	_, index := language.MatchStrings(matcher, tag)
	chosen := []string{"en", "zh"}[index]
	return &Renderer{localizer: i18n.NewLocalizer(bundle, chosen), language: chosen}
}

// Language is "en" or "zh".
func (r *Renderer) Language() string { return r.language }

// Text is the message id in the Renderer's language. An id that does not exist
// shows as itself; a test finds those before a person does.
func (r *Renderer) Text(id string, args ...Args) string {
	config := i18n.LocalizeConfig{MessageID: id}
	if len(args) > 0 {
		config.TemplateData = args[0]
		if count, ok := args[0]["Count"]; ok {
			config.PluralCount = count
		}
	}
	text, err := r.localizer.Localize(&config)
	if err != nil && text == "" {
		return id
	}
	return text
}
