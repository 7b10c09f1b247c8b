package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// RecordedError says why a recording of a server's words cannot be read.
type RecordedError struct {
	// Kind is "truncated", "not_json" or "labels_not_recognised".
	Kind  string
	cause error
}

func (e *RecordedError) Error() string {
	return "reading what a server said: " + strings.ReplaceAll(e.Kind, "_", " ") + ": " + e.cause.Error()
}
func (e *RecordedError) Unwrap() error { return e.cause }

// ErrorKind is Kind, for those who do not know the type.
func (e *RecordedError) ErrorKind() string { return e.Kind }

// RecordedResident is an entry of a recorded /api/ps. What the server left out is
// nil.
type RecordedResident struct {
	Model   string   `json:"name"`
	Size    *uint64  `json:"size_bytes"`
	VRAM    *uint64  `json:"size_vram_bytes"`
	GPU     *float64 `json:"gpu_percent"`
	Context *int     `json:"context_length"`
	// Expires is as the server wrote it, also where that means for ever.
	Expires      *time.Time `json:"expires_at"`
	Pinned       bool       `json:"keep_forever"`
	Format       *string    `json:"format"`
	Quantization *string    `json:"quantization"`
	Parameters   *string    `json:"parameter_size"`
}

// RecordedModel is an entry of a recorded /api/tags.
type RecordedModel struct {
	Model        string  `json:"name"`
	Cloud        bool    `json:"cloud"`
	Size         *uint64 `json:"size_bytes"` // nil for a cloud model
	Format       *string `json:"format"`
	Family       *string `json:"family"`
	Quantization *string `json:"quantization"`
	Parameters   *string `json:"parameter_size"`
}

// DecodeRecorded reads one recording of what Ollama said, whichever it is: a reply
// of /api/ps, /api/tags or /api/show (as JSON, or as the JSON5 of documentation),
// the records of /api/generate and /api/chat, what "ollama ps" prints and what
// "ollama run --verbose" does. Its errors are *RecordedError; its value is never
// nil.
func DecodeRecorded(data []byte) (any, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var value any
	var err error
	switch {
	case len(data) == 0:
		return struct{}{}, &RecordedError{"truncated", errors.New("nothing in it")}
	case data[0] == '{' || data[0] == '[':
		return decodeRecordedJSON(data)
	case bytes.Contains(data, []byte("eval duration:")) || bytes.Contains(data, []byte("total duration:")):
		var final Final
		final, err = DecodeVerbose(string(data))
		value = withNulls(final)
	default:
		var rows []Row
		rows, err = DecodeTable(string(data))
		models := []any{}
		for _, r := range rows {
			models = append(models, withNulls(r))
		}
		value = map[string]any{"models": models}
	}
	if err != nil {
		return struct{}{}, &RecordedError{"labels_not_recognised", err}
	}
	return value, nil
}

func decodeRecordedJSON(data []byte) (any, error) {
	record, err := lastRecord(data)
	if err != nil {
		if plain, ok := fromJSON5(string(data)); ok {
			record, err = lastRecord([]byte(plain))
		}
	}
	if err != nil {
		return struct{}{}, &RecordedError{notJSON(err), err}
	}
	var fields map[string]json.RawMessage
	value, err := any(nil), json.Unmarshal(record, &fields)
	switch {
	case err != nil:
	case fields["models"] != nil:
		value, err = recordedModels(record, fields["models"])
	case fields["model_info"] != nil:
		var shape Shape
		shape, err = DecodeShape(record)
		value = withNulls(shape)
	case fields["done"] != nil:
		var final Final
		final, err = DecodeFinal(record)
		value = withNulls(final)
	default:
		err = errors.New("no field that is known")
	}
	if err != nil {
		return struct{}{}, &RecordedError{"labels_not_recognised", err}
	}
	return value, nil
}

// notJSON tells what ends early from what is no JSON at all.
func notJSON(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "truncated"
	}
	return "not_json"
}

// lastRecord is the last of the JSON values in data: a stream has one a line, and
// its statistics in the last.
func lastRecord(data []byte) (last json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var next json.RawMessage
		switch err := d.Decode(&next); {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil:
			return nil, err
		}
		last = next
	}
}

// recordedModels tells a list of models in memory from one of models on disk.
func recordedModels(record []byte, models json.RawMessage) (any, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(models, &entries); err != nil {
		return nil, fmt.Errorf("reading the models: %w", err)
	}
	for _, e := range entries {
		if e["expires_at"] != nil || e["size_vram"] != nil {
			return recordedResidents(record)
		}
	}
	var list api.ListResponse
	if err := json.Unmarshal(record, &list); err != nil {
		return nil, fmt.Errorf("reading the models: %w", err)
	}
	found := []RecordedModel{}
	for _, m := range list.Models {
		l := (&ollama{}).list(&api.ListResponse{Models: []api.ListModelResponse{m}})[0]
		found = append(found, RecordedModel{
			Model: l.Model.Model, Cloud: l.Cloud, Size: l.Size, Format: said(m.Details.Format), Family: said(l.Family),
			Quantization: said(l.Quantization), Parameters: said(l.Parameters),
		})
	}
	return map[string]any{"models": found}, nil
}

func recordedResidents(record []byte) (any, error) {
	entries, err := decodeRunning(&exchange{body: record})
	if err != nil {
		return nil, err
	}
	found := []RecordedResident{}
	for _, e := range entries {
		_, pinned := expiry(e.ExpiresAt, time.Now())
		r := RecordedResident{
			Model: e.name(), Size: bytes64(e.Size), VRAM: bytes64(e.SizeVRAM), Expires: e.ExpiresAt, Pinned: pinned,
			Format: said(e.Details.Format), Quantization: said(known(e.Details.QuantizationLevel)), Parameters: said(e.Details.ParameterSize),
		}
		if e.ContextLength != nil && *e.ContextLength > 0 {
			r.Context = e.ContextLength
		}
		if r.Size != nil && r.VRAM != nil && *r.Size > 0 {
			r.GPU = new(100 * float64(*r.VRAM) / float64(*r.Size))
		}
		if r.Expires != nil && date(*r.Expires) == nil {
			r.Expires = nil
		}
		found = append(found, r)
	}
	return map[string]any{"models": found}, nil
}

// withNulls are the fields of a struct by their JSON names, absent ones as null.
func withNulls(v any) map[string]any {
	fields := map[string]any{}
	for field, value := range reflect.ValueOf(v).Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options != "" && value.IsZero() {
			fields[name] = nil
		} else {
			fields[name] = value.Interface()
		}
	}
	return fields
}

func said(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
