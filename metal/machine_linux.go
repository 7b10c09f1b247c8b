package metal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
)

// Machine tells what cpuinfo, os-release and the kernel say. All but uptime is
// read once.
func (l *linux) Machine() (*Machine, error) {
	if l.identity == nil {
		l.identity = l.identify()
	}
	m := *l.identity
	m.Uptime = l.upFor()
	if m.Chip == "" && m.Cores == nil && m.RAMBytes == nil && m.OS == "" && m.Uptime == nil && m.BootID == "" {
		l.identity = nil
		return nil, errors.New("reading the machine: nothing is told below " + l.roots.Proc)
	}
	return &m, nil
}

// identify asks gopsutil for the processor: it knows the ARM parts, which have
// no name in cpuinfo, and counts cores by their topology. Its host package is not
// used, for it may run lsb_release.
func (l *linux) identify() *Machine {
	ctx := context.WithValue(context.Background(), common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: l.roots.Proc,
		common.HostSysEnvKey:  l.roots.Sys,
		common.HostEtcEnvKey:  l.roots.Etc,
	})
	m := &Machine{}
	if processors, err := cpu.InfoWithContext(ctx); err == nil && len(processors) > 0 {
		if name := processors[0].ModelName; name != "Undefined" { // gopsutil's word for an unknown part
			m.Chip = strings.Join(strings.Fields(name), " ")
		}
	}
	if cores, err := cpu.CountsWithContext(ctx, false); err == nil && cores > 0 {
		m.Cores = &cores
	}
	if text, err := l.meminfo.read(); err == nil {
		m.RAMBytes = parseMeminfo(text).total
	}
	for _, path := range []string{l.roots.Etc + "/os-release", l.roots.Etc + "/../usr/lib/os-release"} {
		if text, err := os.ReadFile(path); err == nil {
			m.OS = osRelease(string(text))
			break
		}
	}
	if id, err := os.ReadFile(l.roots.Proc + "/sys/kernel/random/boot_id"); err == nil {
		m.BootID = string(bytes.TrimSpace(id))
	}
	return m
}

// upFor is the first number of /proc/uptime: seconds since start, sleep included.
func (l *linux) upFor() *float64 {
	text, err := l.uptime.read()
	if err != nil {
		return nil
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(first)), 64)
	if err != nil || seconds < 0 {
		return nil
	}
	return &seconds
}
