package wired

import (
	"errors"
	"time"
)

// survived is how long the system has to stay up with a limit that was applied at
// its start before the start counts as good.
const survived = 10 * time.Minute

// Tick does what is due; the first one in a boot session applies the remembered
// limit. It is called when the server starts, and every second while it says that
// a lease or a start is open: the server must not end meanwhile.
func (s *Server) Tick() (open bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.begin()
	if t == nil {
		return false, err
	}
	return t.rec.Lease != nil || t.rec.Pending != nil || s.trial != nil, err
}

// boot deals with the start of the system. Whatever was on trial ended with the
// session before. The remembered limit is applied, marked as pending: if that
// mark is found at the next start, this one froze.
func (t *change) boot() error {
	last := t.rec
	t.rec = record{Remembered: last.Remembered, Refused: t.refusal(last)}
	switch {
	case last.Format == 0:
		return nil // no file, nothing to note
	case t.rec.Refused != "":
		return errors.Join(t.save(), t.audit("start: %d MiB not applied: %s", t.rec.Remembered.Value, t.rec.Refused))
	case t.rec.Remembered == nil || t.set != 0: // somebody else has set a limit
		return t.save()
	}
	limit := t.rec.Remembered.Value
	if err := t.audit("start: %d MiB applied", limit); err != nil {
		return err
	}
	t.rec.Pending = new(t.now)
	if err := t.save(); err != nil {
		return err
	}
	err := t.write(limit)
	if err == nil {
		return nil
	}
	if t.set != 0 {
		err = errors.Join(err, t.write(0))
	}
	t.rec.Pending = nil
	return errors.Join(err, t.save(), t.audit("start: %d MiB not applied: %v", limit, err))
}

// refusal says why the remembered limit is not applied, "" if it is. After a
// start that froze it is not, until a person sets a limit again.
func (t *change) refusal(last record) string {
	switch r := last.Remembered; {
	case r == nil:
		return ""
	case last.Pending != nil, last.Refused == RefusedPending:
		return RefusedPending
	case r.RAM != t.ram:
		return RefusedRAM
	case t.bounds().Check(r.Value) != nil:
		return RefusedBounds
	}
	return ""
}
