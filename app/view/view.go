// Package view turns an Update into words. Every word, unit and colour level
// that a person sees is decided here, in every language, without a toolkit; the
// tray, the window and the terminal only lay it out. Render is pure and total:
// the same Update gives the same View, and none makes it fail.
package view

import (
	"plimsoll/monitor"
)

// Level is how a thing stands. Screens show it by shape and colour, never by
// colour alone.
type Level int

// The levels, mildest first. Unknown is grey: there is no number, and it is
// never an alarm.
const (
	Unknown Level = iota
	Normal
	Warning
	Critical
)

// View is all that a screen shows.
type View struct {
	// Language is "en" or "zh": what the words here are in. What a screen says
	// besides them follows it.
	Language string
	// Demo is the mark of the simulator, "" on a real machine. Every screen
	// shows it.
	Demo string
	// Icon is the state of the tray's icon.
	Icon Icon
	// Title is the text beside the icon on macOS, of fixed width (figure
	// spaces). Never empty together with a hidden icon.
	Title string
	// Badge is the short number drawn into the icon on Linux: headroom in whole
	// GiB, "14"; "" when it is unknown.
	Badge string
	// Tooltip is one line for the icon.
	Tooltip string

	// Line is the headline: what the next model may take, and why no more.
	Line Row
	// Largest names the biggest model on disk that could be loaded now.
	Largest Row
	// Machine says chip, memory and system.
	Machine  Row
	Memory   Row
	Pressure Row
	Swap     Row
	// Heat is shown when anything about heat is known.
	Heat Row
	// Throttle is shown while the GPU is slowed; its label says by what.
	Throttle Row
	// Diagnosis is one sentence on how fast a model runs and why; its detail ends
	// with what to do. DiagnosisAction is the click that helps, nil for none.
	Diagnosis       Row
	DiagnosisAction *Action
	GPU             Row
	// Background are the system's own programs that work while models are slow.
	Background Row
	// Consumers are the biggest other memory users, at most three.
	Consumers []Row

	// Limit is the GPU's wired limit. nil where the system has none to adjust.
	Limit *Limit

	Bar     Bar
	Servers []Server
	Models  []Model
	// Speed is the request that matters now: the one in flight, or the last.
	Speed Row
	// Requests are those in flight, oldest first, then the recent ones, newest first.
	Requests []Request
	// UnloadAll is there while two models or more could be unloaded.
	UnloadAll *Action
	Alerts    []Alert
	// Recent are the last events worth a line, newest first.
	Recent []Row
	// Stale says that no update came for a while, "" otherwise.
	Stale string
}

// Icon is the picture in the tray.
type Icon int

// The icons differ by shape.
const (
	IconNormal Icon = iota
	IconWarning
	IconCritical
	IconNoServer
)

// Row is one fact. A row whose Text is "" is not known and is not shown.
type Row struct {
	// Label names the fact, "Swap"; Text is its value, "1.2 of 4.0 GiB".
	Label string
	Text  string
	// Detail is a longer explanation or the source and age, for hovering.
	Detail string
	Level  Level
	// Share is 0 to 1 where the fact is a part of a whole, else −1.
	Share float64
}

// Bar is the memory bar. Its segments add up to Total.
type Bar struct {
	Total    uint64 // bytes; 0 hides the bar
	Segments []Segment
	// Marks are lines across the bar: where the GPU limit stands.
	Marks []Mark
}

// Segment is a part of the bar.
type Segment struct {
	Kind  SegmentKind
	Label string
	Text  string
	Bytes uint64
}

// SegmentKind tells a segment's colour.
type SegmentKind string

// The segments, from the left.
const (
	SegmentWired      SegmentKind = "wired"
	SegmentApp        SegmentKind = "app"
	SegmentCompressed SegmentKind = "compressed"
	SegmentCached     SegmentKind = "cached"
	SegmentFree       SegmentKind = "free"
)

// Mark is a line across the bar.
type Mark struct {
	Label string
	At    uint64 // bytes from the left
	// Minor is a tick: thinner, and named in the legend alone.
	Minor bool
}

// Server is one model server.
type Server struct {
	Name  string
	Text  string // "running · 0.17.4"
	Next  string // what to do, "" while all is well
	Level Level
	Row   Row
}

// Model is one resident model.
type Model struct {
	// Key is stable while the model stays: backend and model.
	Key   string
	Name  string
	Text  string // "14.8B Q4_K_M · 9.3 GiB · GPU 100 % · 8K · in 4 min"
	State string // "in 4 min", "pinned", "busy", "stopping", "stuck", "cloud"
	// Detail has the long form, one fact a line.
	Detail string
	Level  Level
	Bytes  uint64 // 0 when unknown or in the cloud
	// Actions are what a click may do, in order. Empty for cloud models.
	Actions []Action
}

// Action is a button or menu row that sends a command.
type Action struct {
	Label   string
	Command monitor.Command
	// Enabled is false while the command would make no sense (already unloading).
	Enabled bool
}

// Alert is a standing alert.
type Alert struct {
	ID       string
	Title    string
	Text     string
	Severity monitor.Severity
	Level    Level
	Action   *Action
}

// Notice is what is announced once, by notification.
type Notice struct {
	// ID is the alert's: a later notice of the same ID replaces this one.
	ID       string
	Title    string
	Text     string
	Severity monitor.Severity
	// Action is at most one button.
	Action *Action
	// Withdraw takes an earlier notice of this ID back and shows nothing.
	Withdraw bool
}
