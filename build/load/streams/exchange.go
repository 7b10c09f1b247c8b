package streams

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Exchange is one request and its answer.
type Exchange struct {
	Number int
	Path   string
	Body   []byte
	// Output is the count of tokens that the answer's statistics tell, 0 when it
	// has none.
	Output int

	chunked bool // the request has no length
	early   bool // the answer begins before the request has been read
	sized   bool // the answer has a length
	flushed bool // each piece leaves by itself
	status  int
	kind    string
	pieces  [][]byte
}

// Model is the name of the model that is asked: a meter tells of it.
func (x Exchange) Model() string { return fmt.Sprintf("m%d", x.Number) }

func (x Exchange) whole() []byte { return bytes.Join(x.pieces, nil) }

func (x Exchange) size() int { return len(x.Body) + len(x.whole()) }

func (x Exchange) String() string {
	return fmt.Sprintf("%s, %d bytes to %s, %d of %s back in %d pieces; early %v, sized %v, flushed %v", x.Path, len(x.Body), x.Path, len(x.whole()), x.kind, len(x.pieces), x.early, x.sized, x.flushed)
}

// paths are asked in turn; the last is one that is not counted.
var paths = []string{"/api/generate", "/api/chat", "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/api/embed", "/other/path"}

// words hold runes of every length, and what stands escaped in JSON.
var words = []string{" the", " tide", " 潮水", " 🙂", " ñ", `\"`, `\\n`, `\u00e9`, `\ud83d\ude42`, " lifts", ""}

// Make makes exchange i of a run, the same at each call.
func Make(seed uint64, i int) Exchange {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	x := Exchange{Number: i, Path: paths[r.IntN(len(paths))], status: 200, chunked: r.IntN(2) == 0, early: r.IntN(8) == 0, flushed: r.IntN(4) > 0}
	x.Body = []byte(fmt.Sprintf(`{"model":"%s","prompt":"Say%s","stream":true}`, x.Model(), text(r, size(r))))
	var answer string
	switch x.Path {
	case "/api/generate", "/api/chat":
		answer = x.lines(r)
	case "/api/embed", "/other/path":
		x.kind, x.sized = "application/json; charset=utf-8", r.IntN(2) == 0
		answer = `{"model":"` + x.Model() + `","embeddings":[[` + strings.Repeat("0.25,", size(r)/5) + `1]],"prompt_eval_count":7}`
	default:
		answer = x.events(r)
	}
	switch r.IntN(12) {
	case 0: // an error instead
		x.status, x.kind, x.Output, answer = 500, "application/json; charset=utf-8", 0, `{"error":"something `+text(r, 40)+`"}`
	case 1: // not what any server sends
		x.kind, x.Output = "application/octet-stream", 0
		noise := make([]byte, size(r))
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		answer = string(noise)
	case 2: // cut
		answer, x.Output = answer[:r.IntN(len(answer)+1)], 0
	}
	x.pieces = split(r, []byte(answer))
	return x
}

// size is mostly small, now and then large and seldom very large.
func size(r *rand.Rand) int {
	switch r.IntN(200) {
	case 0:
		return r.IntN(1 << 20)
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		return r.IntN(64 << 10)
	}
	return r.IntN(400)
}

func text(r *rand.Rand, length int) string {
	var b strings.Builder
	for b.Len() < length {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

func ending(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return "\r\n"
	}
	return "\n"
}

// lines is a stream of Ollama's.
func (x *Exchange) lines(r *rand.Rand) string {
	x.kind = "application/x-ndjson"
	var b strings.Builder
	end := ending(r)
	for range r.IntN(60) {
		word := `"response":"` + text(r, size(r)%600) + `"`
		if x.Path == "/api/chat" {
			word = `"message":{"role":"assistant","content":"` + text(r, size(r)%600) + `"}`
		}
		if r.IntN(100) == 0 {
			word += "\t\x1b" // no JSON, and passes
		}
		b.WriteString(`{"model":"` + x.Model() + `",` + word + `,"done":false}` + end)
	}
	x.Output = 1 + r.IntN(5000)
	fmt.Fprintf(&b, `{"model":"%s","response":"%s","done":true,"total_duration":9,"eval_count":%d,"eval_duration":3}%s`, x.Model(), text(r, size(r)), x.Output, end)
	return b.String()
}

// events is a stream of the other interfaces.
func (x *Exchange) events(r *rand.Rand) string {
	x.kind = "text/event-stream"
	var b strings.Builder
	end := ending(r)
	event := func(name, data string) {
		if name != "" || r.IntN(5) == 0 {
			b.WriteString("event: " + name + end)
		}
		if r.IntN(20) == 0 {
			b.WriteString(": ping" + end + end)
		}
		b.WriteString("data: " + data + end + end)
	}
	x.Output = 1 + r.IntN(5000)
	for range r.IntN(60) {
		switch word := text(r, size(r)%600); x.Path {
		case "/v1/responses":
			event("response.output_text.delta", `{"delta":"`+word+`","type":"response.output_text.delta"}`)
		case "/v1/messages":
			event("content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"`+word+`"}}`)
		case "/v1/completions":
			event("", `{"choices":[{"text":"`+word+`","finish_reason":null}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`)
		default:
			event("", `{"choices":[{"delta":{"content":"`+word+`"},"finish_reason":null}]}`)
		}
	}
	switch x.Path {
	case "/v1/responses":
		event("response.completed", fmt.Sprintf(`{"response":{"output":[{"content":[{"text":"%s"}]}],"usage":{"input_tokens":3,"output_tokens":%d}},"type":"response.completed"}`, text(r, size(r)), x.Output))
	case "/v1/messages":
		event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":3,"output_tokens":%d}}`, x.Output))
		event("message_stop", `{"type":"message_stop"}`)
	default:
		event("", fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, x.Output))
		event("", "[DONE]")
	}
	return b.String()
}

// split cuts at random places, inside of runes and line ends too.
func split(r *rand.Rand, all []byte) [][]byte {
	var pieces [][]byte
	most := 1 + r.IntN(4096)
	if len(all) > 64<<10 {
		most += len(all) / 16 // a long line need not be written byte by byte
	}
	for len(all) > 0 {
		n := min(1+r.IntN(most), len(all))
		pieces = append(pieces, all[:n])
		all = all[n:]
	}
	return pieces
}
