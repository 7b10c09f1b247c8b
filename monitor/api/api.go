// Package api is the local API: the agent's snapshots, commands and settings
// for its own windows, terminals and scripts, over a Unix socket that only its
// user can open.
//
//	GET  /v1/health     Health
//	GET  /v1/updates    one monitor.Update a line, until the client leaves;
//	                    ?watch=1 asks for what costs more (consumers) while it lasts,
//	                    ?lossless=1 for every update, with a gap event where some are missing
//	GET  /v1/models     []backend.Model, what is on disk
//	GET  /v1/builds     []monitor.Build, how those are built, as far as it is known
//	GET  /v1/plans      []monitor.Plan, a short one of each, those first that fit
//	POST /v1/plan       monitor.PlanRequest → monitor.Plan: what one comes to here
//	POST /v1/command    monitor.Command
//	POST /v1/advice     monitor.Task → monitor.Advice: here or in the cloud
//	GET  /v1/settings   Settings
//	PUT  /v1/settings   Settings
//	POST /v1/requests   request.Request, one a line, from a meter for as long as it runs
//	POST /v1/window     opens the window, {"page": "settings"} or empty
//
// An error is a JSON object {"error": text, "code": code} under a 4xx or 5xx status.
package api

import (
	"context"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// Agent is what a server serves. Its methods may be called from any goroutine.
type Agent interface {
	// Subscribe hands out a mailbox; see monitor.Options.
	Subscribe(monitor.Options) *monitor.Mailbox
	// Do carries out a command; see monitor.Monitor.Do.
	Do(context.Context, monitor.Command) error
	// Models lists what the backends have on disk.
	Models() []backend.Model
	// Builds tells how those are built whose servers have told, for planning them.
	Builds() []monitor.Build
	// Plan says what a model on disk comes to, Plans a little of each; see
	// monitor.Monitor.
	Plan(context.Context, monitor.PlanRequest) (monitor.Plan, error)
	Plans() []monitor.Plan
	// Advise says where a task belongs; see monitor.Advise.
	Advise(monitor.Task) monitor.Advice
	Settings() Settings
	// SetSettings checks and stores settings, and puts them in force.
	SetSettings(Settings) error
	// Observe takes what a meter says of a request; see monitor.Monitor.Observe.
	Observe(request.Request)
	// OpenWindow shows the window on a page ("", "planner", "limit" or "settings").
	OpenWindow(page string) error
}

// Settings are a person's choices. The zero value is the default of each.
type Settings struct {
	// Language is "en", "zh" or "" (the system's).
	Language string `json:"language,omitzero"`
	// Server is the model server's address in any form OLLAMA_HOST may have;
	// "" means OLLAMA_HOST or the default address.
	Server string `json:"server,omitzero"`
	// Log is the file of the model server's log, an absolute path; "" means the usual
	// places and LogOff none.
	Log string `json:"log,omitzero"`
	// Quiet turns notifications off. Alerts still show in the tray and window.
	Quiet bool `json:"quiet,omitzero"`
	// HotCelsius is the temperature of the GPU from which on it is an alert, from
	// monitor.HotLeast to monitor.HotMost. Absent: none on temperature alone.
	HotCelsius *float64 `json:"hot_celsius,omitempty"`
}

// LogOff as Settings.Log keeps the model server's log unread.
const LogOff = "off"

// Same reports that two settings are the same choices.
func (s Settings) Same(o Settings) bool {
	if (s.HotCelsius == nil) != (o.HotCelsius == nil) || s.HotCelsius != nil && *s.HotCelsius != *o.HotCelsius {
		return false
	}
	s.HotCelsius, o.HotCelsius = nil, nil
	return s == o
}

// Health is the agent itself.
type Health struct {
	Version   string  `json:"version"`
	PID       int     `json:"pid"`
	Uptime    float64 `json:"uptime_seconds"`
	Simulated bool    `json:"simulated,omitzero"`
	// Tray says whether the agent shows a tray icon now.
	Tray bool `json:"tray,omitzero"`
}
