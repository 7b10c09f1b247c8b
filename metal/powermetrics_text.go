package metal

import "strings"

// powermetricsText reads the text form line by line. What a line means depends on
// the block it stands in only for "GPU Power" and the table of tasks.
type powermetricsText struct {
	Powermetrics
	now     *PowermetricsSample
	first   *PowermetricsSample
	samples int // with a heading
	tasks   taskTable
	block   powermetricsBlock
	// early is a "GPU Power" that stood before anything told its block. openGPU
	// says that one of the GPU's block is still to come.
	early   *float64
	openGPU bool
	headed  bool // the sample has a heading
	filled  bool // something of the sample was read
	known   bool // something of the text was read
	cut     bool // the line does not end: its last word may not be whole
	fault   *TextError
}

type powermetricsBlock int

const (
	blockUnknown powermetricsBlock = iota
	blockCPU
	blockGPU
	blockTasks
)

func parsePowermetricsText(text string) (*Powermetrics, error) {
	p := &powermetricsText{now: &PowermetricsSample{}}
	for line := range strings.Lines(text) {
		p.cut = !strings.HasSuffix(line, "\n")
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !p.line(line) && p.cut {
			p.fail(Truncated, lastLine(line))
		}
	}
	p.finish()
	if p.fault == nil && !p.known {
		if strings.TrimSpace(text) == "" {
			p.fail(Truncated, "no output")
		} else {
			p.fail(LabelsNotRecognised, lastLine(text))
		}
	}
	if p.fault != nil {
		return &p.Powermetrics, p.fault
	}
	return &p.Powermetrics, nil
}

func (p *powermetricsText) fail(kind TextErrorKind, detail string) {
	if p.fault == nil {
		p.fault = &TextError{kind, "powermetrics", detail}
	}
}

// line reads one line. It is false when the label is known and its value is not
// whole, which on the last line of a text means that it was cut there.
func (p *powermetricsText) line(line string) bool {
	if strings.HasPrefix(line, "***") {
		p.heading(line)
		return true
	}
	if p.block != blockTasks && !taskHeader(line) {
		return p.labelled(strings.TrimSpace(line))
	}
	if p.block = blockTasks; !p.tasks.header(line) {
		task, ok := p.tasks.row(line)
		if ok && !p.cut && len(p.now.Tasks) < maxTasks {
			p.now.Tasks = append(p.now.Tasks, task)
			p.filled, p.known = true, true
		}
		if !ok {
			return p.labelled(strings.TrimSpace(line))
		}
		if task.Name == "ALL_TASKS" { // the last row
			p.block = blockUnknown
		}
	}
	return true
}

// heading reads "*** Sampled system activity (date) (104.51ms elapsed) ***" and
// the headings of blocks, "**** GPU usage ****".
func (p *powermetricsText) heading(line string) {
	name := strings.Trim(line, "* ")
	switch {
	case strings.HasPrefix(name, "Sampled system activity"):
		p.known = true
		p.finish()
		p.block, p.early, p.openGPU, p.headed, p.filled = blockUnknown, nil, false, true, false
		before, _, ok := strings.Cut(name, "ms elapsed")
		if i := strings.LastIndexByte(before, '('); ok && i >= 0 {
			p.now.Elapsed = number(before[i+1:])
		}
	case name == "Processor usage":
		p.block = blockCPU
	case name == "GPU usage":
		p.block, p.openGPU = blockGPU, true
	case name == "Running tasks":
		p.block, p.tasks = blockTasks, taskTable{}
	default:
		p.block = blockUnknown
	}
}

// finish closes the sample that was read and begins the next one. A heading that
// nothing follows is no sample where there are others.
func (p *powermetricsText) finish() {
	s := p.now
	p.now = &PowermetricsSample{}
	if !p.filled && !(p.headed && p.first == nil) {
		return
	}
	s.GPUPower = s.GPUPowerCPUBlock
	if s.GPUPower == nil {
		s.GPUPower = s.GPUPowerGPUBlock
	}
	if s.GPUPower == nil {
		s.GPUPower = p.early
	}
	s.GPULadderTop = ladderTop(s.GPUSteps)
	p.PowermetricsSample = *s
	if p.first == nil {
		p.first = s
	} else {
		p.First = p.first
	}
	if p.headed {
		p.samples++
		p.Samples = &p.samples
	}
}

// gpuPower puts a "GPU Power" where it belongs. The GPU's block ends with it, so
// one that no other line of the GPU stands before is the processor's.
func (p *powermetricsText) gpuPower(mW *float64) {
	switch {
	case p.block == blockGPU && (p.openGPU || p.now.GPUPowerGPUBlock == nil):
		p.now.GPUPowerGPUBlock, p.openGPU = mW, false
	case p.block == blockGPU, p.block == blockCPU:
		p.now.GPUPowerCPUBlock = mW
	default:
		p.early = mW
	}
}

// enter notes that a line of a block was read, which tells where an early "GPU
// Power" belongs: in the processor's block it follows CPU Power, and whatever
// else comes after it is not the GPU's block, which would have come before it.
func (p *powermetricsText) enter(block powermetricsBlock, label string) {
	switch {
	case block == blockUnknown:
		return
	case p.early != nil && label == "CPU Power" && p.now.GPUPowerGPUBlock == nil:
		p.now.GPUPowerGPUBlock, p.early = p.early, nil
	case p.early != nil && p.now.GPUPowerCPUBlock == nil:
		p.now.GPUPowerCPUBlock, p.early = p.early, nil
	}
	p.block = block
	p.openGPU = p.openGPU || block == blockGPU
}

// complaint reads what powermetrics writes to stderr.
func (p *powermetricsText) complaint(line string) bool {
	lower := strings.ToLower(line)
	switch {
	case strings.Contains(lower, "must be invoked as the superuser"):
		p.fail(PermissionDenied, line)
	case strings.HasPrefix(lower, "unrec") && strings.Contains(lower, "sampler"): // "unrecongnized" on macOS 11
		_, name, _ := strings.Cut(line, ":")
		p.fail(UnknownSampler, strings.TrimSpace(name))
	default:
		return false
	}
	p.known = true
	return true
}

// taskTable reads the rows of the running tasks. Names are cut to their column and
// may have blanks in them, so the column of the ID parts them from the numbers.
type taskTable struct {
	id  int  // where the column begins
	gpu bool // the last column is the GPU's time
}

func taskHeader(line string) bool {
	return strings.HasPrefix(line, "Name ") && strings.Contains(line, " ID ") && strings.Contains(line, "CPU ms/s")
}

func (t *taskTable) header(line string) bool {
	if !taskHeader(line) {
		return false
	}
	t.id, t.gpu = strings.Index(line, " ID ")+1, strings.HasSuffix(line, "GPU ms/s")
	return true
}

func (t *taskTable) row(line string) (task PowermetricsTask, ok bool) {
	if t.id == 0 || len(line) <= t.id || line[t.id-1] != ' ' {
		return task, false
	}
	fields := strings.Fields(line[t.id:])
	if len(fields) < 2 {
		return task, false
	}
	pid := whole(strings.TrimPrefix(fields[0], "-"))
	task.Name, task.CPU = strings.TrimSpace(strings.ToValidUTF8(line[:t.id], "\ufffd")), number(fields[1])
	if pid == nil || *pid > 1<<31 || task.Name == "" || task.CPU == nil {
		return task, false
	}
	task.PID = int(*pid)
	if strings.HasPrefix(fields[0], "-") {
		task.PID = -task.PID
	}
	if t.gpu && len(fields) > 2 {
		task.GPU = number(fields[len(fields)-1])
	}
	return task, true
}
