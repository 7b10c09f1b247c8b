package serverlog

import "strings"

// cacheNeedsFlash is what llama.cpp says before it gives up.
const cacheNeedsFlash = "V cache quantization requires flash_attn"

// runnerLine reads a line of llama.cpp: its buffers, its cache, its failures.
//
//	load_tensors:        MTL0 model buffer size = 17965.92 MiB
//	llama_kv_cache:      MTL0 KV buffer size =   512.00 MiB
//	llama_context: flash_attn            = enabled
//	error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)
func (p *Parser) runnerLine(l *line) {
	place, rest, ok := strings.Cut(l.text, ": ")
	if !ok || strings.ContainsAny(place, " \"") && place != "srv  llama_server" && !strings.HasPrefix(place, "srv ") {
		return
	}
	switch {
	case strings.Contains(rest, " buffer size = "):
		p.buffer(place, rest)
	case strings.Contains(place, "load_tensors"):
		p.offloaded(rest)
	case strings.HasPrefix(place, "llama_kv_cache"):
		p.cacheType(rest)
	case strings.HasPrefix(place, "llama_context"), strings.HasPrefix(place, "llama_new_context"), strings.HasPrefix(place, "llama_init_from_model"):
		p.context(rest, l)
	default:
		p.runnerFailed(place, rest, l)
	}
}

// buffer adds one buffer. "output" is where logits are put, part of what is
// needed to compute.
func (p *Parser) buffer(place, text string) {
	what, value, _ := strings.Cut(text, " buffer size = ")
	bytes := size(value)
	if bytes == nil {
		return
	}
	load := p.current()
	if load.Estimated { // what the server worked out before
		load.forget()
	}
	switch {
	case strings.HasSuffix(what, " KV"), strings.HasSuffix(what, " RS"):
		add(&load.CacheBytes, *bytes)
	case strings.HasSuffix(what, " compute"), strings.HasSuffix(what, " output"):
		p.compute(what, *bytes)
	case strings.Contains(place, "load_tensors"):
		add(&load.WeightsBytes, *bytes)
	}
}

// compute adds a buffer for computing. Such a one is told again when it was made
// anew: of each device and kind the largest counts.
func (p *Parser) compute(what string, bytes uint64) {
	what = strings.TrimSpace(what)
	if p.computing == nil {
		p.computing = map[string]uint64{}
	}
	if had := p.computing[what]; bytes > had && (had > 0 || len(p.computing) < mostWorks) {
		p.computing[what] = bytes
		add(&p.current().ComputeBytes, bytes-had)
	}
}

// cacheType reads the type of the keys: "size = 1280.00 MiB (…), K (f16):  640.00
// MiB, V (f16):  640.00 MiB". A cache that exists has the type it says.
func (p *Parser) cacheType(text string) {
	if kind, ok := between(text, "K (", ")"); ok && len(kind) < 16 {
		p.current().CacheType = kind
	}
}

// context reads what a context was made with: "n_ctx = 8192", "flash_attn = 0".
func (p *Parser) context(text string, l *line) {
	if strings.Contains(text, cacheNeedsFlash) {
		p.emit(Event{Kind: CacheRefused}, l)
		return
	}
	if decided, ok := strings.CutPrefix(text, "Flash Attention was auto, set to "); ok {
		p.current().FlashAttention = new(decided == "enabled")
		return
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return
	}
	load, value := p.current(), strings.TrimSpace(value)
	switch strings.TrimSpace(name) {
	case "n_ctx": // rounded up; what was asked for is told before
		if load.Cells == nil || *load.Cells == 0 {
			load.Cells = positive(value)
		}
	case "n_seq_max":
		if load.Slots == nil {
			load.Slots = positive(value)
		}
	case "flash_attn":
		switch value {
		case "1", "enabled":
			load.FlashAttention = new(true)
		case "0", "disabled":
			load.FlashAttention = new(false)
		}
	}
}

// runnerFailed tells memory that the GPU did not give.
func (p *Parser) runnerFailed(place, text string, l *line) {
	switch {
	case strings.Contains(text, "kIOGPUCommandBufferCallbackErrorOutOfMemory"):
		p.scarceMemory(CauseCommandBuffer, l)
	case strings.HasPrefix(place, "ggml_") && strings.Contains(text, "failed to allocate"),
		strings.HasPrefix(place, "alloc_tensor_range") && strings.Contains(text, "failed to allocate"),
		strings.HasPrefix(place, "ggml_") && strings.Contains(text, "cudaMalloc failed: out of memory"):
		p.scarceMemory(CauseAllocation, l)
	}
}
