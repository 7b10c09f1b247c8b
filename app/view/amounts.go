package view

import "time"

// Size is an amount of memory or of a file in words, "9.3 GiB".
func (r *Renderer) Size(bytes uint64) string { return size(bytes) }

// Duration is a time in words, "1 h 30 min".
func (r *Renderer) Duration(d time.Duration) string { return r.duration(d) }

// Count is a number of things with its digits in groups, "131,072".
func (r *Renderer) Count(n int) string { return grouped(n) }
