package view

import (
	"path"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"plimsoll/assets"
)

// Renderer renders in one language. It is safe for concurrent use.
type Renderer struct {
	localizer *i18n.Localizer
	language  string
	fixed     map[string]string
}

// Args are the values of a message's {{.Name}} places. "Count" also selects the
// plural form.
type Args map[string]any

// catalogue is the messages of every language.
type catalogue struct {
	bundle *i18n.Bundle
	ids    map[string]bool
	// fixed are, by language, the messages without places and plural forms.
	// They are half of what a View is made of, and the library's way to a
	// message costs a match of languages each time.
	fixed map[string]map[string]string
}

// messages are read once: the library keeps each message's parsed template in
// its bundle, so all Renderers share them.
var messages = sync.OnceValue(func() *catalogue {
	m := &catalogue{bundle: i18n.NewBundle(language.English), ids: map[string]bool{}, fixed: map[string]map[string]string{}}
	files, err := assets.Locale.ReadDir("locale")
	if err != nil {
		panic(err) // the folder is embedded at build time
	}
	for _, file := range files {
		loaded, err := m.bundle.LoadMessageFileFS(assets.Locale, path.Join("locale", file.Name()))
		if err != nil {
			panic(err) // so are the files, and a test reads each
		}
		for _, message := range loaded.Messages {
			m.ids[message.ID] = true
			if message.One == "" && !strings.Contains(message.Other, "{{") {
				m.fix(loaded.Tag.String(), message.ID, message.Other)
			}
		}
	}
	return m
})

func (m *catalogue) fix(language, id, text string) {
	if m.fixed[language] == nil {
		m.fixed[language] = map[string]string{}
	}
	m.fixed[language][id] = text
}

// In makes a Renderer for a language tag such as "zh-Hans-CN" or "en", or a
// POSIX locale such as "zh_CN.UTF-8". What there is no translation for becomes
// English.
func In(tag string) *Renderer {
	chosen := translated(tag)
	return &Renderer{localizer: i18n.NewLocalizer(messages().bundle, chosen), language: chosen, fixed: messages().fixed[chosen]}
}

// Language is "en" or "zh".
func (r *Renderer) Language() string { return r.language }

// Text is the message id in the Renderer's language. An id that does not exist
// shows as itself; a test finds those before a person does.
func (r *Renderer) Text(id string, args ...Args) string {
	if text, ok := r.fixed[id]; ok {
		return text
	}
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

// has tells whether there is a message id, for families of messages whose last
// part comes from outside ("problem." and a reason).
func (r *Renderer) has(id string) bool { return messages().ids[id] }
