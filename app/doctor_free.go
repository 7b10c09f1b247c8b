package main

import (
	"bufio"
	"errors"
	"strconv"
	"strings"
)

// freeText is what Linux's free prints with -b, in bytes.
type freeText struct {
	Total     *uint64 `json:"ram_bytes"`
	Free      *uint64 `json:"free_bytes"`
	Available *uint64 `json:"available_bytes"`
	SwapTotal *uint64 `json:"swap_total_bytes"`
	SwapUsed  *uint64 `json:"swap_used_bytes"`
}

// decodeFree finds the columns by their headings: versions differ in the others.
func decodeFree(text string) (*freeText, error) {
	f := &freeText{}
	var headings []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		cells := strings.Fields(lines.Text())
		switch {
		case len(cells) == 0:
		case cells[0] == "total":
			headings = cells
		case cells[0] == "Mem:":
			f.Total, f.Free, f.Available = column(headings, cells, "total"), column(headings, cells, "free"), column(headings, cells, "available")
		case cells[0] == "Swap:":
			f.SwapTotal, f.SwapUsed = column(headings, cells, "total"), column(headings, cells, "used")
		}
	}
	if f.Total == nil {
		return f, errors.New("reading the output of free: no line of memory")
	}
	return f, nil
}

// column is the number below a heading; rows begin with a name.
func column(headings, cells []string, name string) *uint64 {
	for i, h := range headings {
		if h == name && i+1 < len(cells) {
			if n, err := strconv.ParseUint(cells[i+1], 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

// decodeMeminfo reads /proc/meminfo line by line, on another way than the reader
// that it checks.
func decodeMeminfo(text string) (*freeText, error) {
	values := map[string]*uint64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		cells := strings.Fields(value)
		if len(cells) != 2 || cells[1] != "kB" {
			continue
		}
		if n, err := strconv.ParseUint(cells[0], 10, 54); err == nil {
			values[name] = new(n << 10)
		}
	}
	f := &freeText{Total: values["MemTotal"], Free: values["MemFree"], Available: values["MemAvailable"], SwapTotal: values["SwapTotal"]}
	if total, free := values["SwapTotal"], values["SwapFree"]; total != nil && free != nil && *free <= *total {
		f.SwapUsed = new(*total - *free)
	}
	if f.Total == nil {
		return f, errors.New("reading /proc/meminfo: no line of memory")
	}
	return f, nil
}
