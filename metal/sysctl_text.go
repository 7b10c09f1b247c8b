package metal

import "strings"

// ParseSysctl decodes what the command sysctl prints: lines "name: value" or
// "name = value", the answer to a write ("iogpu.wired_limit_mb: 0 -> 114688"),
// complaints about unknown names, and a recorded shell session with its command
// lines. Bare values, as -n prints them, are taken in the order of names.
//
// With an error (a *TextError) it returns what it could read as well.
func ParseSysctl(text string, names ...string) (*SysctlText, error) {
	p := sysctlParser{awaited: names}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			p.line(line)
		}
	}
	p.derive()
	if p.fault == nil && p.understood == 0 && p.bare > 0 {
		p.fail(LabelsNotRecognised, lastLine(text))
	}
	if p.fault == nil {
		return &p.SysctlText, nil
	}
	return &p.SysctlText, p.fault
}

type sysctlParser struct {
	SysctlText
	awaited    []string // names whose bare values come next
	understood int      // lines that were read
	bare       int      // lines that nobody asked for
	fault      *TextError
}

func (p *sysctlParser) line(line string) {
	if names, ok := sysctlCommand(line); ok {
		p.awaited = names
		return
	}
	if complaint, ok := strings.CutPrefix(line, "sysctl: "); ok {
		p.complaint(complaint)
		return
	}
	if name, value, ok := sysctlNamed(line); ok {
		p.take(name, value)
		return
	}
	if strings.Contains(line, "total = ") && strings.Contains(line, "used = ") {
		p.await("vm.swapusage")
		p.take("vm.swapusage", line)
		return
	}
	if len(p.awaited) == 0 {
		p.bare++
		return
	}
	name := p.awaited[0]
	p.awaited = p.awaited[1:]
	p.take(name, line)
}

func (p *sysctlParser) take(name, value string) {
	p.understood++
	p.set(name, value)
	if name == "vm.swapusage" {
		if _, err := ParseSwapUsage(value); err != nil {
			p.fail(Truncated, value)
		}
	}
}

// await takes one name out of those whose bare values are to come.
func (p *sysctlParser) await(name string) {
	for i, n := range p.awaited {
		if n == name {
			p.awaited = append(p.awaited[:i:i], p.awaited[i+1:]...)
			return
		}
	}
}

// complaint reads what sysctl writes to stderr (Apple system_cmds, sysctl.c).
func (p *sysctlParser) complaint(text string) {
	p.understood++
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "unknown oid"):
		name := strings.Trim(strings.TrimSpace(text[len("unknown oid"):]), `'":`)
		p.UnknownOIDs = append(p.UnknownOIDs, name)
		p.await(name)
		p.fail(UnknownOID, name)
	case strings.Contains(lower, "read only"), strings.Contains(lower, "read-only"):
		p.fail(ReadOnly, text)
	case strings.Contains(lower, "not permitted"), strings.Contains(lower, "permission denied"):
		p.fail(PermissionDenied, text)
	}
}

// fail keeps the first fault.
func (p *sysctlParser) fail(kind TextErrorKind, detail string) {
	if p.fault == nil {
		p.fault = &TextError{kind, "sysctl", detail}
	}
}

// sysctlNamed splits "name: value", "name = value" and "name=value". A name has
// no blanks and at least one point in it.
func sysctlNamed(line string) (name, value string, ok bool) {
	end := strings.IndexAny(line, ":= ")
	if end < 0 || !strings.Contains(line[:end], ".") {
		return "", "", false
	}
	for _, c := range line[:end] {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._-%", c) {
			return "", "", false
		}
	}
	rest := line[end:]
	for _, mark := range []string{":", " = ", "="} {
		if v, ok := strings.CutPrefix(rest, mark); ok {
			return line[:end], strings.TrimSpace(v), true
		}
	}
	return "", "", false
}

// sysctlCommand recognises the line of a shell session that calls sysctl, and
// tells the names whose bare values follow when it was called with -n.
func sysctlCommand(line string) (names []string, ok bool) {
	prompt, command, found := strings.Cut(line, "sysctl ")
	prompt = strings.TrimSpace(prompt)
	if !found || prompt == "" || !strings.ContainsAny(prompt[len(prompt)-1:], "$%#") &&
		!strings.HasSuffix(prompt, "sudo") && !strings.HasSuffix(prompt, "/") {
		return nil, false
	}
	bare := false
	for _, word := range strings.Fields(command) {
		if strings.HasPrefix(word, "-") {
			bare = bare || strings.Contains(word, "n")
			continue
		}
		if strings.ContainsAny(word, "|<>;&") {
			break
		}
		names = append(names, strings.Trim(word, `"'`))
	}
	if !bare {
		names = nil
	}
	return names, true
}
