package backend

import "plimsoll/monitor/backend/serverlog"

// LogTeller is a Backend that may follow its server's log.
type LogTeller interface {
	// Log is nil where there is none to follow.
	Log() *serverlog.Follower
}

// WithLog follows a log beside the server, if that is on this machine: at every
// Poll what is new in it is read. The backend closes it.
func WithLog(log *serverlog.Follower) Option { return func(w *watching) { w.log = log } }

// Log implements LogTeller.
func (o *ollama) Log() *serverlog.Follower { return o.log }

// followLog reads what is new in the log.
func (o *ollama) followLog() {
	if o.log != nil {
		o.log.Poll(o.now())
	}
}

// Log implements LogTeller where the server does.
func (d *detected) Log() *serverlog.Follower {
	if t, ok := d.now().(LogTeller); ok {
		return t.Log()
	}
	return nil
}
