//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinux = errors.New("measured on Linux only")

func processor(int) (time.Duration, error) { return 0, errLinux }
func resident(int) (float64, error)        { return 0, errLinux }
func childCount(int) (int, error)          { return 0, errLinux }
func openFiles(int) (int, error)           { return 0, errLinux }
