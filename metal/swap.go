package metal

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SwapUsage is the value of vm.swapusage. Every field may be absent; a Mac that
// has never swapped tells zeros, which are values.
type SwapUsage struct {
	Total *uint64 `json:"swap_total_bytes"`
	Used  *uint64 `json:"swap_used_bytes"`
	Free  *uint64 `json:"swap_free_bytes"`
	// Encrypted says whether the value is marked as encrypted.
	Encrypted *bool `json:"swap_encrypted_marker"`
}

// swapUsageBytes is the size of struct xsw_usage: total, avail, used (u_int64_t),
// pagesize (u_int32_t), encrypted (boolean_t). XNU, bsd/sys/sysctl.h.
const swapUsageBytes = 32

// decodeSwapUsage decodes the bytes of sysctl vm.swapusage, struct xsw_usage.
// They do not depend on the locale, as its text does.
func decodeSwapUsage(b []byte) (*SwapUsage, error) {
	if len(b) < swapUsageBytes {
		return nil, fmt.Errorf("decoding vm.swapusage: %d bytes instead of %d", len(b), swapUsageBytes)
	}
	return &SwapUsage{
		Total:     new(binary.LittleEndian.Uint64(b[0:])),
		Free:      new(binary.LittleEndian.Uint64(b[8:])),
		Used:      new(binary.LittleEndian.Uint64(b[16:])),
		Encrypted: new(binary.LittleEndian.Uint32(b[28:]) != 0),
	}, nil
}

// ParseSwapUsage decodes what sysctl prints for vm.swapusage,
//
//	total = 13312.00M  used = 11625.69M  free = 1686.31M  (encrypted)
//
// with or without the name before it, with a point or, as the locale has it, a
// comma. With an error (a *TextError) it returns what it could read as well.
func ParseSwapUsage(text string) (*SwapUsage, error) {
	s := &SwapUsage{}
	line := strings.TrimSpace(text)
	parts := []struct {
		label string
		field **uint64
	}{{"total", &s.Total}, {"used", &s.Used}, {"free", &s.Free}}
	known, cut := false, false
	for _, p := range parts {
		_, after, ok := strings.Cut(line, p.label+" = ")
		if !ok {
			cut = true
			continue
		}
		known = true
		word, _, _ := strings.Cut(after, " ")
		*p.field = mebibytes(strings.TrimSpace(word))
		cut = cut || *p.field == nil
	}
	switch {
	case !known && line != "":
		return s, &TextError{LabelsNotRecognised, "sysctl", lastLine(line)}
	case cut || !known:
		return s, &TextError{Truncated, "sysctl", lastLine(line)}
	}
	s.Encrypted = new(strings.Contains(line, "(encrypted)"))
	return s, nil
}

// mebibytes turns "11625.69M" or "7742,00M" into bytes, rounded. Without its M
// the number was cut. (sysctl.c prints "%.2fM", the value ÷ 1048576, whatever
// the size; the sign of the decimals is the locale's.)
func mebibytes(s string) *uint64 {
	digits, ok := strings.CutSuffix(s, "M")
	if !ok || strings.Trim(digits, "0123456789.,") != "" {
		return nil
	}
	f, err := strconv.ParseFloat(strings.Replace(digits, ",", ".", 1), 64)
	if err != nil || f >= math.MaxUint64>>20 {
		return nil
	}
	return new(uint64(math.Round(f * (1 << 20))))
}
