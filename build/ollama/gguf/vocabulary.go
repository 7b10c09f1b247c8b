package gguf

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// vocabulary is a byte-level tokenizer and the chain of tokens that is said.
type vocabulary struct {
	tokens     []string
	kinds      []int32
	merges     []string
	begin, end int
	// next tells the token that follows one of the chain. A token that has none
	// leads to first.
	next  map[int]int
	first int
}

// Token kinds of the format.
const (
	ordinary = 1
	control  = 3
)

// character is what Speech.Split says, byte by byte.
const character = "🙂"

// endless are the words of a model without a text: all different, since two equal
// entries in a vocabulary abort the whole server (seen with v0.17.4).
var endless = strings.SplitAfter(" the| tide| lifts| a| heavy| hull| and| no| keel| here| is| dry,| so| every| rope| holds| its| own| ship| while| gulls| watch| from| posts| at| dawn| until| wind| fills| sails.| Then|.\n\n", "|")

func newVocabulary(says Speech) (*vocabulary, error) {
	v := &vocabulary{next: map[int]int{}}
	for b := range 256 {
		v.add(letters[b], ordinary)
	}
	v.begin, v.end = v.add("<|begin|>", control), v.add("<|end|>", control)
	words, err := says.words()
	if err != nil {
		return nil, err
	}
	var chain []int
	for _, word := range words {
		chain = append(chain, v.add(spell(word), ordinary))
	}
	// The list of merges must not be empty; this one joins nothing that is said.
	v.add(letters[' ']+"z", ordinary)
	v.merges = []string{letters[' '] + " z"}

	v.first = chain[0]
	for i, token := range chain[1:] {
		v.next[chain[i]] = token
	}
	last := chain[len(chain)-1]
	switch {
	case says.Text != "" || says.Count > 0:
		v.next[last] = v.end
	case says.Split:
		for _, b := range []byte(character) {
			v.next[last] = int(b)
			last = int(b)
		}
		fallthrough
	default:
		v.next[last] = v.first
	}
	return v, nil
}

func (v *vocabulary) add(token string, kind int32) int {
	v.tokens = append(v.tokens, token)
	v.kinds = append(v.kinds, kind)
	return len(v.tokens) - 1
}

// words is what is said, cut into tokens that are all different.
func (s Speech) words() ([]string, error) {
	switch {
	case s.Text != "":
		return cut(s.Text)
	case s.Count > 0:
		words := make([]string, s.Count)
		for i := range words {
			words[i] = fmt.Sprintf(" w%04d", i)
		}
		return words, nil
	}
	var words []string
	for _, word := range endless {
		words = append(words, strings.TrimSuffix(word, "|"))
	}
	return words, nil
}

// cut parts a text into pieces of about four bytes: whole characters, no two
// equal, and none that the vocabulary has already.
func cut(text string) ([]string, error) {
	if len(text) < 2 {
		return nil, errors.New("a text of one byte cannot be said")
	}
	taken := map[string]bool{" z": true}
	var pieces []string
	for rest := text; rest != ""; {
		n := min(4, len(rest))
		for n < len(rest) && (taken[rest[:n]] || !utf8.RuneStart(rest[n])) {
			n++
		}
		if piece := rest[:n]; n > 1 && !taken[piece] {
			taken[piece] = true
			pieces = append(pieces, piece)
			rest = rest[n:]
			continue
		}
		// The rest is a single byte or repeats a piece: it joins the one before,
		// and that one those before it until it differs from all.
		for {
			if len(pieces) == 0 {
				return nil, fmt.Errorf("%q cannot be cut into different tokens", text)
			}
			last := pieces[len(pieces)-1]
			pieces = pieces[:len(pieces)-1]
			delete(taken, last)
			rest = last + rest
			if !taken[rest] {
				break
			}
		}
		taken[rest] = true
		pieces = append(pieces, rest)
		rest = ""
	}
	return pieces, nil
}

// letters is how byte-level BPE (GPT-2's) writes each byte: printable ones as
// they are, the others as the characters from U+0100 on.
var letters = func() (table [256]string) {
	others := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			table[b] = string(b)
		} else {
			table[b] = string(others)
			others++
		}
	}
	return table
}()

// spell writes a word as the vocabulary does.
func spell(word string) string {
	var spelled strings.Builder
	for _, b := range []byte(word) {
		spelled.WriteString(letters[b])
	}
	return spelled.String()
}
