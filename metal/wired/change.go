package wired

import (
	"errors"
	"fmt"
	"time"
)

// change is one look at the machine and the record, and what is done about it,
// while the Server is locked.
//
// A crash may come between any two writes. What raises the limit is therefore
// written to the record before it is done, and what lowers it after: whatever is
// cut off, either nothing is on trial or a lease for it stands in the record.
type change struct {
	server  *Server
	key     Key
	set     MiB // the limit that is set now
	ram     uint64
	session string
	now     time.Duration
	rec     record
	lost    bool // the record could not be read
}

// begin looks and settles what is due: the start of the system, an expired lease,
// a start that was survived. The change is nil where there is no limit to be set;
// beside an error it serves a reset alone.
func (s *Server) begin() (*change, error) {
	key, set, err := find(s.system)
	if err != nil {
		return nil, err
	}
	t := &change{server: s, key: key, set: set, lost: true}
	if t.ram, err = s.system.RAM(); err != nil {
		return t, fmt.Errorf("reading the memory's size: %w", err)
	}
	if t.session, err = s.system.BootSession(); err == nil && t.session == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return t, fmt.Errorf("reading the boot session: %w", err)
	}
	if t.now, err = s.system.Continuous(); err != nil {
		return t, fmt.Errorf("reading the time: %w", err)
	}
	rec, err := load(s.system.Files())
	if trial := s.trial; trial != nil && (err != nil || rec.Lease == nil) {
		// The lease has gone from the record, which nobody but root can do: what
		// it was for goes too.
		if failed := t.back(*trial); failed != nil {
			return t, errors.Join(err, failed) // and is tried again
		}
	}
	if s.trial = rec.Lease; err != nil {
		return t, err
	}
	t.rec, t.lost = rec, false
	return t, t.settle()
}

// settle does what is due.
func (t *change) settle() error {
	if t.rec.Boot != t.session {
		return t.boot()
	}
	var err error
	if l := t.rec.Lease; l != nil && (l.Deadline <= t.now || l.Deadline-t.now > LeaseMost) {
		if err = t.back(*l); err == nil {
			t.rec.Lease = nil
			err = t.save()
		}
		if err != nil {
			t.rec.Lease = l // still to be done
		}
	}
	if p := t.rec.Pending; p != nil && t.now-*p >= survived {
		t.rec.Pending = nil
		err = errors.Join(err, t.save())
	}
	return err
}

// setLimit raises or lowers the limit. While a lease is open, what counts as raising is
// measured from the limit before it, which also stays the one that comes back.
func (t *change) setLimit(r request, peer int) error {
	if err := t.bounds().Check(r.limit); err != nil {
		return err
	}
	base := t.set
	if t.rec.Lease != nil {
		base = t.rec.Lease.Previous
	}
	switch {
	case r.limit < base, r.limit == base && t.rec.Lease != nil:
		return t.lower(r.limit, base, peer)
	case r.limit == base && t.rec.Remembered != nil && t.rec.Remembered.Value == base && t.rec.Refused == "":
		return nil
	case r.lease < LeaseLeast || r.lease > LeaseMost:
		return failure(CodeNeedsLease, fmt.Sprintf("raising takes a lease of %d to %d s", LeaseLeast/time.Second, LeaseMost/time.Second), nil)
	}
	return t.raise(r, base, peer)
}

// raise puts a limit on trial.
func (t *change) raise(r request, base MiB, peer int) error {
	if t.bounds().Check(base) != nil {
		base = 0 // somebody else's limit, which root does not set again
	}
	if err := t.audit("user %d: %d MiB on trial for %d s, before it %d", peer, r.limit, r.lease/time.Second, t.set); err != nil {
		return err
	}
	before, was := t.rec, t.set
	t.rec.Lease = &lease{Value: r.limit, Previous: base, Deadline: t.now + r.lease}
	if err := t.save(); err != nil {
		return err
	}
	err := t.write(r.limit)
	if err == nil {
		return nil
	}
	if t.set != was {
		// The lease stays in the record until the limit is back.
		if failed := t.back(*t.rec.Lease); failed != nil {
			return errors.Join(err, failed)
		}
		before.Lease = nil
	}
	t.rec = before
	return errors.Join(err, t.save())
}

// lower takes effect at once and ends a trial. The limit is remembered, as the
// machine ran with more; the one from before the trial stays what it was.
func (t *change) lower(limit, base MiB, peer int) error {
	before := t.set
	if err := t.write(limit); err != nil {
		return err
	}
	t.rec.Lease, t.rec.Refused = nil, ""
	if limit < base {
		t.rec.Remembered = &remembered{Value: limit, RAM: t.ram}
	}
	return errors.Join(t.save(), t.audit("user %d: lowered to %d MiB, before it %d", peer, limit, before))
}

// confirm ends a trial for good: the one that is meant, where somebody may have begun
// another meanwhile.
func (t *change) confirm(r request, peer int) error {
	l := t.rec.Lease
	switch {
	case l == nil:
		return failure(CodeNoLease, "no limit is on trial", nil)
	case r.limit != 0 && r.limit != l.Value:
		return failure(CodeChanged, fmt.Sprintf("%d MiB is on trial and not %d", l.Value, r.limit), nil)
	case t.set != l.Value:
		return failure(CodeChanged, fmt.Sprintf("%d MiB is set and not the %d on trial", t.set, l.Value), nil)
	}
	if err := t.bounds().Check(l.Value); err != nil {
		return err
	}
	t.rec.Lease, t.rec.Refused = nil, ""
	t.rec.Remembered = &remembered{Value: l.Value, RAM: t.ram}
	return errors.Join(t.save(), t.audit("user %d: %d MiB confirmed", peer, l.Value))
}

// reset goes back to the system's default and forgets everything. It replaces a
// record that cannot be read.
func (t *change) reset(peer int) error {
	before := t.set
	if before != 0 {
		if err := t.write(0); err != nil {
			return err
		}
	}
	empty := t.rec.Remembered == nil && t.rec.Lease == nil && t.rec.Pending == nil && t.rec.Refused == ""
	if empty && before == 0 && !t.lost {
		return nil
	}
	t.rec = record{}
	return errors.Join(t.save(), t.audit("user %d: back to the default, before it %d MiB", peer, before))
}

// back ends a trial: the limit before it comes back, unless somebody has set one
// meanwhile that is no higher.
func (t *change) back(l lease) error {
	previous := l.Previous
	if t.bounds().Check(previous) != nil {
		previous = 0
	}
	before := t.set
	if before == 0 || previous > 0 && before <= previous {
		return nil
	}
	if err := t.write(previous); err != nil {
		return err
	}
	// What is done is done, noted or not.
	_ = t.audit("not confirmed: back to %d MiB from %d", previous, before)
	return nil
}

func (t *change) bounds() Bounds { return BoundsOf(t.ram) }

// write is the one place where the limit is written. Nothing outside the bounds
// gets past it, and what was written is read again.
func (t *change) write(limit MiB) error {
	if err := t.bounds().Check(limit); err != nil {
		return err
	}
	if err := t.server.system.SetSysctl(t.key.Name, t.key.raw(limit)); err != nil {
		return permission(fmt.Errorf("setting %s: %w", t.key.Name, err))
	}
	t.set = limit
	raw, err := t.server.system.Sysctl(t.key.Name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", t.key.Name, err)
	}
	if t.set = t.key.limit(raw); t.set != limit {
		return failure(CodeRefused, fmt.Sprintf("the system made %d MiB of %d", t.set, limit), nil)
	}
	return nil
}

func (t *change) save() error {
	t.rec.Boot = t.session
	// Until the file is read again, it is not known what stands in it.
	t.server.trial = nil
	if err := t.rec.save(t.server.system.Files()); err != nil {
		return err
	}
	t.server.trial = t.rec.Lease
	return nil
}

func (t *change) audit(format string, args ...any) error {
	if err := t.server.system.Audit(fmt.Sprintf(format, args...)); err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	return nil
}
