package metal

import (
	"math"
	"strings"
)

// allocation reads the pair behind an allocation, allocated and limit in MiB
// whatever unit stands before it: "size = 256.00 MB, (23984.91 / 21845.34)".
func (l *llamaLog) allocation(line string) bool {
	i := strings.LastIndex(line, ", (")
	if i < 0 || !strings.Contains(line, "allocated") {
		return false
	}
	pair, _, closed := strings.Cut(line[i+3:], ")")
	have, limit, ok := strings.Cut(pair, "/")
	h, m := number(have), number(limit)
	if !closed || !ok || h == nil || m == nil {
		return false
	}
	l.Allocated, l.WorkingSetReported = h, m
	l.OverLimit, l.Over = new(*h > *m), nil
	if *h > *m {
		l.Over = rounded(*h-*m, 2)
	}
	// In 2023, when buffers were added so, "MB" was written for MiB.
	l.inMiB = l.inMiB || strings.Contains(line, "ggml_metal_add_buffer")
	return true
}

// cache reads "Metal KV buffer size =     9.00 MiB", of each device and of each
// kind of layer, which add up.
func (l *llamaLog) cache(line string) bool {
	rest, ok := after(line, "KV buffer size")
	rest, assigned := strings.CutPrefix(rest, "=")
	mib := measured(rest, []unit{{"MiB", 1}})
	if !ok || !assigned || mib == nil {
		return false
	}
	sum := *mib
	if l.KV != nil {
		sum += *l.KV
	}
	l.KV = rounded(sum, 2)
	return true
}

// failure reads what the GPU said when it gave up:
//
//	ggml_metal_graph_compute: command buffer 8 failed with status 5
//	error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)
func (l *llamaLog) failure(line string) bool {
	if _, rest, ok := strings.Cut(line, "command buffer "); ok {
		if _, status, ok := strings.Cut(rest, " failed with status "); ok {
			status, _, _ = strings.Cut(status, " ")
			l.Status, l.failed = whole(status), line
			return true
		}
	}
	const name = "kIOGPUCommandBufferCallbackError"
	if i := strings.Index(line, ":"+name); i >= 0 {
		end := strings.IndexAny(line[i+1:], ") ,;")
		if end < 0 {
			return false
		}
		l.ErrorName, l.failed = word(line[i+1:i+1+end]), line
		code := line[:i]
		if open := strings.LastIndexByte(code, '('); open >= 0 {
			l.ErrorCode = hexadecimal(code[open+1:])
		}
		if strings.TrimPrefix(*l.ErrorName, name) == "OutOfMemory" {
			l.oom = line
		}
		return true
	}
	if !allocationFailed(line) {
		return false
	}
	l.oom = line
	return true
}

// allocationFailed tells a buffer that the GPU did not give:
//
//	ggml_backend_metal_buffer_type_alloc_buffer: error: failed to allocate buffer, size = 5119.00 MiB
//	alloc_tensor_range: failed to allocate Metal buffer of size 5367659520
func allocationFailed(line string) bool {
	_, what, ok := strings.Cut(line, "failed to allocate ")
	return ok && (strings.HasPrefix(what, "Metal") || strings.HasPrefix(what, "MTL") ||
		strings.HasPrefix(what, "buffer") && strings.Contains(line, "metal"))
}

// hexadecimal reads "0000000b".
func hexadecimal(s string) *uint64 {
	var n uint64
	if s == "" || len(s) > 16 {
		return nil
	}
	for _, c := range s {
		digit := strings.IndexRune("0123456789abcdef", c)
		if digit < 0 {
			return nil
		}
		n = n<<4 | uint64(digit)
	}
	return &n
}

func (l *llamaLog) derive() {
	if l.KV != nil {
		l.KVBytes = wholeBytes(*l.KV * (1 << 20))
	}
	switch {
	case l.printed > 0 && !l.inMiB && !isDefaultLimit(l.printed):
		l.WorkingSetMB = rounded(l.printed, 2)
		l.WorkingSet = wholeBytes(math.Round(l.printed*100) * 1e4)
	case l.printed > 0:
		l.WorkingSet = wholeBytes(l.printed * (1 << 20))
	case l.WorkingSetReported != nil:
		l.WorkingSet = wholeBytes(*l.WorkingSetReported * (1 << 20))
	}
	if l.WorkingSet == nil {
		return
	}
	mib := float64(*l.WorkingSet) / (1 << 20)
	l.WorkingSetMiB = rounded(mib, 4)
	if ram := ramOfLimit(mib); ram != 0 {
		l.RAM = new(ram << 20)
		l.WorkingSetPercent = share(mib, float64(ram))
	}
}

// defaultLimits are the shares of memory that systems let the GPU have by default,
// by the size of the memory in MiB: macOS up to 15.6 at least, and macOS 26 and 27
// (recommendedMaxWorkingSetSize of many machines). A size that is not listed was
// not seen.
var defaultLimits = []struct {
	ram    uint64
	shares [2]float64
}{
	{8 << 10, [2]float64{2. / 3, .74}}, {16 << 10, [2]float64{2. / 3, .74}}, {18 << 10, [2]float64{2. / 3, .74}},
	{24 << 10, [2]float64{2. / 3, .74}}, {32 << 10, [2]float64{2. / 3, .78}}, {36 << 10, [2]float64{.75, .78}},
	{48 << 10, [2]float64{.75, .78}}, {64 << 10, [2]float64{.75, .81}}, {96 << 10, [2]float64{.75, .75}},
	{128 << 10, [2]float64{.75, .84}},
}

// defaultLimit finds the memory in MiB of which a limit in MiB is the default. The
// system rounds up to a page of 16 KiB and a log to 0.01 MB.
func defaultLimit(mib float64) (ram uint64) {
	for _, d := range defaultLimits {
		for _, s := range d.shares {
			if off := mib - s*float64(d.ram); off > -0.01 && off < 0.03 {
				return d.ram
			}
		}
	}
	return 0
}

// isDefaultLimit tells a log of 2023, when "MB" was written for MiB: as MB no
// default has such a value.
func isDefaultLimit(printed float64) bool { return defaultLimit(printed) != 0 }

// ramOfLimit is the memory in MiB that a limit tells. An override is whole MiB, and
// one of those may happen to be another machine's default.
func ramOfLimit(mib float64) uint64 {
	if math.Abs(mib-math.Round(mib)) < 0.03 {
		return 0
	}
	return defaultLimit(mib)
}
