package serverlog

import (
	"time"

	"plimsoll/monitor/request"
)

// causeReread marks the event of the line that told Work.Reread.
const causeReread = "reread"

// Line is the event in the words of package request, for a request's Tracker; false
// for what is about no request. backend is the server's name among the monitor's.
func (e *Event) Line(backend string) (request.Line, bool) {
	l := request.Line{Backend: backend, Model: e.Model, At: e.Time}
	switch e.Kind {
	case Loading, Loaded:
		l.Kind = request.LineLoading
		if e.Kind == Loaded {
			l.Kind = request.LineLoaded
		}
		l.Model = e.Load.Name()
	case Truncated:
		l.Kind, l.PromptTokens, l.ReadTokens = request.LineTruncated, new(e.Cut.Prompt), new(e.Cut.New)
	case Answered:
		if !e.Answer.generates() {
			return l, false
		}
		l.Kind, l.Path, l.Status, l.Total = request.LineReply, e.Answer.Path, e.Answer.Status, new(e.Answer.Duration)
	case LoadFailed:
		l.Kind, l.Model, l.Error = request.LineFailed, e.Load.Name(), "loading the model failed"
	case Worked:
		e.Work.fill(&l, e.Cause == causeReread)
	default:
		return l, false
	}
	return l, true
}

// Name is the model's name, else its file's, which for Ollama is its digest.
func (l *Load) Name() string {
	if l.Model != "" {
		return l.Model
	}
	_, name, _ := cutLast(l.Weights, "/")
	return name
}

// fill puts what a runner told into a line of its kind.
func (w *Work) fill(l *request.Line, reread bool) {
	l.Task, l.Derived = new(w.Task), w.Engine == engineMLX
	if w.Engine != engineMLX {
		l.Slot = new(w.Slot)
	}
	l.PromptTokens, l.CachedTokens, l.ReadTokens, l.OutputTokens = w.Prompt, w.Cached, w.Read, w.Output
	l.PromptTime, l.DecodeTime, l.Total = duration(w.ReadSeconds), duration(w.OutputSeconds), duration(w.Seconds)
	switch {
	case reread:
		l.Kind = request.LineReread
	case w.Done:
		l.Kind = request.LineTimings
	case w.Output != nil:
		l.Kind = request.LineDecode
	default:
		l.Kind = request.LinePrompt
	}
}

func duration(seconds *float64) *time.Duration {
	if seconds == nil {
		return nil
	}
	return new(time.Duration(*seconds * float64(time.Second)))
}
