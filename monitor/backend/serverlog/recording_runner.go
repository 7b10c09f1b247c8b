package serverlog

import "strings"

// runnerLine reads a line of llama.cpp in a recording and reports whether it was
// of a kind that is known.
func (r *recording) runnerLine(text string) bool {
	for _, read := range []func(string) bool{r.metal, r.shape, r.server, r.progress} {
		if read(text) {
			return true
		}
	}
	return strings.Contains(text, " buffer size = ") || strings.HasPrefix(text, "slot ") || strings.HasPrefix(text, "llama_")
}

// metal reads what llama.cpp says of the GPU of a Mac.
func (r *recording) metal(text string) bool {
	if mb := decimal(strings.TrimSuffix(wordsAfter(text, "recommendedMaxWorkingSetSize  = "), " MB")); mb != nil {
		r.WorkingSet, r.WorkingMiB = rounded(mb, 2), rounded(new(*mb*1e6/(1<<20)), 4)
		return true
	}
	if s := decimal(wordAfter(text, "ggml_metal_library_init: loaded in ")); s != nil {
		r.LibraryTook = s
		return true
	}
	if strings.Contains(text, "using device ") && strings.HasSuffix(text, " MiB free") {
		_, free, _ := cutLast(strings.TrimSuffix(text, " MiB free"), " ")
		r.GPUFree = count(free)
		return true
	}
	return false
}

func wordsAfter(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return strings.TrimSpace(rest)
}

// shape reads a line of the model's description:
//
//	llama_model_loader: - kv   5:                        chatglm.block_count u32              = 40
func (r *recording) shape(text string) bool {
	rest, ok := strings.CutPrefix(text, "llama_model_loader: - kv ")
	_, rest, _ = strings.Cut(rest, ": ")
	key, value, assigned := strings.Cut(rest, " = ")
	key, _, _ = strings.Cut(strings.TrimSpace(key), " ")
	if !ok || !assigned {
		return false
	}
	if key == "general.architecture" {
		r.Architecture = said(strings.TrimSpace(value))
		return true
	}
	_, name, _ := strings.Cut(key, ".")
	to := map[string]**int{"block_count": &r.Blocks, "attention.head_count": &r.heads, "attention.head_count_kv": &r.KVHeads,
		"embedding_length": &r.width, "context_length": &r.Trained}[name]
	if to != nil {
		*to = count(value)
	}
	return true
}

// server reads what llama-server says of itself.
func (r *recording) server(text string) bool {
	if !strings.HasPrefix(text, "srv ") {
		return false
	}
	if _, address, ok := strings.Cut(text, "listening on http://"); ok {
		_, port, _ := cutLast(address, ":")
		r.Port = count(port)
	}
	if n := count(wordAfter(text, "context checkpoints enabled, max = ")); n != nil {
		r.Checkpoints = n
	}
	switch {
	case strings.Contains(text, "prompt cache is disabled"):
		r.PromptCache = new(false)
	case strings.Contains(text, "prompt cache is enabled"):
		r.PromptCache = new(true)
	}
	return true
}

// progress counts llama-server's lines on one request, and keeps what they print.
func (r *recording) progress(text string) bool {
	if !strings.HasPrefix(text, "slot print_timing: ") {
		return false
	}
	rate := decimal(wordAfter(text, " s / "))
	switch {
	case strings.Contains(text, "prompt processing, n_tokens = "):
		read := &RecordedRead{numberAfter(text, "n_tokens = "), decimal(wordAfter(text, "progress = ")), decimal(wordAfter(text, " t = ")), rate}
		if r.ProgressLast = read; r.ProgressFirst == nil {
			r.ProgressFirst = read
		}
		r.ProgressLines = new(1 + value(r.ProgressLines))
	case strings.Contains(text, "n_decoded = "):
		r.DecodeLines = append(r.DecodeLines, RecordedDecode{numberAfter(text, "n_decoded = "), decimal(wordAfter(text, " tg = ")), decimal(wordAfter(text, "tg_3s = "))})
	case strings.Contains(text, "prompt eval time"):
		r.PrefillReported = reported(text)
	case strings.Contains(text, "eval time"):
		r.DecodeReported = reported(text)
	case strings.Contains(text, "total time"):
		r.TotalTokens = count(firstWord(wordsAfter(text, " ms / ")))
	}
	return true
}

// reported is the rate that a line ends with: "…,     3.35 tokens per second)".
func reported(text string) *float64 {
	_, rate, _ := cutLast(strings.TrimSuffix(text, " tokens per second)"), ",")
	return decimal(rate)
}
