package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"plimsoll/monitor/request"
)

// slotReplies are replies in every shape that builds give them, and what they say.
var slotReplies = map[string]struct {
	text string
	want []request.Slot
}{
	"array": {`[{"id":1,"n_ctx":4096,"speculative":true,"is_processing":true,"id_task":42,"n_prompt_tokens":3072,
		"n_prompt_tokens_processed":3000,"n_prompt_tokens_cache":72,"params":{"a":[1,{"b":null}]},
		"next_token":[{"has_next_token":true,"n_decoded":7}],"prompt":"said \"secret\" \\","generated":"\u00e9"}]`,
		[]request.Slot{{ID: 1, Task: new(42), Processing: true, Context: new(4096), Tokens: new(3072), Read: new(3000), Cached: new(72), Decoded: new(7)}}},
	"object": {`[ {"id":0,"id_task":2,"is_processing":false,"next_token":{"n_remain":-1,"n_decoded":200}} ]`,
		[]request.Slot{{Task: new(2), Decoded: new(200)}}},
	"never used": {`[{"id":0,"n_ctx":2048,"is_processing":false},{"id":1,"id_task":-1,"is_processing":false,"next_token":[]}]`,
		[]request.Slot{{Context: new(2048)}, {ID: 1}}},
	"no ids":         {`[{"is_processing":true},{"is_processing":true}]`, []request.Slot{{Processing: true}, {ID: 1, Processing: true}}},
	"none":           {`[]`, nil},
	"other types":    {`[{"id":"x","id_task":1.5,"n_ctx":null,"is_processing":"true","next_token":"x","n_decoded":3}]`, []request.Slot{{}}},
	"huge numbers":   {`[{"id":0,"n_ctx":1e300,"id_task":99999999999999999999}]`, []request.Slot{{}}},
	"a name escaped": {`[{"i\u0064":5,"id":6}]`, []request.Slot{{ID: 6}}},
	"not utf-8":      {"[{\"id\":3,\"prompt\":\"\xff\xfe\x00\"}]", []request.Slot{{ID: 3}}},
}

func TestSlots(t *testing.T) {
	for name, c := range slotReplies {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.text), "byte by byte": iotest.OneByteReader(strings.NewReader(c.text)),
			} {
				got, err := decodeSlots(r)
				if err != nil || !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: %s (%v), want %s", how, pretty(got), err, pretty(c.want))
				}
			}
			// Cut anywhere it is an error, never a smaller truth.
			for n := range len(c.text) - 1 {
				if got, err := decodeSlots(strings.NewReader(c.text[:n])); err == nil {
					t.Fatalf("cut after %d bytes it is %s", n, pretty(got))
				}
			}
		})
	}
}

func TestSlotsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"deep":      `[{"a":` + strings.Repeat("[", 1<<20),
		"many":      "[" + strings.Repeat(`{"id":0},`, slotsMost) + `{"id":0}]`,
		"page":      "<html>",
		"words":     `["a"]`,
		"number":    `[{"id":` + strings.Repeat("1", 1000) + `}]`,
		"no colon":  `[{"id" 1}]`,
		"no comma":  `[{"id":1 "b":2}]`,
		"bare":      `[{"id":maybe}]`,
		"no number": `[{"id":1-2}]`,
		"empty":     "  ",
	} {
		if got, err := decodeSlots(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %s", name, pretty(got))
		}
	}
}

func FuzzSlots(f *testing.F) {
	for _, c := range slotReplies {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeSlots(bytes.NewReader(data))
		var entries []map[string]json.RawMessage
		if json.Unmarshal(data, &entries) != nil {
			return // what is no JSON may be read with more or less patience
		}
		if err != nil && len(entries) <= slotsMost && !errors.Is(err, errDeep) && !bytes.Contains(data, []byte("null")) && !strings.Contains(err.Error(), "a number that does not end") && !strings.Contains(err.Error(), "is no value") {
			t.Fatalf("%q cannot be read: %v", data, err)
		}
		if err == nil && len(got) != len(entries) {
			t.Fatalf("%d slots of %d", len(got), len(entries))
		}
		for _, s := range got {
			for _, n := range []*int{s.Task, s.Context, s.Tokens, s.Read, s.Cached, s.Decoded} {
				if n != nil && *n < 0 {
					t.Fatalf("a count below zero: %s", pretty(s))
				}
			}
		}
	})
}

// secret stands for what people write.
const secret = "my-diary-of-today"

// bigReply is a reply of four slots with a prompt of a mebibyte.
func bigReply() []byte {
	var slots []string
	for i := range 4 {
		prompt := ""
		if i == 0 {
			prompt = strings.Repeat(secret+` \"quoted\" `, (1<<20)/(len(secret)+13))
		}
		slots = append(slots, fmt.Sprintf(`{"id":%d,"id_task":7,"n_ctx":8192,"is_processing":true,"n_prompt_tokens_processed":100,"params":{"temperature":0.8,"samplers":["top_k"],"stop":["%s"]},"prompt":"%s","next_token":[{"n_decoded":12}]}`, i, secret, prompt))
	}
	return []byte("[" + strings.Join(slots, ",") + "]")
}

// TestNoPromptIsKept: nothing of a prompt is in what comes out, in an error, or in
// memory that is held on to.
func TestNoPromptIsKept(t *testing.T) {
	reply := bigReply()
	f := newFake(t, map[string]http.HandlerFunc{"GET /slots": func(w http.ResponseWriter, _ *http.Request) { w.Write(reply) }})
	s := slotsAt(t, f.URL)
	slots, err := s.Read(t.Context())
	if err != nil || len(slots) != 4 || *slots[3].Decoded != 12 {
		t.Fatalf("%s (%v)", pretty(slots), err)
	}
	if text := fmt.Sprintf("%+v %s", slots, pretty(slots)); strings.Contains(text, "diary") {
		t.Errorf("it came out: %s", text)
	}
	for cut := range 400 { // also where it is cut inside of a prompt
		_, err := decodeSlots(bytes.NewReader(reply[:len(reply)-1-cut*len(reply)/400]))
		if err == nil || strings.Contains(err.Error(), "diary") {
			t.Fatalf("cut: %v", err)
		}
	}
	f.set("GET /slots", fails(400, "text/plain", secret))
	if _, err := s.Read(t.Context()); err == nil || strings.Contains(err.Error(), "diary") || !errors.Is(err, ErrNoSlots) {
		t.Errorf("refused: %v", err)
	}
	f.set("GET /slots", says(`["`+secret+`"]`))
	if _, err := s.Read(t.Context()); err == nil || strings.Contains(err.Error(), "diary") {
		t.Errorf("of another kind: %v", err)
	}
}

// slotsAt reads a server's slots.
func slotsAt(t *testing.T, server string) *Slots {
	t.Helper()
	base, err := ParseHost(server)
	if err != nil {
		t.Fatal(err)
	}
	s := newSlots(base, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSlotsOfAServer(t *testing.T) {
	f := newFake(t, nil)
	s := slotsAt(t, f.URL)
	for _, c := range []struct {
		answer http.HandlerFunc
		want   error
	}{
		{http.NotFound, ErrNoSlots}, // an Ollama's own runner
		{fails(501, "application/json", `{"error":{"code":501,"message":"This server does not support slots endpoint."}}`), ErrNoSlots},
		{fails(401, "", ""), ErrNoSlots},
		{fails(302, "", ""), ErrNoSlots},
		{fails(503, "application/json", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), ErrLoading},
	} {
		f.set("GET /slots", c.answer)
		if got, err := s.Read(t.Context()); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%v (%v), want %v", got, err, c.want)
		}
	}
	f.set("GET /slots", fails(500, "", ""))
	if _, err := s.Read(t.Context()); err == nil || errors.Is(err, ErrNoSlots) {
		t.Errorf("an error of the server: %v", err)
	}
	f.set("GET /slots", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	late, end := context.WithDeadline(t.Context(), time.Now())
	defer end()
	if _, err := s.Read(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
	f.set("GET /slots", says(`[{"id":0}]`))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(gone); err == nil {
		t.Error("it did not end with its caller")
	}
	if _, err := s.Read(t.Context()); err != nil {
		t.Error(err)
	}
	f.Close()
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("nobody answered")
	}
}

func TestChildIsOnThisMachine(t *testing.T) {
	if got := ChildSlots(53443).Address(); got != "http://127.0.0.1:53443" {
		t.Errorf("a child at %s", got)
	}
}

func TestTotals(t *testing.T) {
	f := newFake(t, nil)
	s := slotsAt(t, f.URL)
	if _, err := s.Totals(t.Context()); !errors.Is(err, ErrNoSlots) {
		t.Errorf("without --metrics: %v", err)
	}
	f.set("GET /metrics", says(string(llamaRecorded(t, "metrics-after.prom"))))
	got, err := s.Totals(t.Context())
	if err != nil || *got.PromptTokens != 1801 || *got.PromptSeconds != 3.089 || *got.DecodeTokens != 200 || *got.DecodeSeconds != 3.182 {
		t.Errorf("%s (%v)", pretty(got), err)
	}
	f.set("GET /metrics", says("llamacpp:prompt_tokens_total NaN\nllamacpp:tokens_predicted_total{a=\"b c\"} 5\nllamacpp:predicted_tokens_seconds 9\n"))
	if got, err := s.Totals(t.Context()); err != nil || got.PromptTokens != nil || *got.DecodeTokens != 5 || got.DecodeSeconds != nil {
		t.Errorf("%s (%v)", pretty(got), err)
	}
}

// llamaRecorded is a file that a real llama-server of June 2025 said.
func llamaRecorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "llama-server", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func BenchmarkSlots(b *testing.B) {
	reply := bigReply()
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		if slots, err := decodeSlots(bytes.NewReader(reply)); err != nil || len(slots) != 4 {
			b.Fatal(err)
		}
	}
}
