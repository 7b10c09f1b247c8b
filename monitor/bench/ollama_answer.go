package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// chunk is one line of an answer.
type chunk struct {
	Response   string        `json:"response"`
	Thinking   string        `json:"thinking"`
	CreatedAt  time.Time     `json:"created_at"`
	Done       bool          `json:"done"`
	Reason     string        `json:"done_reason"`
	Error      string        `json:"error"`
	Total      time.Duration `json:"total_duration"`
	Load       time.Duration `json:"load_duration"`
	PromptEval time.Duration `json:"prompt_eval_duration"`
	Eval       time.Duration `json:"eval_duration"`
	// Each is absent when it is zero.
	PromptCount *int `json:"prompt_eval_count"`
	EvalCount   *int `json:"eval_count"`
}

func (o *ollama) Ask(ctx context.Context, p Prompt, each func(time.Time)) (Answer, error) {
	options := map[string]any{"seed": p.Seed, "temperature": p.Temperature}
	if p.Output > 0 {
		options["num_predict"] = p.Output
	}
	if p.Context > 0 {
		options["num_ctx"] = p.Context
	}
	body := map[string]any{"model": p.Model, "options": options, "stream": true}
	if p.Keep != 0 {
		body["keep_alive"] = keepAlive(p.Keep)
	}
	if p.Output > 0 {
		body["prompt"], body["system"] = p.Text, p.System
	}
	began := o.clock.Awake()
	resp, err := o.send(ctx, "/api/generate", body)
	if err != nil {
		return Answer{}, broken(ctx, err, p.Model, CodeServer)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, replyLimit))
		return Answer{}, refusal(resp.StatusCode, text, p.Model)
	}
	return o.follow(ctx, resp.Body, p.Model, began, each)
}

// follow reads an answer line by line to its end.
func (o *ollama) follow(ctx context.Context, body io.Reader, model string, began time.Duration, each func(time.Time)) (Answer, error) {
	var a Answer
	var first time.Time // by the server's clock
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), replyLimit)
	for lines.Scan() {
		var c chunk
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return a, &Error{Kind: CodeServer, Model: model, cause: err}
		}
		switch {
		case c.Error != "":
			return a, &Error{Kind: CodeRefused, Model: model, cause: errors.New(firstRunes(c.Error, 300))}
		case c.Done:
			o.conclude(&a, c, began, first)
			return a, nil
		case c.Response == "" && c.Thinking == "":
			continue
		}
		if a.First == 0 {
			a.First, first = o.clock.Awake()-began, c.CreatedAt
		}
		if each != nil {
			at := o.clock.Now()
			if o.simulated {
				at = c.CreatedAt
			}
			each(at)
		}
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return a, broken(ctx, err, model, CodeCut)
}

func (o *ollama) conclude(a *Answer, c chunk, began time.Duration, first time.Time) {
	a.PromptTokens, a.OutputTokens = c.PromptCount, c.EvalCount
	a.Total, a.Load, a.Prompt, a.Decode = c.Total, c.Load, c.PromptEval, c.Eval
	a.Wall, a.Ended, a.Reason = o.clock.Awake()-began, c.CreatedAt, c.Reason
	if o.simulated {
		a.Wall = c.Total
		if a.First = 0; !first.IsZero() && c.Total > 0 {
			a.First = c.Total - c.CreatedAt.Sub(first)
		}
	}
}

// broken is the error of a connection that failed, or of a person who left.
func broken(ctx context.Context, err error, model, kind string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &Error{Kind: kind, Model: model, cause: err}
}
