package metal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func systemOf(r Reader) string {
	if _, ok := r.(*linux); ok {
		return "linux"
	}
	return ""
}

// recordedFiles are the files that are recorded as they are, below the roots. The
// kernel makes them of numbers and of words of its own.
var recordedFiles = []string{
	"proc/meminfo", "proc/vmstat", "proc/uptime", "proc/pressure/memory",
	"sys/module/zswap/parameters/enabled",
	"sys/devices/system/cpu/cpu[0-9]*/topology/core_cpus_list", "sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list",
	"sys/devices/system/cpu/cpu[0-9]*/topology/core_id", "sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
	"sys/class/hwmon/hwmon*/name", "sys/class/hwmon/hwmon*/temp*_input", "sys/class/hwmon/hwmon*/temp*_label",
}

// recordedCard are the files of a graphics card, below its folder device.
var recordedCard = []string{
	"gpu_busy_percent", "mem_info_vram_total", "mem_info_vram_used", "product_name", "device", "vendor", "pp_dpm_sclk",
	"power/runtime_status", "hwmon/hwmon*/name", "hwmon/hwmon*/temp*_input", "hwmon/hwmon*/temp*_label",
	"hwmon/hwmon*/power1_average", "hwmon/hwmon*/power1_input", "hwmon/hwmon*/freq1_input",
}

// recordedLines are the files of which some lines are recorded: those that begin so.
var recordedLines = map[string][]string{
	"proc/cpuinfo": {"processor", "vendor_id", "cpu family", "model", "stepping", "physical id", "siblings", "core id", "cpu cores",
		"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Hardware", "Processor"},
	"etc/os-release": {"NAME=", "VERSION_ID=", "ID="},
}

// linkSuffix marks a file that holds where a link leads.
const linkSuffix = ".link"

// systemFiles copies what Linux is read from.
func (c *Recording) systemFiles(files map[string][]byte) (left int, err error) {
	l, ok := c.reader.(*linux)
	if !ok {
		return 0, fmt.Errorf("this is no machine that can be recorded: %w", ErrUnsupported)
	}
	root := map[string]string{"proc": l.roots.Proc, "sys": l.roots.Sys, "etc": l.roots.Etc}
	glob := func(pattern string) (paths, names []string) {
		top, rest, _ := strings.Cut(pattern, "/")
		paths, _ = filepath.Glob(filepath.Join(root[top], rest))
		for _, p := range paths {
			names = append(names, top+strings.TrimPrefix(p, root[top]))
		}
		return paths, names
	}
	patterns := slices.Clone(recordedFiles)
	for _, name := range recordedCard {
		patterns = append(patterns, "sys/class/drm/card[0-9]*/device/"+name)
	}
	for _, pattern := range patterns {
		paths, names := glob(pattern)
		for i, p := range paths {
			if text, err := os.ReadFile(p); err == nil {
				files["raw/"+names[i]] = text
			}
		}
	}
	paths, names := glob("sys/class/drm/card[0-9]*/device/driver")
	for i, p := range paths {
		if link, err := os.Readlink(p); err == nil {
			files["raw/"+names[i]+linkSuffix] = []byte("/drivers/" + filepath.Base(link))
		}
	}
	for name, begin := range recordedLines {
		paths, _ := glob(name)
		for _, p := range paths {
			if text, err := os.ReadFile(p); err == nil {
				files["raw/"+name] = linesThatBegin(string(text), begin)
			}
		}
	}
	if _, err := os.Stat(l.roots.Proc + "/sys/kernel/random/boot_id"); err == nil {
		files["raw/proc/sys/kernel/random/boot_id"] = []byte(noUUID + "\n")
	}
	recordSupplies(l.roots.Sys, files)
	r := &redactor{}
	if list, ok := c.last(sectionProcesses).value.([]Process); ok {
		left = r.choose(list)
		for _, p := range list {
			if r.keep[p.PID] {
				r.recordProcess(l, p, files)
			}
		}
	}
	return left, nil
}

// linesThatBegin keeps lines, and the empty ones that part processors.
func linesThatBegin(text string, begin []string) []byte {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" || slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(line, b) }) {
			kept.WriteString(line)
		}
	}
	return []byte(kept.String())
}

// recordSupplies gives the power supplies other names: those of a mouse or headset
// hold its address.
func recordSupplies(sys string, files map[string][]byte) {
	entries, err := os.ReadDir(sys + "/class/power_supply")
	if err != nil {
		return
	}
	files["raw/sys/class/power_supply/README"] = []byte("The supplies are numbered, not named.\n")
	for i, e := range entries {
		for _, name := range []string{"type", "online", "status", "scope"} {
			if value := firstLine(sys + "/class/power_supply/" + e.Name() + "/" + name); value != "" {
				files[fmt.Sprintf("raw/sys/class/power_supply/supply%d/%s", i, name)] = []byte(value + "\n")
			}
		}
	}
}

// recordProcess writes the files of one process anew, of what the reader uses.
func (r *redactor) recordProcess(l *linux, p Process, files map[string][]byte) {
	dir := fmt.Sprintf("%s/%d/", l.roots.Proc, p.PID)
	text, err := os.ReadFile(dir + "stat")
	if err != nil {
		return // it has ended
	}
	s, ok := parseProcStat(text)
	if !ok || s.gone() {
		return
	}
	to := fmt.Sprintf("raw/proc/%d/", p.PID)
	name := r.name(p.Name)
	fields := make([]string, 50) // from the third on
	for i := range fields {
		fields[i] = "0"
	}
	fields[0], fields[1] = string(s.state), strconv.Itoa(s.parent)
	fields[14-3], fields[22-3] = strconv.FormatUint(s.ticks, 10), strconv.FormatUint(s.started, 10)
	files[to+"stat"] = fmt.Appendf(nil, "%d (%s) %s\n", p.PID, cutTo(name, 15), strings.Join(fields, " "))
	if status, err := os.ReadFile(dir + "status"); err == nil {
		files[to+"status"] = append(fmt.Appendf(nil, "Name:\t%s\n", cutTo(name, 15)),
			linesThatBegin(string(status), []string{"RssAnon:", "RssShmem:", "VmSwap:"})...)
	}
	files[to+"exe"+linkSuffix] = []byte("/" + redacted + "/" + name)
	if len(p.Args) > 0 {
		files[to+"cmdline"] = []byte(strings.Join(r.args(p.Args), "\x00") + "\x00")
	}
	if p.App != p.Name {
		files[to+"cgroup"] = []byte("0::/app.slice/app-" + strings.ReplaceAll(r.name(p.App), "-", `\x2d`) + "-1.scope\n")
	}
}

func cutTo(s string, n int) string { return s[:min(n, len(s))] }

// openSystem lays the files out in a folder of their own, reads everything once
// and takes the folder away: the reader keeps what it was told.
func (c *Recording) openSystem(files map[string][]byte) error {
	dir, err := os.MkdirTemp("", "plimsoll-recording")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, data := range files {
		rest, ok := strings.CutPrefix(name, "raw/")
		if !ok {
			continue
		}
		if !filepath.IsLocal(rest) {
			return fmt.Errorf("%q is no name of a file", name)
		}
		path := filepath.Join(dir, rest)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if link, ok := strings.CutSuffix(path, linkSuffix); ok {
			err = os.Symlink(string(data), link)
		} else {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	r, err := NewAt(Roots{Proc: dir + "/proc", Sys: dir + "/sys", Etc: dir + "/etc"})
	if err != nil {
		return err
	}
	l := r.(*linux)
	l.gpu.library = "" // this machine's is none of the recording's
	for i := range c.at {
		c.rounds = append(c.rounds, readAll(l, i == len(c.at)-1, func(name string, _ time.Duration, err error) {
			delete(c.failed, name)
			if err != nil {
				c.failed[name] = withoutFolder(err, dir)
			}
		}))
	}
	for i := range c.rounds {
		for j := range c.rounds[i] {
			c.rounds[i][j].err = withoutFolder(c.rounds[i][j].err, dir)
		}
	}
	c.reader = stillLife{c}
	l.close()
	return nil
}

// close closes the files that are kept open.
func (l *linux) close() {
	for _, k := range []*kept{&l.meminfo, &l.vmstat, &l.psi, &l.uptime, &l.zswap} {
		if k.file != nil {
			k.file.Close()
			k.file = nil
		}
	}
}

// folderError is an error without the folder that is gone.
type folderError struct {
	text  string
	cause error
}

func (e *folderError) Error() string { return e.text }
func (e *folderError) Unwrap() error { return e.cause }

func withoutFolder(err error, dir string) error {
	if err == nil {
		return nil
	}
	return &folderError{strings.ReplaceAll(err.Error(), dir, ""), err}
}

// stillLife tells what a recording has.
type stillLife struct{ c *Recording }

func lastOf[T any](s stillLife, name string) (*T, error) {
	found := s.c.last(name)
	if v, ok := found.value.(*T); ok && v != nil {
		return new(*v), nil
	}
	return nil, found.err
}

func (s stillLife) Machine() (*Machine, error) { return lastOf[Machine](s, sectionMachine) }
func (s stillLife) Memory() (*Memory, error)   { return lastOf[Memory](s, sectionMemory) }
func (s stillLife) Swap() (*Swap, error)       { return lastOf[Swap](s, sectionSwap) }
func (s stillLife) GPU() (*GPU, error)         { return lastOf[GPU](s, sectionGPU) }
func (s stillLife) Thermal() (*Thermal, error) { return lastOf[Thermal](s, sectionThermal) }
func (s stillLife) Power() (*Power, error)     { return lastOf[Power](s, sectionPower) }

func (s stillLife) Processes() ([]Process, error) {
	found := s.c.last(sectionProcesses)
	list, _ := found.value.([]Process)
	return slices.Clone(list), found.err
}

func (s stillLife) Process(pid int) (*Process, error) {
	list, err := s.Processes()
	for _, p := range list {
		if p.PID == pid {
			p.Args, p.GPU = nil, nil
			return &p, nil
		}
	}
	if err == nil {
		err = ErrNoProcess
	}
	return nil, fmt.Errorf("reading process %d: %w", pid, err)
}
