package main

import (
	"fmt"
	"io"
)

// report is the rows of one measurement.
type report []result

// result is one number beside its bound.
type result struct {
	what  string
	value float64
	most  float64 // the bound; more is too much
	unit  string
}

func (r result) good() bool { return r.value <= r.most }

func (r report) good() bool {
	for _, row := range r {
		if !row.good() {
			return false
		}
	}
	return true
}

func (r report) print(w io.Writer) {
	for _, row := range r {
		verdict := "ok"
		if !row.good() {
			verdict = "TOO MUCH"
		}
		fmt.Fprintf(w, "%-34s %8.3f %-12s at most %g   %s\n", row.what, row.value, row.unit, row.most, verdict)
	}
}
