package meter

import (
	"net/http"
	"strings"
	"testing"

	"plimsoll/monitor/request"
)

// What a server says of a failure is told; what it quotes of prompt or answer is not.
func TestSaid(t *testing.T) {
	for _, c := range []struct{ text, model, want string }{
		{`model "qwen3:8b" not found, try pulling it first`, "qwen3:8b", `model "qwen3:8b" not found, try …`},
		{"the request exceeds the available context size (8192 tokens), try increasing it", "m", "the request exceeds the available context size (8192 tokens), try …"},
		{"llama runner process has terminated: signal: killed", "m", "llama runner process has terminated: signal: killed"},
		{"model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs", "m",
			"model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs"},
		{"[json.exception.parse_error.101] parse error at line 1, column 10: syntax error while parsing value - invalid literal; last read: 'my secret plan is this'", "m",
			"[json.exception.parse_error.101] parse error at line 1, column 10: syntax error while parsing value - invalid literal; last read: …"},
		{"Failed to parse input at pos 3: Anna's number is 4111111111111111", "m", "Failed to parse input at pos 3: …"},
		{"error parsing tool call: raw='{\"city\":\"Bern\"}', err=invalid character", "m", "error parsing tool call: …"},
		{"4111 1111 1111 1111", "m", ""},
		{"模型未找到", "m", ""},
		{"dial tcp 127.0.0.1:11434: connect: connection refused", "", "dial tcp 127.0.0.1:11434: connect: connection refused"},
		{"", "", ""},
	} {
		if got := said(c.text, c.model); got != c.want {
			t.Errorf("said(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzSaid(f *testing.F) {
	f.Add("parse error: last read: 'Grüße an Anna'", "m")
	f.Add("\xff 12345678 …… ", "")
	f.Fuzz(func(t *testing.T, text, model string) {
		got := said(text+" zyxwvut", model)
		if len(got) > errorLimit || model != "zyxwvut" && strings.Contains(got, "zyxwvut") && !strings.Contains(strings.ToLower(model), "zyxwvut") {
			t.Errorf("said %q of %q", got, text)
		}
	})
}

// Whichever way a prompt comes back in an answer, no report holds a word of it.
func TestFailuresQuoteNothing(t *testing.T) {
	const secret = "xylophone"
	for _, c := range []struct {
		name, path, kind, piece string
		status                  int
	}{
		{"one value", "/api/chat", jsonOf, `{"error":"template: ` + secret + `"}`, 400},
		{"a list", "/v1/chat/completions", jsonOf, `{"detail":[{"input":"` + secret + `","message":"` + secret + `"}],"message":"` + secret + `"}`, 422},
		{"in a stream", "/v1/chat/completions", sse, "data: {\"error\":{\"message\":\"Failed to parse: " + secret + "\",\"code\":\"" + secret + "\"}}\n\n", 200},
		{"an old llama-server", "/completion", sse, "error: {\"message\":\"" + secret + "\"}\n\n", 200},
		{"responses", "/v1/responses", sse, "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"" + secret + "\"}}}\n\n", 200},
		{"text", "/api/chat", "text/plain", secret, 500},
	} {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			w.Write([]byte(c.piece)) //nolint:errcheck // the client reads it all
		}, nil)
		if _, got := b.ask(t, c.path, `{"model":"m","prompt":"`+secret+`"}`); got != c.piece {
			t.Errorf("%s: came as %q", c.name, got)
		}
		if f := b.next(t); f.Outcome != request.OutcomeFailed || strings.Contains(f.Error, secret) {
			t.Errorf("%s: %s with %q", c.name, f.Outcome, f.Error)
		}
	}
}
