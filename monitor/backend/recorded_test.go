package backend

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestRecordedFixtures reads every recording of a source without being told which
// of its replies it is.
func TestRecordedFixtures(t *testing.T) {
	var all map[string]struct{ Expect map[string]any }
	if err := json.Unmarshal(shared(t, "fixtures", "expected.json"), &all); err != nil {
		t.Fatal(err)
	}
	for _, source := range []struct {
		name   string
		decode func([]byte) (any, error)
		least  int
	}{{"ollama_api", DecodeRecorded, 17}, {"lmstudio", DecodeLMStudio, 7}, {"llama_server", DecodeLlamaServer, 4}} {
		checked := 0
		for name, want := range all {
			file, ours := strings.CutPrefix(name, source.name+"/")
			if !ours {
				continue
			}
			checked++
			t.Run(name, func(t *testing.T) {
				got, err := source.decode(shared(t, "fixtures", source.name, file))
				if err != nil {
					t.Fatal(err)
				}
				compare(t, "", jsonValue(t, got), want.Expect)
			})
		}
		if checked < source.least {
			t.Errorf("only %d recordings of %s were checked", checked, source.name)
		}
	}
}

func TestRecorded(t *testing.T) {
	for _, c := range []struct{ text, has, kind string }{
		{`{"models":[]}`, `{"models":[]}`, ""},
		{`{"models":[{"name":"a:cloud","model":"a:cloud","size":384,"remote_host":"https://ollama.com"}]}`, `"cloud":true,"size_bytes":null,"format":null`, ""},
		{`{"models":[{"name":"a","size":10,"size_vram":0,"context_length":0,"expires_at":"0001-01-01T00:00:00Z"}]}`, `"size_vram_bytes":0,"gpu_percent":0,"context_length":null,"expires_at":null,"keep_forever":false`, ""},
		{`{"models":[{"name":"a","size_vram":3,"expires_at":"2318-12-05T21:47:02Z"}]}`, `"size_bytes":null,"size_vram_bytes":3,"gpu_percent":null`, ""},
		{"{\"model\":\"a\",\"done\":false}\n{\"model\":\"a\",\"done\":true,\"eval_count\":10,\"eval_duration\":2000000000}\n", `"decode_tokens_per_second":5`, ""},
		{"{done: true, // the last\n model: 'it\\'s \"x\"', eval_count: 1e1, /* y */ eval_duration: -0.5e1,}", `{}`, "labels_not_recognised"},
		{"{done: true, // the last\n model: 'it\\'s \"x\"', eval_count: 10, /* y */ eval_duration: 1000000000,}", `"model":"it's \"x\""`, ""},
		{`{"done":false,"model":"a"}`, `{}`, "labels_not_recognised"},
		{`{"error":"model not found"}`, `{}`, "labels_not_recognised"},
		{`{"models":7}`, `{}`, "labels_not_recognised"},
		{`{"models":[{"name":"a","si`, `{}`, "truncated"},
		{`{"models":[{"name"::`, `{}`, "not_json"},
		{`{done: true,,}`, `{}`, "not_json"},
		{`[1]`, `{}`, "labels_not_recognised"},
		{"  \n", `{}`, "truncated"},
		{"error: could not connect to a running Ollama instance", `{}`, "labels_not_recognised"},
		{"total duration:  1s\neval count: x", `{}`, "labels_not_recognised"},
		{"NAME  ID  SIZE  PROCESSOR  UNTIL\n", `{"models":[]}`, ""},
	} {
		value, err := DecodeRecorded([]byte(c.text))
		text, failed := json.Marshal(value)
		if failed != nil || !strings.Contains(string(text), c.has) {
			t.Errorf("%q is %s (%v), want %s", c.text, text, failed, c.has)
		}
		kind := ""
		if recorded, ok := errors.AsType[*RecordedError](err); ok {
			kind = recorded.ErrorKind()
		}
		if kind != c.kind || (err == nil) != (kind == "") {
			t.Errorf("%q fails with %q (%v), want %q", c.text, kind, err, c.kind)
		}
	}
}

func TestLMStudioRecorded(t *testing.T) {
	for _, c := range []struct{ text, has, kind string }{
		{`{"data":[]}`, `{"loaded_count":0,"models":[]}`, ""},
		{`{"id":"a","state":"loaded","compatibility_type":"mlx"}`, `"loaded":true`, ""},
		{`{"models":[{"key":"a","quantization":null,"loaded_instances":[{"id":"a:2","config":{}}]}]}`, `"loaded_instances":[{"id":"a:2","context_length":null`, ""},
		{`{"models":[{"key":"a","quantization":{"name":"Q8_0"}}]}`, `"quantization":"Q8_0"`, ""},
		{`{"model_instance_id":"a","stats":{"tokens_per_second":1}}`, `"decode_tokens_per_second":null`, ""},
		{`{"model":"a","usage":{"completion_tokens":5},"stats":{"generation_time":0}}`, `"decode_tokens_per_second":null`, ""},
		{`{"model":"a","stats":{},"choices":[{"message":{"content":"secret words"}}]}`, `"model":"a"`, ""},
		{`{"models":[{"key":7}]}`, `{}`, "labels_not_recognised"},
		{`{"error":"x"}`, `{}`, "labels_not_recognised"},
		{`{"models":[{"key":"a`, `{}`, "truncated"},
		{``, `{}`, "truncated"},
		{`hello`, `{}`, "not_json"},
		{`[]`, `{}`, "not_json"},
	} {
		value, err := DecodeLMStudio([]byte(c.text))
		text, failed := json.Marshal(value)
		if failed != nil || !strings.Contains(string(text), c.has) || strings.Contains(string(text), "secret") {
			t.Errorf("%q is %s (%v), want %s", c.text, text, failed, c.has)
		}
		kind := ""
		if recorded, ok := errors.AsType[*RecordedError](err); ok {
			kind = recorded.ErrorKind()
		}
		if kind != c.kind || (err == nil) != (kind == "") {
			t.Errorf("%q fails with %q (%v), want %q", c.text, kind, err, c.kind)
		}
	}
}

func FuzzRecorded(f *testing.F) {
	for _, s := range []string{`{"models":[{"name":"a","size_vram":3}]}`, "{a: 'b', // c\n}", "NAME ID\na  b  1 GB  100% GPU  Forever", `{"done":true}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (any, error){DecodeRecorded, DecodeLMStudio, DecodeLlamaServer} {
			value, err := decode(data)
			if value == nil {
				t.Error("no value")
			}
			if _, failed := json.Marshal(value); failed != nil {
				t.Error(failed)
			}
			if _, ok := errors.AsType[*RecordedError](err); err != nil && !ok {
				t.Errorf("an error without a kind: %v", err)
			}
		}
	})
}
