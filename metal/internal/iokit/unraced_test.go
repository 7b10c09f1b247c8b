//go:build !race

package iokit_test

const raced = false
