package gguf

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// tensor is one named array of F32 values.
type tensor struct {
	name  string
	shape []uint64 // innermost dimension first
	// row gives the values row by row, once, from the first on.
	row func(i int) []float32
}

func (t tensor) values() uint64 {
	n := uint64(1)
	for _, d := range t.shape {
		n *= d
	}
	return n
}

func (t tensor) rows() int { return int(t.values() / t.shape[0]) }

// weights are the tensors in the order of the file. Rows of the large ones are
// made while they are written.
func weights(m Model, v *vocabulary) []tensor {
	s := m.Size
	random := rand.New(rand.NewPCG(m.Seed, 7))
	embeddings, outputs := vocabularyRows(v, s.Width, random)
	kv := s.Width / s.Heads * s.KVHeads
	tensors := []tensor{
		{"token_embd.weight", shape(s.Width, len(v.tokens)), func(i int) []float32 { return embeddings[i] }},
		{"output_norm.weight", shape(s.Width), ones(s.Width)},
		{"output.weight", shape(s.Width, len(v.tokens)), func(i int) []float32 { return outputs[i] }},
	}
	for layer := range s.Layers {
		small := func(name string, in, out int) tensor {
			return tensor{fmt.Sprintf("blk.%d.%s.weight", layer, name), shape(in, out), noise(in, random)}
		}
		norm := func(name string) tensor {
			return tensor{fmt.Sprintf("blk.%d.%s.weight", layer, name), shape(s.Width), ones(s.Width)}
		}
		tensors = append(tensors,
			norm("attn_norm"),
			small("attn_q", s.Width, s.Width), small("attn_k", s.Width, kv), small("attn_v", s.Width, kv),
			small("attn_output", s.Width, s.Width),
			norm("ffn_norm"),
			small("ffn_gate", s.Width, s.Feed), small("ffn_up", s.Width, s.Feed), small("ffn_down", s.Feed, s.Width),
		)
	}
	return tensors
}

// vocabularyRows makes the two tables that decide what is said.
func vocabularyRows(v *vocabulary, width int, random *rand.Rand) (embeddings, outputs [][]float32) {
	vector := func(scale float64) []float32 {
		row := make([]float32, width)
		for i := range row {
			row[i] = float32(random.NormFloat64() * scale)
		}
		return row
	}
	prompt := vector(1) // where all tokens lie that are not of the chain
	embeddings = make([][]float32, len(v.tokens))
	outputs = make([][]float32, len(v.tokens))
	for token := range embeddings {
		if _, said := v.next[token]; said {
			embeddings[token] = vector(1)
		} else {
			embeddings[token] = vector(0.2)
			add(embeddings[token], prompt)
		}
	}
	for token := range outputs {
		outputs[token] = vector(0.05)
	}
	for token := range v.tokens { // not over the map: the sum of floats depends on the order
		if next, ok := v.next[token]; ok {
			add(outputs[next], embeddings[token])
		}
	}
	add(outputs[v.first], prompt)
	return embeddings, outputs
}

func add(to, values []float32) {
	for i := range to {
		to[i] += values[i]
	}
}

func shape(dimensions ...int) []uint64 {
	s := make([]uint64, len(dimensions))
	for i, d := range dimensions {
		s[i] = uint64(d)
	}
	return s
}

func ones(width int) func(int) []float32 {
	row := make([]float32, width)
	for i := range row {
		row[i] = 1
	}
	return func(int) []float32 { return row }
}

// noise makes rows of a matrix that hardly changes what passes through it.
func noise(width int, random *rand.Rand) func(int) []float32 {
	row := make([]float32, width)
	scale := 0.08 / math.Sqrt(float64(width))
	return func(int) []float32 {
		for i := range row {
			row[i] = float32((random.Float64()*2 - 1) * scale)
		}
		return row
	}
}
