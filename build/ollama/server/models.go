package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ollama/ollama/api"

	"plimsoll/build/ollama/gguf"
)

// Model is a model that a server knows from its start.
type Model struct {
	Name     string
	GGUF     gguf.Model
	Template string
	// Parameters of the Modelfile besides num_thread.
	Parameters map[string]any
}

// Texts that Models say.
const (
	ThinkText = "<think>The user wants a greeting. A short one will do.</think>Hello, and welcome to the harbour."
	ToolText  = `{"name": "get_weather", "arguments": {"city": "Springfield", "unit": "celsius"}}`
)

// Templates tell the server what a model can do: it looks for the names in them.
const (
	chat      = `{{- range .Messages }}<|{{ .Role }}|>{{ .Content }}{{ end }}<|assistant|>`
	thinking  = `{{- range .Messages }}<|{{ .Role }}|>{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}{{ end }}<|assistant|>`
	toolsChat = `{{- if .Tools }}{{ .Tools }}{{ end }}{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}{{ end }}<|assistant|>`
)

// Models are what every server knows. A server ends any answer after ten times
// its context length, so "forever" means 80,000 tokens at Small's rate: minutes.
var Models = []Model{
	{Name: "tiny", GGUF: gguf.Model{Name: "tiny"}, Template: chat},
	{Name: "stop", GGUF: gguf.Model{Name: "stop", Says: gguf.Speech{Count: 40}}, Template: chat},
	{Name: "think", GGUF: gguf.Model{Name: "think", Says: gguf.Speech{Text: ThinkText}}, Template: thinking},
	{Name: "tool", GGUF: gguf.Model{Name: "tool", Says: gguf.Speech{Text: ToolText}}, Template: toolsChat},
	{Name: "embed", GGUF: gguf.Model{Name: "embed", Embedding: true}, Template: chat},
	{Name: "slow", GGUF: gguf.Model{Name: "slow", Says: gguf.Speech{Count: 200}, Size: gguf.Small}, Template: chat},
	{Name: "forever", GGUF: gguf.Model{Name: "forever", Says: gguf.Speech{Split: true}, Size: gguf.Small}, Template: chat,
		Parameters: map[string]any{"num_ctx": 8192, "num_predict": -1}},
}

// Create makes a further model known to the server.
func (s *Server) Create(ctx context.Context, m Model) error {
	return s.create(ctx, m)
}

// create writes each model's file, hands it to the server as a blob and removes
// it. num_thread 1: with more, the threads of a runner wait for each other on
// shared cores, and a tiny model falls from 2800 to under 30 tokens/s.
func (s *Server) create(ctx context.Context, models ...Model) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	base, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	transport := &http.Transport{} // no proxy, whatever the environment says
	defer transport.CloseIdleConnections()
	client := api.NewClient(base, &http.Client{Transport: transport})
	for _, m := range models {
		if err := s.createOne(ctx, client, m); err != nil {
			return fmt.Errorf("creating model %s: %w", m.Name, err)
		}
	}
	return nil
}

func (s *Server) createOne(ctx context.Context, client *api.Client, m Model) error {
	path := filepath.Join(s.Dir, m.Name+".gguf")
	if err := gguf.WriteFile(path, m.GGUF); err != nil {
		return err
	}
	defer os.Remove(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	if err := client.CreateBlob(ctx, digest, file); err != nil {
		return err
	}
	parameters := map[string]any{"num_thread": 1}
	for name, value := range m.Parameters {
		parameters[name] = value
	}
	request := &api.CreateRequest{
		Model: m.Name, Files: map[string]string{"model.gguf": digest},
		Template: m.Template, Parameters: parameters,
	}
	last := ""
	err = client.Create(ctx, request, func(p api.ProgressResponse) error {
		last = p.Status
		return nil
	})
	if err == nil && last != "success" { // the client does not notice a stream that was cut
		err = fmt.Errorf("the server stopped at %q", last)
	}
	return err
}
