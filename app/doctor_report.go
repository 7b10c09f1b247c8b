package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// examination is what came of it, as --json prints it.
type examination struct {
	System    string       `json:"system,omitzero"`
	Taken     time.Time    `json:"taken"`
	Facts     []finding    `json:"facts"`
	Tools     []toolRun    `json:"tools,omitempty"`
	Servers   []serverLine `json:"servers,omitempty"`
	Agent     *agentLine   `json:"agent,omitempty"`
	Absent    int          `json:"absent"`
	Differing int          `json:"differing"`
}

// The verdicts on a fact.
const (
	verdictOK      = "ok"
	verdictAbsent  = "absent"
	verdictDiffers = "differs"
)

// finding is one fact with the verdict on it.
type finding struct {
	Name string `json:"name"`
	// Value is in the unit of the name; absent is no value.
	Value   any      `json:"value,omitempty"`
	Source  string   `json:"source,omitzero"`
	Cost    *float64 `json:"cost_us,omitempty"`
	Verdict string   `json:"verdict"`
	// Reason is why it is absent: unsupported, not_permitted, silent or failed, and
	// Detail the error.
	Reason string  `json:"reason,omitzero"`
	Detail string  `json:"detail,omitzero"`
	Checks []check `json:"checks,omitempty"`
}

// toolRun is a tool that was run.
type toolRun struct {
	Name  string  `json:"name"`
	Took  float64 `json:"took_ms"`
	Error string  `json:"error,omitzero"`
}

type serverLine struct {
	backend.Status
	text, next string
}

type agentLine struct {
	Socket  string  `json:"socket"`
	State   string  `json:"state"` // running, none or failed
	Version string  `json:"version,omitzero"`
	PID     int     `json:"pid,omitzero"`
	Uptime  float64 `json:"uptime_seconds,omitzero"`
	Detail  string  `json:"detail,omitzero"`
}

// judge holds what was read against what the tools said.
func (p *program) judge(c *metal.Recording, outputs []printed) *examination {
	e := &examination{System: c.System, Taken: c.Taken, Facts: []finding{}}
	earlier, ram := map[string]any{}, 0.0
	for _, f := range c.Earlier() {
		earlier[f.Name] = f.Value
	}
	facts := c.Facts()
	for _, f := range facts {
		if n, ok := plain(f.Value).(float64); ok && f.Name == "machine.ram_bytes" {
			ram = n
		}
	}
	for _, f := range facts {
		g := finding{Name: f.Name, Value: f.Value, Source: f.Source, Verdict: verdictOK}
		if f.Measured {
			g.Cost = new(float64(f.Cost.Nanoseconds()) / 1e3)
		}
		if f.Name == "machine.boot_id" && f.Value != nil {
			g.Value = true // it identifies the machine, and people show this to others
		}
		if f.Value == nil {
			g.Verdict, g.Reason = verdictAbsent, reasonOf(f.Err)
			if f.Err != nil {
				g.Detail = f.Err.Error()
			}
		}
		g.Checks = checks(f.Name, f.Value, earlier[f.Name], ram, outputs)
		for _, k := range g.Checks {
			if k.Differs {
				g.Verdict = verdictDiffers
			}
		}
		switch g.Verdict {
		case verdictAbsent:
			e.Absent++
		case verdictDiffers:
			e.Differing++
		}
		e.Facts = append(e.Facts, g)
	}
	for _, o := range outputs {
		r := toolRun{Name: o.tool, Took: float64(o.took.Microseconds()) / 1e3}
		if o.err != nil {
			r.Error = o.err.Error()
		}
		e.Tools = append(e.Tools, r)
	}
	return e
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, metal.ErrSilent):
		return "silent"
	case errors.Is(err, metal.ErrNotPermitted):
		return "not_permitted"
	case errors.Is(err, metal.ErrUnsupported):
		return "unsupported"
	}
	return "failed"
}

// surroundings are who else there is: model servers and the agent.
type surroundings struct {
	servers []serverLine
	agent   *agentLine
}

// lookAround asks the model server and the agent, while the machine is read.
func (d *doctor) lookAround(ctx context.Context) <-chan surroundings {
	found := make(chan surroundings, 1)
	go func() {
		var s surroundings
		ctx, cancel := context.WithTimeout(ctx, helloPatience)
		defer cancel()
		s.agent = d.askAgent(ctx)
		if b, err := d.server(d.storedSettings()); err == nil {
			s.servers = d.serverLines(b.Poll(ctx).Status)
		}
		found <- s
	}()
	return found
}

// serverLines says of a server what the screens say.
func (p *program) serverLines(statuses ...backend.Status) []serverLine {
	u := monitor.Update{Snapshot: &monitor.Snapshot{Taken: p.clock.Now(), Backends: statuses}}
	var lines []serverLine
	for i, s := range p.words.Render(u, p.clock.Now()).Servers {
		lines = append(lines, serverLine{Status: statuses[i], text: s.Name + ": " + s.Text, next: s.Next})
	}
	return lines
}

func (d *doctor) askAgent(ctx context.Context) *agentLine {
	path, _, err := d.socket()
	if err != nil {
		return &agentLine{Socket: path, State: "failed", Detail: d.words.Error(err)}
	}
	a := &agentLine{Socket: path, State: "running"}
	switch h, err := api.Dial(path).Health(ctx); {
	case err == nil:
		a.Version, a.PID, a.Uptime = h.Version, h.PID, h.Uptime
	case errors.Is(err, api.ErrNoAgent):
		a.State = "none"
	default:
		a.State, a.Detail = "failed", d.words.Error(err)
	}
	return a
}

// writeJSON prints one object on one line.
func (e *examination) writeJSON(to io.Writer) error { return json.NewEncoder(to).Encode(e) }

// printExamination prints a table for people, and below it what is not a row.
func (p *program) printExamination(e *examination) error {
	page := p.page()
	page.Width = 0 // nothing is cut: who asks for this wants all of it
	rows := [][]string{{"", p.words.Text("doctor.column.fact"), p.words.Text("doctor.column.value"), p.words.Text("doctor.column.cost"),
		p.words.Text("doctor.column.source"), p.words.Text("doctor.column.checked")}}
	for _, f := range e.Facts {
		rows = append(rows, p.factRow(f))
	}
	var b strings.Builder
	b.WriteString(page.Table(rows))
	line := func(id string, args view.Args) { b.WriteString(p.words.Text(id, args) + "\n") }
	b.WriteString("\n")
	for _, f := range e.Facts {
		for _, k := range f.Checks {
			if k.Differs {
				line("doctor.differs", view.Args{"Fact": shortName(f.Name), "Value": p.factValue(f), "Tool": k.Tool,
					"Says": p.amount(f.Name, k.Says), "Allowed": p.words.Text("doctor.allowed." + string(k.Allowed))})
			}
		}
	}
	for _, t := range e.Tools {
		if t.Error != "" {
			line("doctor.tool_failed", view.Args{"Tool": t.Name, "Reason": t.Error})
		}
	}
	for _, s := range e.Servers {
		line("doctor.server", view.Args{"Text": s.text, "Next": s.next})
	}
	if a := e.Agent; a != nil {
		line("doctor.agent."+a.State, view.Args{"Socket": a.Socket, "Version": a.Version, "PID": a.PID, "Detail": a.Detail,
			"Uptime": p.words.Duration(time.Duration(a.Uptime * float64(time.Second)))})
	}
	line("doctor.summary", view.Args{"Facts": len(e.Facts), "Absent": e.Absent, "Differing": e.Differing})
	_, err := io.WriteString(p.out, b.String())
	return err
}
