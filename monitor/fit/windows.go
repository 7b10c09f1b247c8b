package fit

import "strings"

// windows marks the layers that keep a window only: as the file's pattern says, or
// as the family has it.
func (b *builder) windows(kinds []Kind) Reason {
	family, known := slidings[b.family]
	if b.family == "gemma4" && b.blocks%6 != 0 && b.blocks%5 == 0 { // E2B; the last layer keeps all
		family.every = 5
	}
	if b.unreadable("attention.sliding_window", mostContext) && !(known && family.every == 0) {
		return ReasonImplausible
	}
	size, told := b.number("attention.sliding_window", mostContext)
	if letters := strings.ToUpper(b.text("attention.sliding_window_pattern")); letters != "" && strings.Trim(letters, "LG") == "" { // EXAONE 4: "LLLG"
		for at := range kinds {
			if letters[at%len(letters)] == 'L' {
				b.mark(kinds, at)
			}
		}
		return ""
	}
	if pattern, given := b.list("attention.sliding_window_pattern", mostLayers); given {
		if len(pattern) < b.blocks-b.number1("nextn_predict_layers") {
			return ReasonListLeftOut
		}
		for at := range min(len(pattern), len(kinds)) {
			if pattern[at] == 0 {
				continue
			}
			if kinds[at] == Full && !told && b.window(at) == 0 && len(b.sizes) == 0 {
				return ReasonWindow // it keeps a window, whose length nobody told
			}
			b.mark(kinds, at)
		}
		return ""
	}
	if b.leftOut("attention.sliding_window_pattern") && family.every == 0 {
		return ReasonListLeftOut
	}
	every, given := b.number("attention.sliding_window_pattern", mostLayers)
	switch {
	case len(b.sizes) > 0 && len(b.sizes) < b.blocks-b.number1("nextn_predict_layers"):
		return ReasonListLeftOut
	case len(b.sizes) > 0:
		for at := range kinds {
			if b.window(at) > 0 {
				b.mark(kinds, at)
			}
		}
		return ""
	case given && every > 0 && size > 0:
		family = sliding{every: every}
	case told && size == 0, !told && family.window == 0:
		return "" // no window at all
	case known && family.every == 0, b.family == "exaone4" && b.blocks < 64: // the small one has none
		return ""
	case !known:
		return ReasonWindow
	}
	for at := range kinds {
		place := at % family.every
		if all := family.first && place == 0 || !family.first && place == family.every-1; !all {
			b.mark(kinds, at)
		}
	}
	return ""
}

// mark makes an attention layer one that keeps a window.
func (b *builder) mark(kinds []Kind, at int) {
	if kinds[at] == Full && b.window(at) > 0 {
		kinds[at] = Window
	}
}

// window is the window of a layer in tokens, 0 where there is none.
func (b *builder) window(at int) int {
	if len(b.sizes) > 0 {
		if at < len(b.sizes) {
			return b.sizes[at]
		}
		return 0
	}
	family := slidings[b.family]
	if size, told := b.number("attention.sliding_window", mostContext); told && (size == 0 || !family.fixed) {
		return size
	}
	if size := b.number1("attention.chunk_size"); size > 0 {
		return size
	}
	return family.window
}
