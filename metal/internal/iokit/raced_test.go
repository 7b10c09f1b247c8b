//go:build race

package iokit_test

// raced tells that the race detector is on; it makes pools forget at random.
const raced = true
