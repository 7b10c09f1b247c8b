package metal

import "strings"

// IORegistryText is the accelerator node that the command ioreg prints. Every
// field may be absent; amounts are bytes.
type IORegistryText struct {
	Class *string `json:"gpu_class"` // "AGXAcceleratorG16G"
	Model *string `json:"gpu_model"`
	Cores *uint64 `json:"gpu_core_count"`
	// InUse is what the GPU's driver holds now, Alloc what was handed out, up to
	// 30 times as much, and DriverInUse 0 on GPUs that are no virtual machine's.
	InUse       *uint64 `json:"in_use_bytes"`
	Alloc       *uint64 `json:"alloc_bytes"`
	DriverInUse *uint64 `json:"in_use_driver_bytes"`
	// Device is not the larger of Renderer and Tiler. A virtual machine has none.
	Device     *uint64 `json:"device_percent"`
	Renderer   *uint64 `json:"renderer_percent"`
	Tiler      *uint64 `json:"tiler_percent"`
	Recoveries *uint64 `json:"recovery_count"`
}

// ioregNode is one node of the text while it is read.
type ioregNode struct {
	IORegistryText
	open, closed bool // its "{" and "}" lines
	statistics   bool // it has statistics of a GPU in use, whole
	cut          bool // its statistics do not end
}

// ParseIORegistry decodes the output of "ioreg -r -d 1 -w 0 -c IOAccelerator".
// Of several nodes it takes the first with the statistics of a GPU: the node of
// a compatibility driver has nothing but vramFreeBytes. No output at all is a
// machine without an accelerator: everything is absent and that is no error.
//
// Statistics that do not end with their brace are Truncated and none of them is
// told, as "…%"=8 may be all that is left of 87.
func ParseIORegistry(text string) (*IORegistryText, error) {
	node, known := &ioregNode{}, false
	best := node
	for line := range strings.Lines(text) {
		cut := !strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(strings.TrimLeft(line, " |\t"))
		if rest, ok := strings.CutPrefix(line, "+-o "); ok {
			node, known = &ioregNode{}, true
			node.Class = ioregClass(rest)
		} else if node.line(line, cut) {
			known = true
		}
		if !best.statistics && !best.cut && (best.empty() || node.statistics || node.cut) {
			best = node
		}
	}
	switch {
	case !known && strings.TrimSpace(text) != "":
		return &best.IORegistryText, &TextError{LabelsNotRecognised, "ioreg", lastLine(text)}
	case best.cut:
		return &best.IORegistryText, &TextError{Truncated, "ioreg", "PerformanceStatistics without its brace"}
	case !best.statistics && best.open && !best.closed:
		return &best.IORegistryText, &TextError{Truncated, "ioreg", "a node without its brace"}
	}
	return &best.IORegistryText, nil
}

func (n *ioregNode) empty() bool { return n.IORegistryText == IORegistryText{} }

// ioregClass reads "AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x…>".
func ioregClass(heading string) *string {
	name, rest, whole := strings.Cut(heading, " ")
	if _, class, ok := strings.Cut(rest, "<class "); ok {
		if end := strings.IndexAny(class, ",>"); end >= 0 {
			name = class[:end]
		}
	}
	if !whole {
		return nil
	}
	return word(name)
}

// line reads one property of a node, `"model" = "Apple M4"`, and tells whether it
// is one. A line that is cut may miss digits of its number.
func (n *ioregNode) line(line string, cut bool) bool {
	switch line {
	case "{":
		n.open = true
		return false
	case "}":
		n.closed = true
		return false
	}
	rest, quoted := strings.CutPrefix(line, `"`)
	name, value, ok := strings.Cut(rest, `" = `)
	if !quoted || !ok {
		return false
	}
	switch name {
	case "PerformanceStatistics":
		n.readStatistics(value)
	case "model":
		n.Model = ioregString(value)
	case "gpu-core-count":
		if !cut {
			n.Cores = whole(value)
		}
	case "IOClass":
		if n.Class == nil {
			n.Class = ioregString(value)
		}
	}
	return true
}

// ioregString reads `"Apple M4"` and the form of data, `<"Apple M4">`.
func ioregString(value string) *string {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "<"), ">")
	value, first := strings.CutPrefix(value, `"`)
	value, last := strings.CutSuffix(value, `"`)
	if !first || !last {
		return nil
	}
	return word(value)
}

// readStatistics reads {"Tiler Utilization %"=25,"recoveryCount"=0,…}. Keys come
// in any order and are compared whole, because one is another one with "(driver)"
// after it.
func (n *ioregNode) readStatistics(value string) {
	body, ok := strings.CutPrefix(value, "{")
	values := map[string]string{}
	for ok {
		if strings.HasPrefix(body, "}") {
			n.useStatistics(values)
			return
		}
		body = strings.TrimPrefix(body, ",")
		var key, v string
		if key, body, ok = cutIORegKey(body); ok {
			if v, body, ok = cutIORegValue(body); ok && len(values) < 4096 {
				values[key] = v
			}
		}
	}
	n.cut = true
}

func (n *ioregNode) useStatistics(values map[string]string) {
	known := false
	get := func(key string) *uint64 {
		v, ok := values[key]
		known = known || ok
		return whole(v)
	}
	percent := func(key string) *uint64 {
		p := get(key)
		if p != nil && *p > 100 {
			return nil
		}
		return p
	}
	n.InUse, n.Alloc = get("In use system memory"), get("Alloc system memory")
	n.DriverInUse = get("In use system memory (driver)")
	n.Device, n.Renderer = percent("Device Utilization %"), percent("Renderer Utilization %")
	n.Tiler = percent("Tiler Utilization %")
	n.Recoveries = get("recoveryCount")
	n.statistics = known
}

// cutIORegKey cuts `"key"=` off.
func cutIORegKey(s string) (key, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, `"`)
	if !ok {
		return "", "", false
	}
	return strings.Cut(s, `"=`)
}

// cutIORegValue cuts one value off, up to the comma or brace behind it: a number,
// a word, a string, data, or a list of such in braces or parentheses. A value that
// nothing stands behind was cut.
func cutIORegValue(s string) (value, rest string, ok bool) {
	depth, quoted := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case depth == 0 && (c == ',' || c == '}'):
			return s[:i], s[i:], true
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			if depth--; depth < 0 {
				return "", "", false
			}
		}
	}
	return "", "", false
}
