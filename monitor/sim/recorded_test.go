package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordings are replies of a real Ollama v0.17.4, beside the repository.
const recordings = "../../../shared/ollama-recorded/v0.17.4-default"

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	if _, err := os.Stat(recordings); err != nil {
		t.Skipf("no recordings of a real server here (%s)", recordings)
	}
	found, _ := filepath.Glob(filepath.Join(recordings, name))
	if len(found) != 1 {
		t.Fatalf("%s: %d files", name, len(found))
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// names of models in the recordings, and ours.
var sameModel = strings.NewReplacer("probe-tiny", Model7B, "probe-stop", Model14B, "probe-l1024", Model14B, "probe-m512", Model7B,
	"probe-embed", "nomic-embed-text", "llama.", "qwen2.")

// lastLine decodes the last line of a body.
func lastLine(t *testing.T, body []byte) any {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	var v any
	if err := json.Unmarshal(lines[len(lines)-1], &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// lacks lists keys of want, at any depth, that have is without, and values whose
// type differs.
func lacks(path string, want, have any) (missing []string) {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return []string{path + " is no object"}
		}
		for key, v := range want {
			key = sameModel.Replace(key)
			ours, ok := have[key]
			if !ok {
				missing = append(missing, path+"."+key)
				continue
			}
			missing = append(missing, lacks(path+"."+key, v, ours)...)
		}
	case []any:
		have, ok := have.([]any)
		if !ok || len(want) > 0 && len(have) == 0 {
			return []string{path + " is no list, or empty"}
		}
		if len(want) > 0 {
			missing = lacks(path+"[0]", want[0], have[0])
		}
	case string:
		if _, ok := have.(string); !ok {
			missing = []string{path + " is no string"}
		}
	case float64:
		if _, ok := have.(float64); !ok {
			missing = []string{path + " is no number"}
		}
	case bool:
		if _, ok := have.(bool); !ok {
			missing = []string{path + " is no bool"}
		}
	}
	slices.Sort(missing)
	return missing
}

// TestKeysOfRecordedReplies sends the recorded requests: every key of the real
// replies is in ours, with a value of the same type, under the same status and
// content type.
func TestKeysOfRecordedReplies(t *testing.T) {
	m, _ := serve(t, 200)
	for _, name := range []string{"001-root", "003-version", "004-tags", "005-show", "009-ps-empty", "010-generate-cold-load", "011-generate-stream-first",
		"013-generate-nostream", "014-generate-natural-stop", "017-chat-stream", "018-chat-nostream", "027-ps-one-model", "035-load-only-generate",
		"037-load-only-chat", "029-ps-keepalive-minus1", "109-embed", "110-embeddings-old-endpoint", "111-ps-with-embedding-model", "038-unload-generate", "041-unload-chat", "043-unload-not-loaded"} {
		t.Run(name, func(t *testing.T) {
			status, kind, body := replay(t, m, name, http.StatusOK)
			want := recorded(t, name+".body.*")
			if name == "001-root" {
				if string(body) != string(want) {
					t.Errorf("%q, recorded %q", body, want)
				}
				return
			}
			if missing := lacks("", lastLine(t, want), lastLine(t, body)); len(missing) > 0 {
				t.Errorf("status %d, %s: lacks %v", status, kind, missing)
			}
		})
	}
}

// TestRecordedErrors: the same refusals in the same words.
func TestRecordedErrors(t *testing.T) {
	m, _ := serve(t, 200)
	for _, name := range []string{"034-keepalive-bad", "064-err-unknown-model", "065-err-unknown-model-chat", "067-err-unknown-model-show", "068-err-bad-json",
		"069-err-bad-json-chat", "071-err-empty-body", "072-err-no-model", "074-err-wrong-type", "075-err-bad-option", "076-err-think-unsupported",
		"078-err-generate-on-embedding-model", "079-err-method", "080-err-path", "081-err-foreign-origin", "082-err-foreign-host"} {
		t.Run(name, func(t *testing.T) {
			_, _, body := replay(t, m, name, 0)
			want := []byte(nil)
			if !strings.Contains(name, "foreign") { // these have no body
				want = recorded(t, name+".body.*")
			}
			if got, want := string(body), sameModel.Replace(string(want)); got != want {
				t.Errorf("%s, recorded %s", got, want)
			}
		})
	}
}

func TestOtherErrors(t *testing.T) {
	m, _ := still(t, Config{})
	for _, c := range [][2]string{
		{`{"model":"qwen2.5:7b","keep_alive":"-1"}`, `{"error":"time: missing unit in duration \"-1\""}`},
		{`{"model":"qwen2.5:7b","keep_alive":true}`, `{"error":"Unsupported type: 'bool'"}`},
		{`{"model":"qwen2.5:7b","prompt":"` + strings.Repeat("long ", 40) + `","truncate":false,"options":{"num_ctx":32}}`, `{"error":"the input length exceeds the context length"}`},
	} {
		if w := call(m, "POST", "/api/generate", c[0]); w.Code != http.StatusBadRequest || w.Body.String() != c[1] {
			t.Errorf("%s: %d %s", c[0], w.Code, w.Body)
		}
	}
	if n := m.Truth().Answered; n != 0 {
		t.Errorf("%d refused requests were taken in", n)
	}
}

// replay sends the request of a recording and compares what is not the body.
func replay(t *testing.T, m *Mac, name string, status int) (int, string, []byte) {
	t.Helper()
	var meta struct {
		Method, Path, Status string
		Body                 string            `json:"request_body"`
		Sent                 map[string]string `json:"request_headers"`
		Headers              http.Header
	}
	if err := json.Unmarshal(recorded(t, name+".meta.json"), &meta); err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(deadline(t), meta.Method, address(m)+meta.Path, strings.NewReader(sameModel.Replace(meta.Body)))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range meta.Sent {
		if q.Header.Set(key, value); key == "Host" {
			q.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.Status != meta.Status || status > 0 && resp.StatusCode != status {
		t.Errorf("status %s, recorded %s: %s", resp.Status, meta.Status, body.Bytes())
	}
	for _, key := range []string{"Content-Type", "Allow"} {
		if got, want := resp.Header.Get(key), meta.Headers.Get(key); got != want {
			t.Errorf("%s %q, recorded %q", key, got, want)
		}
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), body.Bytes()
}
