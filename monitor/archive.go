package monitor

import "time"

// Archive is what was known before this agent began, and outlives it. Package
// store keeps it on disk. Its methods are called from the tick's goroutine and
// answer from memory.
type Archive interface {
	// SwapDay is the last day on which swap-out was counted, nil when there is none.
	SwapDay() *SwapDay
	// Learn takes in the efficiency of one finished request: measured decode rate ÷
	// what the memory's bandwidth allows, 0 to 1.
	Learn(of EngineModel, at time.Time, efficiency float64)
	// Learned is what is usual for a model under an engine, nil when nothing is known.
	Learned(of EngineModel) *Learned
}

// SwapDay is what was written to swap on one day, as far as it was counted.
type SwapDay struct {
	// Day is its midnight, Since from when on Bytes were counted.
	Day   time.Time
	Since time.Time
	Bytes uint64
	// Counter is the system's count at the time At, in the life of the system that
	// Boot names ("" where systems do not tell).
	Counter uint64
	At      time.Time
	Boot    string
}

// EngineModel is a model as one version of one engine runs it. What is learned of
// one says nothing of another.
type EngineModel struct {
	Digest  string
	Engine  string // the kind of its server, "ollama"
	Version string
}

// Learned is the median of what was learned, the least and the most of it, and
// how many requests are behind it.
type Learned struct {
	Median, Least, Most float64
	Runs                int
}

// LearnedRuns is how many requests must be behind what is learned for it to count.
const LearnedRuns = 3
