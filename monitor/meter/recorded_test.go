package meter

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/monitor/request"
)

// recording is one exchange with a real server.
type recording struct {
	Method, Path, Status string
	Request              string `json:"request_body"`
	Headers              map[string][]string
	body                 []byte
}

// TestRecordedAnswers passes every recorded exchange of real servers through the
// meter: unchanged, and told as the server told it.
func TestRecordedAnswers(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "ollama-recorded")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the recordings are not here: %v", err)
	}
	metas, _ := filepath.Glob(filepath.Join(root, "*", "*.meta.json"))
	passed, met := 0, 0
	for _, meta := range metas {
		var x struct {
			recording
			Body any `json:"body"`
		}
		text, err := os.ReadFile(meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatalf("%s: %v", meta, err)
		}
		bodies, _ := filepath.Glob(strings.TrimSuffix(meta, ".meta.json") + ".body.*")
		if x.Method != http.MethodPost || len(bodies) != 1 || x.Status == "" || !endpoints[x.Path] {
			continue
		}
		if x.body, err = os.ReadFile(bodies[0]); err != nil {
			t.Fatal(err)
		}
		passed++
		if replay(t, filepath.Base(filepath.Dir(meta))+"/"+filepath.Base(meta), x.recording) {
			met++
		}
	}
	if passed < 100 || met < 60 {
		t.Errorf("%d exchanges passed, %d of them told", passed, met)
	}
}

// replay passes one exchange and holds what is told against a plain reading of the
// whole answer. It reports whether anything was told.
func replay(t *testing.T, name string, x recording) bool {
	t.Helper()
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for k, v := range x.Headers {
			if k != "Content-Length" { // of a body in which a path was replaced
				w.Header()[k] = v
			}
		}
		status := 0
		for _, c := range x.Status[:3] {
			status = status*10 + int(c-'0')
		}
		w.WriteHeader(status)
		w.Write(x.body)
	}, nil)
	_, got := b.ask(t, x.Path, x.Request)
	if got != string(x.body) {
		t.Errorf("%s came changed", name)
	}
	if !b.told() {
		var last struct {
			Reason string `json:"done_reason"`
		}
		if json.Unmarshal(x.body, &last) != nil || last.Reason != "load" && last.Reason != "unload" && x.Status[0] == '2' {
			t.Errorf("%s was not told", name)
		}
		return false
	}
	f := b.next(t)
	prompt, output, ended := plain(x.body)
	ended = ended || json.Valid(x.body)
	if prompt != counted(f.PromptTokens) && prompt > 0 || output >= 0 && output != counted(f.OutputTokens) || output >= 0 && f.OutputApproximate {
		t.Errorf("%s: told %d and %d tokens, the server says %d and %d", name, counted(f.PromptTokens), counted(f.OutputTokens), prompt, output)
	}
	if x.Status[0] == '2' && ended != (f.Outcome == request.OutcomeFinished) && !strings.Contains(string(x.body), `"error":"`) {
		t.Errorf("%s: told as %s", name, f.Outcome)
	}
	return true
}

// plain reads the last counts in an answer, −1 where there are none, and whether
// it has its end.
func plain(body []byte) (prompt, output int, ended bool) {
	prompt, output = -1, -1
	type usage struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Input      *int `json:"input_tokens"`
		Output     *int `json:"output_tokens"`
	}
	text := string(body)
	ended = strings.Contains(text, "data: [DONE]") || strings.Contains(text, `"done":true`) || strings.Contains(text, "message_stop") || strings.Contains(text, "response.completed")
	for line := range strings.Lines(text) {
		var r struct {
			Prompt   *int `json:"prompt_eval_count"`
			Output   *int `json:"eval_count"`
			Usage    usage
			Response json.RawMessage
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		var wrapped struct{ Usage usage }
		json.Unmarshal(r.Response, &wrapped)
		for _, n := range []*int{r.Prompt, r.Usage.Prompt, r.Usage.Input, wrapped.Usage.Input} {
			if n != nil && *n > 0 {
				prompt = *n
			}
		}
		for _, n := range []*int{r.Output, r.Usage.Completion, r.Usage.Output, wrapped.Usage.Output} {
			if n != nil && *n > 0 {
				output = *n
			}
		}
	}
	return prompt, output, ended
}
