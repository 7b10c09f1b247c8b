package meter

import (
	"bytes"
	"hash/maphash"
	"strconv"
)

// lookLimit is how much of a request's body is looked at. The rest passes.
const lookLimit = 1 << 20

// prompt is what the body of a request says, as far as it was looked at. It keeps
// no word of it.
type prompt struct {
	scan   scan
	looked int
	// size is all of the body that has passed, in bytes.
	size int64

	model  string
	stream *bool
	// context and most are num_ctx and the most tokens that may be made, 0 when
	// they were not asked for.
	context, most int
	// asks: it holds something to answer. One that does not only loads or unloads.
	asks bool
	// text is the length of what is to be read, in bytes, images left out.
	text  int
	print fingerprint
}

func newPrompt() *prompt {
	p := &prompt{}
	p.scan.value, p.scan.wants, p.scan.piece = p.value, p.wants, p.print.write
	return p
}

// feed takes the next bytes of the body.
func (p *prompt) feed(b []byte) {
	p.size += int64(len(b))
	if room := lookLimit - p.looked; room > 0 {
		p.looked += min(len(b), room)
		p.scan.feed(b[:min(len(b), room)])
	}
}

// whole reports that all of the body was seen and is one JSON value.
func (p *prompt) whole() bool { return p.scan.state == scanDone && p.size <= lookLimit }

// tokens is how many tokens the prompt may have: four bytes each is a usual
// figure for English and, by chance, for Chinese too.
func (p *prompt) tokens() int {
	text := p.text
	if p.scan.handing && !picture(p.scan.path) {
		text += p.scan.size // of a string whose end has not come, or is not looked at
	}
	return text / 4
}

// asking are the members of a request that are to be read by the model.
var asking = map[string]bool{
	"prompt": true, "messages": true, "input": true, "system": true, "instructions": true,
	"suffix": true, "tools": true, "template": true, "images": true,
}

func member(path []byte) []byte {
	if i := bytes.IndexByte(path, '.'); i >= 0 {
		return path[:i]
	}
	return path
}

func (p *prompt) wants(path []byte) bool { return asking[string(member(path))] }

func (p *prompt) value(path []byte, kind byte, text []byte, size int) {
	switch string(path) {
	case "model":
		p.model = unescaped(text)
	case "stream":
		p.stream = new(kind == 't')
	case "options.num_ctx":
		p.context, _ = strconv.Atoi(string(text))
	case "options.num_predict", "max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict":
		p.most, _ = strconv.Atoi(string(text))
	}
	if kind != '"' || size == 0 || !p.wants(path) {
		return
	}
	switch string(member(path)) {
	case "prompt", "messages", "input":
		p.asks = true
	}
	if !picture(path) {
		p.text += size
	}
}

// picture tells the paths under which images and sounds stand, as text.
func picture(path []byte) bool {
	for _, end := range []string{"images", "image_url", "image_url.url", "source.data", "input_audio.data"} {
		if bytes.HasSuffix(path, []byte(end)) {
			return true
		}
	}
	return false
}

// fingerprint tells how much of a prompt is like the beginning of another's, from
// sums at marks along it: every 64 bytes at first, every 1024 after 4096.
type fingerprint struct {
	hash  maphash.Hash
	size  int
	marks []uint64
}

// seed makes sums comparable within this process and nowhere else.
var seed = maphash.MakeSeed()

func (f *fingerprint) write(b []byte) {
	if f.size == 0 {
		f.hash.SetSeed(seed)
	}
	for len(b) > 0 {
		n := min(len(b), markAfter(f.size)-f.size)
		f.hash.Write(b[:n]) //nolint:errcheck // it cannot fail
		if f.size += n; f.size == markAfter(f.size-1) {
			f.marks = append(f.marks, f.hash.Sum64())
		}
		b = b[n:]
	}
}

// markAfter is the first mark behind a place.
func markAfter(size int) int {
	const step, wide, from = 64, 1024, 4096
	if size < from {
		return (size/step + 1) * step
	}
	return (size/wide + 1) * wide
}

// shared is the part of the prompt, 0 to 1, that another one began with too.
func (f *fingerprint) shared(other *fingerprint) float64 {
	if f.size == 0 {
		return 0
	}
	if f.size == other.size && f.hash.Sum64() == other.hash.Sum64() {
		return 1
	}
	place := 0
	for i := 0; i < len(f.marks) && i < len(other.marks) && f.marks[i] == other.marks[i]; i++ {
		place = markAfter(place)
	}
	return float64(place) / float64(f.size)
}
