//go:build race

package monitor_test

// raced tells that the race detector watches.
const raced = true
