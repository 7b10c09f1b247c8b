package sim

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	ollama "github.com/ollama/ollama/api"
)

func client(t *testing.T, m *Mac) *ollama.Client {
	t.Helper()
	u, err := url.Parse(address(m))
	if err != nil {
		t.Fatal(err)
	}
	return ollama.NewClient(u, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
}

func TestOllamaClient(t *testing.T) {
	m, clock := serve(t, 50)
	c, ctx := client(t, m), deadline(t)
	if err := c.Heartbeat(ctx); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Version(ctx); err != nil || v != "0.17.4" {
		t.Fatal(v, err)
	}
	tags, err := c.List(ctx)
	if err != nil || len(tags.Models) != len(store) {
		t.Fatal(tags, err)
	}
	clouds := 0
	for _, model := range tags.Models {
		if model.RemoteHost != "" {
			clouds++
		}
	}
	if clouds != 1 {
		t.Errorf("%d models of the cloud in the store", clouds)
	}
	if ps, err := c.ListRunning(ctx); err != nil || ps.Models == nil || len(ps.Models) != 0 {
		t.Fatal(ps, err)
	}

	var lines []ollama.GenerateResponse
	err = c.Generate(ctx, &ollama.GenerateRequest{Model: Model7B, Prompt: "Why is the sea salt?", Options: map[string]any{"num_predict": 48}},
		func(r ollama.GenerateResponse) error {
			if now := clock.Now(); now.Before(r.CreatedAt) {
				t.Errorf("a line of %v arrived at %v", r.CreatedAt, now)
			}
			lines = append(lines, r)
			return nil
		})
	if err != nil || len(lines) != 49 {
		t.Fatal(len(lines), err)
	}
	last := lines[48]
	if !last.Done || last.DoneReason != "length" || last.EvalCount != 48 || last.LoadDuration < 1500*time.Millisecond || len(last.Context) != last.PromptEvalCount+48 {
		t.Errorf("last line %+v", last.Metrics)
	}
	if rate := 48 / last.EvalDuration.Seconds(); rate < 24 || rate > 25.5 { // n tokens over n−1 gaps, as the real one
		t.Errorf("%.2f token/s by the statistics", rate)
	}
	if paced := lines[47].CreatedAt.Sub(lines[0].CreatedAt); paced != last.EvalDuration {
		t.Errorf("lines span %v, eval_duration is %v", paced, last.EvalDuration)
	}

	ps, err := c.ListRunning(ctx)
	if err != nil || len(ps.Models) != 1 {
		t.Fatal(ps, err)
	}
	p := ps.Models[0]
	if p.Name != Model7B || p.Size != find(Model7B).need(4096) || p.SizeVRAM != p.Size || p.ContextLength != 4096 ||
		p.ExpiresAt.Sub(last.CreatedAt) < defaultKeep || p.ExpiresAt.Sub(last.CreatedAt) > defaultKeep+time.Second {
		t.Errorf("running %+v", p)
	}
	show, err := c.Show(ctx, &ollama.ShowRequest{Model: Model14B})
	if err != nil || show.ModelInfo["qwen2.block_count"] != 48. || !strings.Contains(show.Modelfile, "\nFROM "+find(Model14B).blob()+"\n") {
		t.Fatal(show, err)
	}
	embedded, err := c.Embed(ctx, &ollama.EmbedRequest{Model: "nomic-embed-text", Input: []string{"sea", "salt", "sea"}})
	if err != nil || len(embedded.Embeddings) != 3 || len(embedded.Embeddings[0]) != 768 || embedded.PromptEvalCount == 0 {
		t.Fatal(err)
	}
	if a, b := embedded.Embeddings[0], embedded.Embeddings[1]; a[0] == b[0] || a[5] != embedded.Embeddings[2][5] {
		t.Error("embeddings do not depend on the text alone")
	}

	for _, name := range []string{Model7B, ModelEmbed} {
		reason := ""
		err = c.Generate(ctx, &ollama.GenerateRequest{Model: name, KeepAlive: &ollama.Duration{}}, func(r ollama.GenerateResponse) error {
			reason = r.DoneReason
			return nil
		})
		if err != nil || reason != "unload" {
			t.Errorf("unloading %s: %q, %v", name, reason, err)
		}
	}
	if ps, err = c.ListRunning(ctx); err != nil || len(ps.Models) != 0 {
		t.Error(ps, err)
	}
	var status ollama.StatusError
	err = c.Chat(ctx, &ollama.ChatRequest{Model: "no-such-model"}, func(ollama.ChatResponse) error { return nil })
	if !errors.As(err, &status) || status.StatusCode != 404 {
		t.Error(err)
	}
}

func TestChatAndCache(t *testing.T) {
	m, _ := serve(t, 50)
	c, ctx := client(t, m), deadline(t)
	ask := func(text string) (answer string, last ollama.ChatResponse) {
		turns := []ollama.Message{{Role: "user", Content: text}}
		err := c.Chat(ctx, &ollama.ChatRequest{Model: Model7B, Messages: turns}, func(r ollama.ChatResponse) error {
			answer += r.Message.Content
			last = r
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer, last
	}
	long := strings.Repeat("a longer question than most people ask ", 60)
	answer, first := ask(long)
	again, second := ask(long)
	if answer == "" || answer != again || first.DoneReason != "stop" || len(strings.Fields(answer)) != first.EvalCount-1 {
		t.Errorf("%q, %q, %s, %d tokens", answer, again, first.DoneReason, first.EvalCount)
	}
	if first.PromptEvalCount != second.PromptEvalCount || second.PromptEvalDuration*20 > first.PromptEvalDuration {
		t.Errorf("prompt %d in %v, then %d in %v", first.PromptEvalCount, first.PromptEvalDuration, second.PromptEvalCount, second.PromptEvalDuration)
	}
}
