package metal

import "strings"

// VMStat is what the command vm_stat prints. Every field may be absent. Page
// counts are turned into bytes by the page size of the header; names that end in
// Pages and the counters since the start of the system stay counts of pages.
type VMStat struct {
	PageSize    *uint64 `json:"page_size_bytes"`
	Free        *uint64 `json:"free_bytes"` // without speculative pages, unlike free_count of host_statistics64
	Active      *uint64 `json:"active_bytes"`
	Inactive    *uint64 `json:"inactive_bytes"`
	Speculative *uint64 `json:"speculative_bytes"`
	Throttled   *uint64 `json:"throttled_bytes"`
	Wired       *uint64 `json:"wired_bytes"`
	Purgeable   *uint64 `json:"purgeable_bytes"`
	FileBacked  *uint64 `json:"file_backed_bytes"`
	Anonymous   *uint64 `json:"anonymous_bytes"`
	// CompressorStored is the uncompressed size of what the compressor holds,
	// Compressor the memory it takes for that.
	CompressorStored *uint64 `json:"compressor_stored_bytes"`
	Compressor       *uint64 `json:"compressor_bytes"`

	TranslationFaults *uint64 `json:"translation_faults"`
	CopyOnWritePages  *uint64 `json:"copy_on_write_pages"`
	ZeroFilledPages   *uint64 `json:"zero_filled_pages"`
	ReactivatedPages  *uint64 `json:"reactivated_pages"`
	PurgedPages       *uint64 `json:"purged_pages"`
	Decompressions    *uint64 `json:"decompressions"`
	Compressions      *uint64 `json:"compressions"`
	PageIns           *uint64 `json:"pageins"`
	PageOuts          *uint64 `json:"pageouts"`
	SwapIns           *uint64 `json:"swapins"`
	SwapOuts          *uint64 `json:"swapouts"`
}

// Memory is the same account that Reader.Memory gives, without total and
// pressure, which vm_stat does not print.
func (v *VMStat) Memory() *Memory {
	return account(v.Free, v.Speculative, v.Purgeable, v.FileBacked, v.Anonymous, v.Wired, v.Compressor)
}

// vmStatLine is one line of vm_stat: its label, where its value goes, and
// whether the value is an amount of memory.
type vmStatLine struct {
	label  string
	amount bool
	field  func(*VMStat) **uint64
}

// Labels as Apple's vm_stat.c prints them (apple-oss-distributions/system_cmds).
// M5 and later print more lines in the middle; they are passed over.
var vmStatLines = []vmStatLine{
	{"Pages free", true, func(v *VMStat) **uint64 { return &v.Free }},
	{"Pages active", true, func(v *VMStat) **uint64 { return &v.Active }},
	{"Pages inactive", true, func(v *VMStat) **uint64 { return &v.Inactive }},
	{"Pages speculative", true, func(v *VMStat) **uint64 { return &v.Speculative }},
	{"Pages throttled", true, func(v *VMStat) **uint64 { return &v.Throttled }},
	{"Pages wired down", true, func(v *VMStat) **uint64 { return &v.Wired }},
	{"Pages purgeable", true, func(v *VMStat) **uint64 { return &v.Purgeable }},
	{"File-backed pages", true, func(v *VMStat) **uint64 { return &v.FileBacked }},
	{"Anonymous pages", true, func(v *VMStat) **uint64 { return &v.Anonymous }},
	{"Pages stored in compressor", true, func(v *VMStat) **uint64 { return &v.CompressorStored }},
	{"Pages occupied by compressor", true, func(v *VMStat) **uint64 { return &v.Compressor }},
	{"Translation faults", false, func(v *VMStat) **uint64 { return &v.TranslationFaults }},
	{"Pages copy-on-write", false, func(v *VMStat) **uint64 { return &v.CopyOnWritePages }},
	{"Pages zero filled", false, func(v *VMStat) **uint64 { return &v.ZeroFilledPages }},
	{"Pages reactivated", false, func(v *VMStat) **uint64 { return &v.ReactivatedPages }},
	{"Pages purged", false, func(v *VMStat) **uint64 { return &v.PurgedPages }},
	{"Decompressions", false, func(v *VMStat) **uint64 { return &v.Decompressions }},
	{"Compressions", false, func(v *VMStat) **uint64 { return &v.Compressions }},
	{"Pageins", false, func(v *VMStat) **uint64 { return &v.PageIns }},
	{"Pageouts", false, func(v *VMStat) **uint64 { return &v.PageOuts }},
	{"Swapins", false, func(v *VMStat) **uint64 { return &v.SwapIns }},
	{"Swapouts", false, func(v *VMStat) **uint64 { return &v.SwapOuts }},
}

// vmStatLast is the label of the last line; a text without it was cut.
const vmStatLast = "Swapouts"

// ParseVMStat decodes the output of vm_stat without arguments. With an error
// (a *TextError) it returns what it could read as well: without a page size the
// counters, of a cut text the lines before the cut.
func ParseVMStat(text string) (*VMStat, error) {
	v := &VMStat{PageSize: vmStatPageSize(text)}
	known := false
	for line := range strings.Lines(text) {
		label, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		l := findVMStatLine(strings.Trim(label, `"`))
		if l == nil {
			continue
		}
		known = true
		// A number without its full stop was cut: "1364" of "1364873." is no value.
		digits, finished := strings.CutSuffix(strings.TrimSpace(value), ".")
		n := whole(digits)
		switch {
		case !finished || n == nil:
		case !l.amount:
			*l.field(v) = n
		case v.PageSize != nil:
			*l.field(v) = times(n, *v.PageSize)
		}
	}
	return v, vmStatFault(v, known, text)
}

func vmStatFault(v *VMStat, known bool, text string) error {
	switch {
	case v.PageSize == nil && known:
		return &TextError{PageSizeMissing, "vm_stat", ""}
	case !known && v.PageSize == nil && strings.TrimSpace(text) != "":
		return &TextError{LabelsNotRecognised, "vm_stat", lastLine(text)}
	case v.SwapOuts == nil:
		return &TextError{Truncated, "vm_stat", "no " + vmStatLast}
	}
	return nil
}

func findVMStatLine(label string) *vmStatLine {
	for i := range vmStatLines {
		if vmStatLines[i].label == label {
			return &vmStatLines[i]
		}
	}
	return nil
}

// vmStatPageSize finds "(page size of 16384 bytes)".
func vmStatPageSize(text string) *uint64 {
	_, after, ok := strings.Cut(text, "page size of ")
	if !ok {
		return nil
	}
	digits, _, ok := strings.Cut(after, " bytes")
	if !ok {
		return nil
	}
	return pageSize(whole(digits))
}

// pageSize lets through what can be the size of a page: a power of two between
// 4 KiB (Intel) and 64 KiB; Apple Silicon has 16 KiB.
func pageSize(n *uint64) *uint64 {
	if n == nil || *n < 4<<10 || *n > 64<<10 || *n&(*n-1) != 0 {
		return nil
	}
	return n
}
