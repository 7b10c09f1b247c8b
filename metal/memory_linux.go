package metal

import (
	"bytes"
	"errors"
	"strconv"
)

// meminfo is what is used of /proc/meminfo, in bytes (proc_meminfo(5)). A line
// that the kernel does not print leaves its field nil.
type meminfo struct {
	total, free, available, buffers, cached, shmem *uint64
	anonymous, unevictable, slabReclaimable        *uint64
	slabUnreclaimable, kernelStack, pageTables     *uint64
	zswap, zswapped                                *uint64
	swapTotal, swapFree                            *uint64
}

func parseMeminfo(text []byte) meminfo {
	var m meminfo
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		if field := m.field(line[:i]); field != nil {
			*field = kilobytes(line[i+1:])
		}
	}
	return m
}

// field finds the field of a line; the compiler makes no string of name here.
func (m *meminfo) field(name []byte) **uint64 {
	switch string(name) {
	case "MemTotal":
		return &m.total
	case "MemFree":
		return &m.free
	case "MemAvailable":
		return &m.available
	case "Buffers":
		return &m.buffers
	case "Cached":
		return &m.cached
	case "Shmem":
		return &m.shmem
	case "AnonPages":
		return &m.anonymous
	case "Unevictable":
		return &m.unevictable
	case "SReclaimable":
		return &m.slabReclaimable
	case "SUnreclaim":
		return &m.slabUnreclaimable
	case "KernelStack":
		return &m.kernelStack
	case "PageTables":
		return &m.pageTables
	case "Zswap":
		return &m.zswap
	case "Zswapped":
		return &m.zswapped
	case "SwapTotal":
		return &m.swapTotal
	case "SwapFree":
		return &m.swapFree
	}
	return nil
}

// kilobytes reads "   24684084 kB", in bytes.
func kilobytes(value []byte) *uint64 {
	digits, ok := bytes.CutSuffix(bytes.TrimSpace(value), []byte("kB"))
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 64)
	if err != nil {
		return nil
	}
	return times(&n, 1<<10)
}

// Memory reads /proc/meminfo and /proc/pressure/memory. One that cannot be read
// leaves its own fields absent.
func (l *linux) Memory() (*Memory, error) {
	text, err := l.meminfo.read()
	m := &Memory{}
	if err == nil {
		i := parseMeminfo(text)
		m.Total = i.total
		m.Used = less(i.total, i.available)
		m.App = i.anonymous
		m.Wired = sum(i.unevictable, i.slabUnreclaimable, i.kernelStack, i.pageTables)
		m.Compressed = l.compressed(i)
		m.Cached = less(sum(i.buffers, i.cached, i.slabReclaimable), i.shmem)
		m.Free = i.free
		m.Available = i.available
	}
	psiErr := l.pressure(m)
	if *m == (Memory{}) {
		if err == nil {
			err = errors.New("reading memory: no known line in " + l.meminfo.path)
		}
		return nil, errors.Join(err, psiErr)
	}
	return m, nil
}

// compressed is what zswap occupies. A kernel that could use zswap and does not
// prints 0 for it; that is absent, unless zswap is switched on and empty.
func (l *linux) compressed(i meminfo) *uint64 {
	if i.zswap == nil || *i.zswap > 0 || i.zswapped != nil && *i.zswapped > 0 {
		return i.zswap
	}
	if on, err := l.zswap.read(); err != nil || !bytes.HasPrefix(on, []byte("Y")) {
		return nil
	}
	return i.zswap
}
