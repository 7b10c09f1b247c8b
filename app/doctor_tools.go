package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"plimsoll/metal"
)

// tool is a command of the system's that tells some facts too, or a file that has
// them as text. Each is run once, for a cross-check alone.
type tool struct {
	name string   // of the command and of what it is decoded by
	args []string // the command with its arguments; a file when there is one that begins with "/proc"
	root bool     // it works for root alone
	// mixed takes what it writes to standard error as well.
	mixed bool
}

// The tools of each system. On macOS they are named by their paths: a service
// manager's short PATH does not find all.
var systemTools = map[string][]tool{
	"darwin": {
		{name: "vm_stat", args: []string{"/usr/bin/vm_stat"}},
		{name: "sysctl", args: append([]string{"/usr/sbin/sysctl", "-i"}, sysctlNames...)},
		{name: "memory_pressure", args: []string{"/usr/bin/memory_pressure", "-Q"}},
		{name: "ioreg", args: []string{"/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator"}},
		{name: "pmset_therm", args: []string{"/usr/bin/pmset", "-g", "therm"}, mixed: true},
		{name: "notifyutil", args: []string{"/usr/bin/notifyutil", "-g", "com.apple.system.thermalpressurelevel"}},
		{name: "system_profiler", args: []string{"/usr/sbin/system_profiler", "-json", "SPHardwareDataType", "SPSoftwareDataType", "SPDisplaysDataType"}},
		{name: "powermetrics", args: []string{"/usr/bin/powermetrics", "-n", "1", "-i", "1000", "-s", "cpu_power,gpu_power,thermal"}, root: true},
	},
	"linux": {
		{name: "meminfo", args: []string{"/proc/meminfo"}},
		{name: "free", args: []string{"free", "-b"}},
	},
}

// sysctlNames are the values that the command sysctl is asked for. It leaves out
// those that the system does not have.
var sysctlNames = []string{
	"machdep.cpu.brand_string", "hw.model", "hw.memsize", "hw.physicalcpu", "hw.nperflevels", "hw.perflevel0.name", "hw.perflevel0.physicalcpu",
	"hw.perflevel1.name", "hw.perflevel1.physicalcpu", "hw.perflevel2.name", "hw.perflevel2.physicalcpu", "kern.osproductversion",
	"kern.memorystatus_vm_pressure_level", "kern.memorystatus_level", "vm.swapusage", "iogpu.wired_limit_mb", "debug.iogpu.wired_limit",
}

const (
	// toolPatience is how long a tool may take. system_profiler takes up to some
	// seconds where displays are slow to answer.
	toolPatience = 15 * time.Second
	// toolMost is the most that is read of what a tool prints.
	toolMost = 4 << 20
)

// printed is what a tool printed, and what it is decoded to.
type printed struct {
	tool   string
	output []byte
	took   time.Duration
	err    error // it did not run, did not end in time, or failed
	value  any   // decoded; nil without an output
}

// runTools runs all tools of this system at once.
func (d *doctor) runTools(ctx context.Context) []printed {
	var wanted []tool
	for _, t := range systemTools[d.goos] {
		if !t.root || d.root {
			wanted = append(wanted, t)
		}
	}
	outputs := make([]printed, len(wanted))
	var group sync.WaitGroup
	for i, t := range wanted {
		group.Go(func() {
			outputs[i] = d.run(ctx, t)
			outputs[i].decode()
		})
	}
	group.Wait()
	return outputs
}

// decode reads the output. What could not be read is an error of the tool's; what
// was read beside it counts.
func (o *printed) decode() {
	if len(o.output) == 0 {
		return
	}
	decoder := toolDecoders()[o.tool]
	if decoder == nil {
		return
	}
	value, err := decoder(o.output)
	o.value = value
	if o.err == nil {
		o.err = err
	}
}

// toolDecoders are those of the recordings that have the same names, and of what
// Linux has.
func toolDecoders() map[string]metal.Decoder {
	all := metal.Decoders()
	all["meminfo"] = func(b []byte) (any, error) { return decodeMeminfo(string(b)) }
	all["free"] = func(b []byte) (any, error) { return decodeFree(string(b)) }
	return all
}

// runTool runs one tool, with numbers and words as in C.
func runTool(ctx context.Context, t tool) printed {
	start := time.Now()
	o := printed{tool: t.name}
	defer func() { o.took = time.Since(start) }()
	if strings.HasPrefix(t.args[0], "/proc/") {
		o.output, o.err = os.ReadFile(t.args[0])
		o.took = time.Since(start)
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.args[0], t.args[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LANG=C")
	cmd.WaitDelay = time.Second
	out, errs := &limited{most: toolMost}, &limited{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	if t.mixed {
		cmd.Stderr = cmd.Stdout // one writer: exec hands both the same pipe
	}
	err := cmd.Run()
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	if _, ended := errors.AsType[*exec.ExitError](err); ended && errs.Len() > 0 {
		err = errors.New(lastWords(errs.String()))
	}
	o.output, o.err, o.took = out.Bytes(), err, time.Since(start)
	return o
}

// lastWords is the last line that is not empty.
func lastWords(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(b []byte) (int, error) {
	if room := l.most - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// ReadFrom would pass the limit by.
func (l *limited) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{l}, r)
}
