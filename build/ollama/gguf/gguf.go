// Package gguf writes small language models that say what a test wants to hear.
//
// A model is of the llama architecture with made-up weights. Its words are not
// random: the output row of each token points along the embedding of the token
// before it, and what attention and feed-forward add is too small to turn that,
// so the model says one fixed chain of tokens at any temperature. Tokens of a
// prompt lie close together and all lead to the chain's first. How fast it says
// them follows from its size.
package gguf

import (
	"fmt"
	"io"
	"os"
)

// Model is what a file is to hold. The zero value is a tiny endless talker.
type Model struct {
	Name string // general.name, "tiny" when empty
	Says Speech
	// Embedding makes it an embedding model: it pools, and completes nothing.
	Embedding bool
	// Trained is the context length that it claims to be made for, in tokens;
	// 8192 when 0.
	Trained int
	Size    Size
	Seed    uint64
}

// Size is how much there is to compute for a token. A zero field means Tiny's.
type Size struct {
	Layers, Width, Feed, Heads, KVHeads int
}

// Sizes with the decode rates that a v0.17.4 server reached with num_thread 1 on
// one core of a Xeon with AVX-512 (the program is built without AVX).
var (
	Tiny  = Size{Layers: 2, Width: 64, Feed: 128, Heads: 4, KVHeads: 2}      // 0.45 MB, 2400 to 3100 tokens/s
	Small = Size{Layers: 4, Width: 256, Feed: 1024, Heads: 4, KVHeads: 2}    // 16 MB, 135 to 225 tokens/s
	Large = Size{Layers: 8, Width: 512, Feed: 2048, Heads: 8, KVHeads: 4}    // 127 MB, 22 tokens/s
	Huge  = Size{Layers: 12, Width: 1024, Feed: 4096, Heads: 16, KVHeads: 4} // 732 MB, 4 tokens/s; loads in a second
)

// Speech is what a model says: Text, else Count words, else a chain of words
// without an end.
type Speech struct {
	// Text is said exactly, then the model ends: think blocks, tool calls, any
	// characters. At least two bytes.
	Text string
	// Count makes it say that many numbered words (" w0000 w0001…"), then end.
	Count int
	// Split puts a character into the endless chain whose four bytes are a token
	// each, so that the server has to wait for the last to send any.
	Split bool
}

// Write writes the file. The same model gives the same bytes.
func Write(w io.Writer, m Model) error {
	m = m.withDefaults()
	if err := m.Size.check(); err != nil {
		return fmt.Errorf("writing model %s: %w", m.Name, err)
	}
	v, err := newVocabulary(m.Says)
	if err != nil {
		return fmt.Errorf("writing model %s: %w", m.Name, err)
	}
	tensors := weights(m, v)
	e := newEncoder(w)
	e.header(len(tensors), metadata(m, v, tensors))
	e.tensors(tensors)
	if err := e.flush(); err != nil {
		return fmt.Errorf("writing model %s: %w", m.Name, err)
	}
	return nil
}

// WriteFile writes the model to a file.
func WriteFile(path string, m Model) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing model: %w", err)
	}
	if err := Write(f, m); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (m Model) withDefaults() Model {
	m.Name = or(m.Name, "tiny")
	m.Trained = or(m.Trained, 8192)
	m.Size.Layers = or(m.Size.Layers, Tiny.Layers)
	m.Size.Width = or(m.Size.Width, Tiny.Width)
	m.Size.Feed = or(m.Size.Feed, Tiny.Feed)
	m.Size.Heads = or(m.Size.Heads, Tiny.Heads)
	m.Size.KVHeads = or(m.Size.KVHeads, Tiny.KVHeads)
	return m
}

// or is a value, or another in place of a zero one.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (s Size) check() error {
	if s.Width%s.Heads != 0 || s.Heads%s.KVHeads != 0 || s.Width/s.Heads%2 != 0 {
		return fmt.Errorf("a width of %d does not divide over %d heads and %d KV heads", s.Width, s.Heads, s.KVHeads)
	}
	return nil
}

// metadata are the keys that the server reads, in the order of the file.
func metadata(m Model, v *vocabulary, tensors []tensor) []pair {
	var parameters uint64
	for _, t := range tensors {
		parameters += t.values()
	}
	keys := []pair{
		{"general.architecture", "llama"},
		{"general.name", m.Name},
		{"general.file_type", uint32(0)}, // all F32
		{"general.parameter_count", parameters},
		{"llama.context_length", uint32(m.Trained)},
		{"llama.embedding_length", uint32(m.Size.Width)},
		{"llama.block_count", uint32(m.Size.Layers)},
		{"llama.feed_forward_length", uint32(m.Size.Feed)},
		{"llama.attention.head_count", uint32(m.Size.Heads)},
		{"llama.attention.head_count_kv", uint32(m.Size.KVHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(m.Size.Width / m.Size.Heads)},
		{"llama.rope.freq_base", float32(10000)},
		{"llama.vocab_size", uint32(len(v.tokens))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "gpt-2"},
		{"tokenizer.ggml.tokens", v.tokens},
		{"tokenizer.ggml.token_type", v.kinds},
		{"tokenizer.ggml.merges", v.merges},
		{"tokenizer.ggml.bos_token_id", uint32(v.begin)},
		{"tokenizer.ggml.eos_token_id", uint32(v.end)},
		{"tokenizer.ggml.add_bos_token", true},
	}
	if m.Embedding {
		keys = append(keys, pair{"llama.pooling_type", uint32(1)}) // mean
	}
	return keys
}
