package backend

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Row is one line of what "ollama ps" prints.
type Row struct {
	Model string `json:"name"`
	// ID is the beginning of the digest.
	ID string `json:"id"`
	// Size is in GB (10^9), as rounded as it is printed.
	Size float64 `json:"size_gb"`
	// GPU is the share on the GPU in percent.
	GPU *float64 `json:"gpu_percent,omitempty"`
	// Context is absent before v0.10.
	Context *int `json:"context_length,omitempty"`
	// Until is the expiry in Ollama's words: "4 minutes from now".
	Until    string `json:"until"`
	Pinned   bool   `json:"keep_forever"`
	Stopping bool   `json:"stopping"`
}

// columns are parted by a tab or by two blanks; within one there is one blank.
var columns = regexp.MustCompile(`\s*\t\s*|\s{2,}`)

// DecodeTable reads what "ollama ps" prints, with or without its header line, of
// versions with a context column and without.
func DecodeTable(text string) ([]Row, error) {
	rows := []Row{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "NAME") {
			continue
		}
		row, err := decodeRow(columns.Split(line, -1))
		if err != nil {
			return nil, fmt.Errorf("reading a line of ollama ps: %w", err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func decodeRow(cells []string) (Row, error) {
	if len(cells) != 5 && len(cells) != 6 {
		return Row{}, fmt.Errorf("%d columns, not 5 or 6", len(cells))
	}
	row := Row{Model: cells[0], ID: cells[1], Until: cells[len(cells)-1]}
	row.Pinned, row.Stopping = row.Until == "Forever", strings.HasPrefix(row.Until, "Stopping")
	var unit string
	if _, err := fmt.Sscanf(cells[2], "%g %s", &row.Size, &unit); err != nil {
		return Row{}, fmt.Errorf("size %q: %w", cells[2], err)
	}
	scale, ok := map[string]float64{"B": 1e-9, "KB": 1e-6, "kB": 1e-6, "MB": 1e-3, "GB": 1, "TB": 1e3}[unit]
	if !ok {
		return Row{}, fmt.Errorf("size %q: unknown unit", cells[2])
	}
	row.Size *= scale
	row.GPU = gpuShare(cells[3])
	if len(cells) == 6 {
		n, err := strconv.Atoi(cells[4])
		if err != nil {
			return Row{}, fmt.Errorf("context %q: %w", cells[4], err)
		}
		row.Context = &n
	}
	return row, nil
}

// gpuShare reads "100% GPU", "100% CPU" and "48%/52% CPU/GPU". Anything else, as
// Ollama prints "Unknown" for a size of 0, is absent.
func gpuShare(s string) *float64 {
	percents, places, _ := strings.Cut(s, " ")
	shares := strings.Split(percents, "/")
	for i, place := range strings.Split(places, "/") {
		if place != "GPU" && places != "CPU" || i >= len(shares) {
			continue
		}
		share, err := strconv.ParseFloat(strings.TrimSuffix(shares[i], "%"), 64)
		if err != nil {
			return nil
		}
		if places == "CPU" {
			share = 100 - share
		}
		return &share
	}
	return nil
}
