package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"plimsoll/build/ollama/gguf"
	"plimsoll/monitor/fit"
)

const (
	// mostOff is how far the planner may be from what was logged or published.
	mostOff = 2 // %
	// leastModels is how many real models the table must have.
	leastModels = 25
	// flat is a rule of thumb to hold the table against: 256 MiB per 1024 tokens.
	flat = 256 * mib / 1024
	// parser is the module of the other library's answers.
	parser = "build/ggufparser"
)

// fitted is one row with its answers.
type fitted struct {
	fitRow
	ours  float64
	other *float64 // gguf-parser-go's; nil when it has none
	why   string   // why not
}

// off is how far a number is from the truth, in percent.
func (r fitRow) off(n float64) float64 {
	if r.truth == 0 {
		if n == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return 100 * math.Abs(n-r.truth) / r.truth
}

// measureFit holds what the planner makes of real models against what an engine
// logged, was published, or follows from their configurations by hand.
func measureFit(ctx context.Context) (report, error) {
	folder, err := os.MkdirTemp("", "plimsoll-fit-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	rows := make([]fitted, len(fitRows))
	for at, row := range fitRows {
		rows[at] = fitted{fitRow: row}
		file := filepath.Join(folder, fmt.Sprintf("%d.gguf", at))
		if err := row.write(file); err != nil {
			return nil, err
		}
		if rows[at].ours, err = row.plan(file); err != nil {
			return nil, fmt.Errorf("%s: %w", row.model, err)
		}
	}
	if err := ask(ctx, folder, rows); err != nil {
		fmt.Fprintf(os.Stderr, "gguf-parser-go is not held beside it: %v\n", err)
	}
	for _, r := range rows {
		if r.why != "" {
			fmt.Fprintf(os.Stderr, "gguf-parser-go on %s: %s\n", r.model, r.why)
		}
	}
	printFit(os.Stdout, rows)
	return judgeFit(rows), nil
}

// write writes the header of a GGUF file as the model's would be.
func (r fitRow) write(path string) error {
	all := map[string]any{"general.architecture": r.build.architecture, "general.type": "model", "tokenizer.ggml.model": "gpt2",
		"tokenizer.ggml.tokens": []string{"a", "b"}}
	for name, value := range r.build.keys {
		all[r.build.architecture+"."+name] = value
	}
	width := uint64(r.build.keys["embedding_length"].(int))
	tensors := map[string][]uint64{"token_embd.weight": {width, 2}, "output.weight": {width, 2}, "output_norm.weight": {width}}
	for at := range r.build.keys["block_count"].(int) {
		for _, name := range []string{"attn_norm", "ffn_norm"} {
			tensors[fmt.Sprintf("blk.%d.%s.weight", at, name)] = []uint64{width}
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	length, err := gguf.WriteHeader(file, all, tensors)
	if err == nil {
		err = file.Truncate(length)
	}
	return errors.Join(err, file.Close())
}

// plan is what the planner makes of the row's file, in bytes.
func (r fitRow) plan(path string) (float64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	m, err := fit.ReadGGUF(file)
	if err != nil {
		return 0, err
	}
	kinds := map[string]fit.Kind{partFull: fit.Full, partWindow: fit.Window}
	if kind, only := kinds[r.part]; only {
		m.Layers = layersOf(m.Layers, kind)
	}
	n := m.Need(fit.Options{Context: r.tokens, Cache: r.cache, Flash: fit.FlashOn, Engine: r.engine, Expanded: r.part == partExpanded})
	bytes := n.KV
	if r.part == partState {
		bytes = n.State
	}
	if bytes == nil {
		return 0, fmt.Errorf("not planned: %s", n.Unknown)
	}
	return float64(*bytes), nil
}

// layersOf are those of one kind.
func layersOf(all []fit.Layers, kind fit.Kind) []fit.Layers {
	var some []fit.Layers
	for _, l := range all {
		if l.Kind == kind {
			some = append(some, l)
		}
	}
	return some
}

// ask puts the same files to gguf-parser-go. It estimates whole caches, recurrent
// states among them, so that rows on a part of one are not put, and the planner's
// state is taken off where there is one.
func ask(ctx context.Context, folder string, rows []fitted) error {
	type question struct {
		File    string `json:"file"`
		Context int    `json:"context"`
		Cache   string `json:"cache"`
	}
	questions := make([]question, len(rows))
	for at, r := range rows {
		questions[at] = question{filepath.Join(folder, fmt.Sprintf("%d.gguf", at)), r.tokens, string(r.cache)}
	}
	text, err := json.Marshal(questions)
	if err != nil {
		return err
	}
	var out, log bytes.Buffer
	command := exec.CommandContext(ctx, "go", "run", "-C", parser, ".")
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), &out, &log
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, log.Bytes())
	}
	var answers []struct {
		Bytes *float64
		Error string
	}
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != len(rows) {
		return fmt.Errorf("reading its answers: %w in %.300s", err, out.String())
	}
	for at, a := range answers {
		r := &rows[at]
		if r.part != partKV {
			continue
		}
		if r.why = a.Error; a.Bytes != nil {
			state, err := recurrent(questions[at].File)
			if err != nil {
				return err
			}
			r.other = new(max(0, *a.Bytes-state))
		}
	}
	return nil
}

// recurrent is the recurrent state of a file's model, 0 when it has none.
func recurrent(path string) (float64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	m, err := fit.ReadGGUF(file)
	if err != nil {
		return 0, err
	}
	if n := m.Need(fit.Options{}); n.State != nil {
		return float64(*n.State), nil
	}
	return 0, nil
}

// printFit writes the table.
func printFit(w io.Writer, rows []fitted) {
	fmt.Fprintf(w, "%-26s %7s %-5s %-9s %12s %-10s %8s %12s %12s  %s\n", "model", "tokens", "type", "of it", "truth MiB", "known by", "ours", "gguf-parser", "256 MiB/1K", "source")
	for _, r := range rows {
		other := "-"
		if r.other != nil {
			other = percentOff(r.off(*r.other))
		}
		rule := "-"
		if r.part == partKV {
			rule = percentOff(r.off(float64(r.tokens) * flat))
		}
		fmt.Fprintf(w, "%-26s %7d %-5s %-9s %12.2f %-10s %8s %12s %12s  %s\n", r.model, r.tokens, r.cache, r.part, r.truth/mib, r.kind, percentOff(r.off(r.ours)), other, rule, r.source)
	}
}

// percentOff is a deviation in words.
func percentOff(p float64) string {
	switch {
	case math.IsInf(p, 1):
		return "not none"
	case p >= 1000:
		return fmt.Sprintf("×%.0f", p/100+1)
	case p >= 10:
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.2f %%", p)
}

// judgeFit counts.
func judgeFit(rows []fitted) report {
	counts, models := map[string]int{}, map[string]bool{}
	var worst, off float64
	within := map[string]int{}
	compared := 0
	for _, r := range rows {
		counts[r.kind]++
		models[r.model] = true
		off = max(off, r.off(r.ours))
		if r.kind != derived {
			worst = max(worst, r.off(r.ours))
		}
		if r.part != partKV {
			continue
		}
		if r.off(r.ours) <= mostOff {
			within["ours"]++
		}
		if r.off(float64(r.tokens)*flat) <= mostOff {
			within["flat"]++
		}
		compared++
		if r.other != nil && r.off(*r.other) <= mostOff {
			within["other"]++
		}
	}
	fmt.Printf("\n%d rows of %d models: %d logged, %d published, %d derived\n", len(rows), len(models), counts[logged], counts[published], counts[derived])
	fmt.Printf("within %d %% of %d whole caches: the planner %d, gguf-parser-go %d, 256 MiB per 1024 tokens %d\n\n", mostOff, compared, within["ours"], within["other"], within["flat"])
	return report{
		{"off what was logged or published", worst, mostOff, "%"},
		{"off any row", off, mostOff, "%"},
		{"models short of 25", float64(max(0, leastModels-len(models))), 0, "models"},
	}
}
