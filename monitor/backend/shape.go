package backend

import (
	"encoding/json"
	"fmt"
)

// Shape is what /api/show tells of a model's build, for working out what its
// cache takes. Fields that the reply does not have are absent.
type Shape struct {
	Architecture string   `json:"architecture"`
	Layers       *int     `json:"block_count,omitempty"`
	Heads        *int     `json:"head_count,omitempty"`
	KVHeads      *int     `json:"head_count_kv,omitempty"` // absent when it differs by layer
	Width        *int     `json:"embedding_length,omitempty"`
	Context      *int     `json:"context_length,omitempty"` // trained, in tokens
	KeyLength    *int     `json:"key_length,omitempty"`     // values a head; Width ÷ Heads when not given
	ValueLength  *int     `json:"value_length,omitempty"`
	Parameters   *uint64  `json:"parameter_count,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// KVBytes is what a token takes in an f16 cache: layers × KV heads × (key +
	// value length) × 2 bytes. Absent for layers with a sliding window, where that
	// product is many times too much.
	KVBytes *uint64 `json:"kv_bytes_per_token_f16,omitempty"`
}

// DecodeShape reads a reply of /api/show.
func DecodeShape(reply []byte) (Shape, error) {
	var r struct {
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return Shape{}, fmt.Errorf("reading a model's details: %w", err)
	}
	s := Shape{Capabilities: r.Capabilities}
	if json.Unmarshal(r.Info["general.architecture"], &s.Architecture) != nil {
		return Shape{}, fmt.Errorf("reading a model's details: no architecture")
	}
	key := func(name string) json.RawMessage { return r.Info[s.Architecture+"."+name] }
	s.Layers, s.Heads = read[int](key("block_count")), read[int](key("attention.head_count"))
	s.KVHeads = read[int](key("attention.head_count_kv"))
	s.Width, s.Context = read[int](key("embedding_length")), read[int](key("context_length"))
	s.KeyLength, s.ValueLength = read[int](key("attention.key_length")), read[int](key("attention.value_length"))
	s.Parameters = read[uint64](r.Info["general.parameter_count"])
	if s.Width != nil && s.Heads != nil && *s.Heads > 0 {
		for _, length := range []**int{&s.KeyLength, &s.ValueLength} {
			if *length == nil {
				*length = new(*s.Width / *s.Heads)
			}
		}
	}
	heads := s.kvHeads(read[[]int](key("attention.head_count_kv")))
	window := read[int](key("attention.sliding_window"))
	if heads != nil && s.KeyLength != nil && s.ValueLength != nil && (window == nil || *window == 0) {
		s.KVBytes = new(uint64(*heads) * uint64(*s.KeyLength+*s.ValueLength) * 2)
	}
	return s, nil
}

// read is a value of the reply, nil when it is not there or of another type.
func read[T any](raw json.RawMessage) *T {
	var v T
	if raw == nil || string(raw) == "null" || json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return &v
}

// kvHeads is the sum of KV heads over all layers. The reply holds one number, or
// one for each layer, where 0 is a layer without a cache; a list that the server
// left out as too long is empty.
func (s *Shape) kvHeads(perLayer *[]int) *int {
	switch {
	case perLayer != nil && len(*perLayer) > 0:
		sum := 0
		for _, n := range *perLayer {
			sum += n
		}
		return &sum
	case s.KVHeads == nil || s.Layers == nil:
		return nil
	}
	return new(*s.KVHeads * *s.Layers)
}
