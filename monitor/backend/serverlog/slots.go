package serverlog

import (
	"slices"
	"strings"
)

// slotLine reads a line of llama-server on the request in one of its slots, and
// reports whether it was one:
//
//	slot   operator(): id  0 | task 49 | new prompt, n_ctx_slot = 131072, n_keep = 4, task.n_tokens = 14518
//	slot print_timing: id  0 | task 49 | prompt processing, n_tokens =    512, progress = 0.04, t =   4.43 s / 115.66 tokens per second
//	slot print_timing: id  0 | task 49 | n_decoded =    104, tg =   7.39 t/s, tg_3s =   7.39 t/s
//	slot print_timing: id  0 | task 49 |        eval time =   18764.56 ms /   140 tokens (…)
//
// Until 2025 the three final lines had no such beginning.
func (p *Parser) slotLine(text string) bool {
	rest, ok := strings.CutPrefix(text, "slot ")
	if !ok {
		return p.finalLine(p.timed, strings.TrimSpace(text))
	}
	place, rest, _ := strings.Cut(rest, ": id ")
	id, rest, _ := strings.Cut(rest, " | task ")
	number, said, ok := strings.Cut(rest, " | ")
	slot, task := count(id), count(number)
	if !ok || slot == nil || task == nil {
		return true
	}
	said = strings.TrimSpace(said)
	if strings.Contains(place, "launch_slot_") && strings.HasPrefix(said, "processing task") {
		p.launch(*slot, *task)
		return true
	}
	if strings.Contains(place, "release") {
		p.conclude(p.known(*slot, *task), nil)
		return true
	}
	if !tells(place, said) {
		return true
	}
	w := p.work(*slot, *task)
	switch {
	case strings.HasPrefix(said, "new prompt,"):
		w.Context, w.Prompt = numberAfter(said, "n_ctx_slot = "), numberAfter(said, "task.n_tokens = ")
		if w.Prompt == nil { // until 2025
			w.Prompt = numberAfter(said, "n_prompt_tokens = ")
		}
	case strings.HasPrefix(said, "forcing full prompt re-processing"):
		w.Reread = true
		p.emit(Event{Kind: Worked, Cause: causeReread, Work: new(*w)}, nil)
		return true
	case strings.HasPrefix(said, "cached n_tokens = "):
		if w.Cached != nil {
			return true // what was read so far is in the cache as well
		}
		w.Cached = numberAfter(said, "cached n_tokens = ")
	case strings.HasPrefix(said, "prompt processing, n_tokens = "):
		w.Read = numberAfter(said, "n_tokens = ")
		w.ReadSeconds = decimal(wordAfter(said, " t = "))
	case strings.HasPrefix(said, "n_decoded = "):
		w.Output, w.Recent = numberAfter(said, "n_decoded = "), decimal(wordAfter(said, "tg_3s = "))
		if rate := decimal(wordAfter(said, " tg = ")); rate != nil && *rate > 0 && w.Output != nil {
			w.OutputSeconds = new(float64(*w.Output) / *rate)
		}
	default: // of print_timing
		if p.timed = w; said != "" {
			p.finalLine(w, said)
		}
		return true
	}
	p.told(w, nil)
	return true
}

// tells reports whether a line of a slot has figures that are read.
func tells(place, said string) bool {
	for _, begin := range []string{"new prompt,", "forcing full prompt re-processing", "cached n_tokens = ", "prompt processing, n_tokens = ", "n_decoded = "} {
		if strings.HasPrefix(said, begin) {
			return true
		}
	}
	return strings.Contains(place, "print_timing") && (said == "" || strings.Contains(said, " time = "))
}

// numberAfter is the whole number behind a mark, nil without one.
func numberAfter(text, mark string) *int { return count(wordAfter(text, mark)) }

// wordAfter is the first word behind a mark, without a comma at its end.
func wordAfter(text, mark string) string {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	return strings.TrimRight(word, ",;)")
}

// finalLine reads one of the lines at a request's end.
//
//	prompt eval time =  143870.98 ms / 14518 tokens (    9.91 ms per token,   100.91 tokens per second)
//	       eval time =   18764.56 ms /   140 tokens (  134.03 ms per token,     7.46 tokens per second)
//	      total time =  162635.53 ms / 14658 tokens
func (p *Parser) finalLine(w *Work, said string) bool {
	name, rest, ok := strings.Cut(said, " time = ")
	took, rest, timed := strings.Cut(rest, " ms / ")
	ms, tokens := decimal(took), count(firstWord(rest))
	if w == nil || !ok || !timed || ms == nil || tokens == nil {
		return false
	}
	switch name {
	case "prompt eval":
		w.Read, w.ReadSeconds = tokens, new(*ms/1000)
	case "eval":
		w.Output, w.OutputSeconds = tokens, new(*ms/1000)
	case "total":
		w.Seconds = new(*ms / 1000)
		p.conclude(w, nil)
		return true
	default:
		return false
	}
	return true
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	return word
}

// launch begins a request in a slot: what was in it is over.
func (p *Parser) launch(slot, task int) {
	for _, w := range slices.Clone(p.works) {
		if w.Engine == engineLlama && w.Slot == slot && w.Task != task {
			p.conclude(w, nil)
		}
	}
	p.told(p.work(slot, task), nil)
}

// known is a slot's request that a line told of, nil without one.
func (p *Parser) known(slot, task int) *Work {
	for _, w := range p.works {
		if w.Engine == engineLlama && w.Slot == slot && w.Task == task {
			return w
		}
	}
	return nil
}

// work is the same, and a new one where there was none.
func (p *Parser) work(slot, task int) *Work {
	if w := p.known(slot, task); w != nil {
		return w
	}
	return p.open(&Work{Engine: engineLlama, Slot: slot, Task: task, Began: p.now})
}

func (p *Parser) open(w *Work) *Work {
	if len(p.works) == mostWorks {
		p.works = p.works[1:]
	}
	p.works = append(p.works, w)
	return w
}

// told makes the event of what a line told of a request. llama-server's lines have
// no time: l is nil.
func (p *Parser) told(w *Work, l *line) { p.emit(Event{Kind: Worked, Work: new(*w)}, l) }

// conclude tells a request's last figures once.
func (p *Parser) conclude(w *Work, l *line) {
	if w == nil || w.Done {
		return
	}
	w.Done = true
	p.told(w, l)
	p.works = slices.DeleteFunc(p.works, func(o *Work) bool { return o == w })
	if p.timed == w {
		p.timed = nil
	}
}
