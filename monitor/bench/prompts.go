package bench

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Kind is a kind of text, or of measurement.
type Kind string

// The kinds of a Test. Speculative decoding and the like make one kind of text
// faster and another slower, so each stands alone.
const (
	Chinese Kind = "chinese_prose"
	English Kind = "english_prose"
	Code    Kind = "code"
	// Deep is English prose behind a long context.
	Deep Kind = "deep_context"
)

//go:embed prompts/chinese.txt
var chinese string

//go:embed prompts/english.txt
var english string

//go:embed prompts/code.txt
var code string

// PromptSet names the texts. It changes with them: results of different texts are
// not comparable.
const PromptSet = "harbour-1"

// texts are the fixed prompts, each about 350 tokens long for the tokenisers of
// Qwen, Llama and Gemma.
var texts = []struct {
	kind Kind
	text string
}{{Chinese, chinese}, {English, english}, {Code, code}}

// opening begins every prompt of a run with words of its own, in the system part
// and in the prompt, so that nothing of it is in a cache. A template that leaves
// the system part out still has the second.
func opening(unique string) (system, prefix string) {
	return fmt.Sprintf("Run %s. You continue texts.", unique), fmt.Sprintf("(%s)\n\n", unique)
}

// deepText is English prose of about that many tokens, given how many characters
// make a token here, with the instruction at its end.
func deepText(tokens int, perToken float64) string {
	story, instruction := cutLast(english)
	whole := int(float64(tokens) * perToken)
	var b strings.Builder
	for n, chapter := utf8.RuneCountInString(instruction), 1; ; chapter++ {
		part := fmt.Sprintf("Chapter %d\n\n%s\n\n", chapter, story)
		length := utf8.RuneCountInString(part)
		if n+length > whole {
			b.WriteString(firstRunes(part, whole-n))
			break
		}
		b.WriteString(part)
		n += length
	}
	return b.String() + "\n\n" + instruction
}

// cutLast parts a text before its last paragraph.
func cutLast(text string) (before, last string) {
	text = strings.TrimSpace(text)
	i := strings.LastIndex(text, "\n\n")
	return text[:i], text[i+2:]
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// perToken is how many characters of a text make a token, 4 where nobody knows.
func perToken(text string, tokens int) float64 {
	if tokens < 1 {
		return 4
	}
	return math.Max(0.25, float64(utf8.RuneCountInString(text))/float64(tokens))
}
