package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

// wireVersion is the version of Ollama whose replies these are.
const wireVersion = "0.17.4"

// details are those of a model in tags, ps and show.
type details struct {
	ParentModel   string   `json:"parent_model"`
	Format        string   `json:"format"`
	Family        string   `json:"family"`
	Families      []string `json:"families"`
	ParameterSize string   `json:"parameter_size"`
	Quantization  string   `json:"quantization_level"`
}

type tagsModel struct {
	Name        string    `json:"name"`
	Model       string    `json:"model"`
	RemoteModel string    `json:"remote_model,omitempty"`
	RemoteHost  string    `json:"remote_host,omitempty"`
	ModifiedAt  time.Time `json:"modified_at"`
	Size        int64     `json:"size"`
	Digest      string    `json:"digest"`
	Details     details   `json:"details"`
}

type psModel struct {
	Name      string    `json:"name"`
	Model     string    `json:"model"`
	Size      int64     `json:"size"`
	Digest    string    `json:"digest"`
	Details   details   `json:"details"`
	ExpiresAt time.Time `json:"expires_at"`
	SizeVRAM  int64     `json:"size_vram"`
	Context   int       `json:"context_length"`
}

type showReply struct {
	Modelfile    string         `json:"modelfile,omitempty"`
	Parameters   string         `json:"parameters,omitempty"`
	Template     string         `json:"template,omitempty"`
	Details      details        `json:"details"`
	RemoteModel  string         `json:"remote_model,omitempty"`
	RemoteHost   string         `json:"remote_host,omitempty"`
	Info         map[string]any `json:"model_info"`
	Tensors      []tensor       `json:"tensors,omitempty"`
	Capabilities []string       `json:"capabilities,omitempty"`
	ModifiedAt   time.Time      `json:"modified_at"`
}

// message is one turn of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// reply is a line of generate (Response) or chat (Message). Statistics are absent
// when they are zero.
type reply struct {
	Model      string    `json:"model"`
	CreatedAt  time.Time `json:"created_at"`
	Response   *string   `json:"response,omitempty"`
	Message    *message  `json:"message,omitempty"`
	Done       bool      `json:"done"`
	DoneReason string    `json:"done_reason,omitempty"`
	Context    []int     `json:"context,omitempty"`
	statistics
}

type statistics struct {
	Total           time.Duration `json:"total_duration,omitempty"`
	Load            time.Duration `json:"load_duration,omitempty"`
	PromptEvalCount int           `json:"prompt_eval_count,omitempty"`
	PromptEval      time.Duration `json:"prompt_eval_duration,omitempty"`
	EvalCount       int           `json:"eval_count,omitempty"`
	Eval            time.Duration `json:"eval_duration,omitempty"`
}

// query is the body of generate, chat and embed: each uses its own part.
type query struct {
	Model     string            `json:"model"`
	Prompt    string            `json:"prompt"`
	System    string            `json:"system"`
	Messages  []message         `json:"messages"`
	Input     any               `json:"input"`
	Tools     []json.RawMessage `json:"tools"`
	Think     any               `json:"think"`
	Stream    *bool             `json:"stream"`
	Truncate  *bool             `json:"truncate"`
	KeepAlive *keepAlive        `json:"keep_alive"`
	Options   map[string]any    `json:"options"`
}

// keepAlive is a number of seconds or a Go duration; below zero is for ever.
type keepAlive time.Duration

// UnmarshalJSON reads both forms, and refuses the rest in Ollama's words.
func (k *keepAlive) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case float64:
		*k = keepAlive(forever)
		if v >= 0 && v < math.MaxInt64/1e9 {
			*k = keepAlive(v * float64(time.Second))
		}
	case string:
		d, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		if *k = keepAlive(d); d < 0 {
			*k = keepAlive(forever)
		}
	default:
		//lint:ignore ST1005 the words are Ollama's
		return fmt.Errorf("Unsupported type: '%T'", v)
	}
	return nil
}

// read decodes a body. kind is the name of Ollama's type, which its errors show.
func read(q *http.Request, kind string, into any) *fault {
	body, err := io.ReadAll(http.MaxBytesReader(nil, q.Body, 64<<20))
	if err != nil {
		return &fault{http.StatusBadRequest, err.Error()}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return &fault{http.StatusBadRequest, "missing request body"}
	}
	err = json.NewDecoder(bytes.NewReader(body)).Decode(into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		wrong.Struct = kind
	}
	if err != nil {
		return &fault{http.StatusBadRequest, err.Error()}
	}
	return nil
}

// whole answers with one JSON body.
func whole(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"encoding the answer"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
}

func refuse(w http.ResponseWriter, f *fault) {
	whole(w, f.status, map[string]string{"error": f.text})
}

// count reads an integer option.
func (q *query) count(option string, otherwise int) (int, *fault) {
	v, ok := q.Options[option]
	if !ok {
		return otherwise, nil
	}
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) {
		return 0, &fault{http.StatusInternalServerError, fmt.Sprintf("option %q must be of type integer", option)}
	}
	return int(f), nil
}
