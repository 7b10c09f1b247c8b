// Command ggufparser tells what github.com/gpustack/gguf-parser-go estimates for
// the caches of models: build/bench fit holds it beside the planner.
//
// It reads a list of questions as JSON and writes the list of answers.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	gguf "github.com/gpustack/gguf-parser-go"
)

// question is one GGUF file and how it is to be run.
type question struct {
	File    string `json:"file"`
	Context int32  `json:"context"`
	Cache   string `json:"cache"`
}

// answer is the cache in bytes, or why there is none.
type answer struct {
	Bytes *uint64 `json:"bytes,omitempty"`
	Error string  `json:"error,omitzero"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, "reading the questions:", err)
		os.Exit(1)
	}
	answers := make([]answer, len(questions))
	for i, q := range questions {
		answers[i] = q.ask()
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "writing the answers:", err)
		os.Exit(1)
	}
}

// types are the cache types by their names.
var types = map[string]gguf.GGMLType{"f16": gguf.GGMLTypeF16, "q8_0": gguf.GGMLTypeQ8_0, "q4_0": gguf.GGMLTypeQ4_0}

// ask estimates one cache. The library may panic over a header it did not expect.
func (q question) ask() (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{Error: fmt.Sprint(p)}
		}
	}()
	file, err := gguf.ParseGGUFFile(q.File)
	if err != nil {
		return answer{Error: err.Error()}
	}
	e := file.EstimateLLaMACppRun(
		gguf.WithLLaMACppContextSize(q.Context), gguf.WithLLaMACppLogicalBatchSize(512), gguf.WithLLaMACppPhysicalBatchSize(512),
		gguf.WithLLaMACppCacheKeyType(types[q.Cache]), gguf.WithLLaMACppCacheValueType(types[q.Cache]), gguf.WithFlashAttention(),
	)
	var sum uint64
	for _, d := range e.Devices {
		sum += uint64(d.KVCache.Sum())
	}
	return answer{Bytes: &sum}
}
