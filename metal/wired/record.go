package wired

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// record is what StateFile holds. One file holds all, so that each step from one
// state to the next is one write that happens or does not.
type record struct {
	// Format is 1.
	Format int `json:"format"`
	// Boot is the boot session whose start was dealt with; Lease and Pending count
	// in its continuous time. In any other session they mean: it ended meanwhile.
	Boot       string      `json:"boot_session"`
	Remembered *remembered `json:"remembered,omitempty"`
	Lease      *lease      `json:"lease,omitempty"`
	// Pending is when the remembered limit was applied at the start of the system;
	// it goes when the system has been up for long enough after that.
	Pending *time.Duration `json:"pending_ns,omitempty"`
	// Refused is one of the Refused constants.
	Refused string `json:"refused,omitzero"`
}

// remembered is a confirmed limit and the memory of the machine it was confirmed on.
type remembered struct {
	Value MiB    `json:"value_mib"`
	RAM   uint64 `json:"ram_bytes"`
}

// lease is a limit on trial.
type lease struct {
	Value MiB `json:"value_mib"`
	// Previous comes back; it is within bounds.
	Previous MiB           `json:"previous_mib"`
	Deadline time.Duration `json:"deadline_ns"`
}

// load reads the record; without a file it is empty. A file that is no record
// is as little believed as one that is not the owner's alone.
func load(f Files) (record, error) {
	data, err := f.Read(StateFile)
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	var r record
	if err == nil && (json.Unmarshal(data, &r) != nil || r.Format != 1) {
		err = ErrUntrusted
	}
	if err != nil {
		return record{}, fmt.Errorf("reading %s: %w", StateFile, err)
	}
	return r, nil
}

func (r record) save(f Files) error {
	r.Format = 1
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return f.Write(StateFile, append(data, '\n'))
}

// ReadState tells how the limit stands. It needs no rights and no helper, and
// fails with ErrNoKey where the system has no adjustable limit.
func ReadState(r Reader) (State, error) {
	key, set, err := find(r)
	if err != nil {
		return State{}, err
	}
	s := State{Key: key.Name, Set: set}
	rec, err := load(r.Files())
	if err != nil {
		s.Refused = RefusedFile
		return s, nil
	}
	s.Refused = rec.Refused
	if rec.Remembered != nil {
		s.Remembered = new(rec.Remembered.Value)
	}
	if rec.Lease != nil {
		session, err := r.BootSession()
		now, err2 := r.Continuous()
		if err = errors.Join(err, err2); err != nil {
			return s, fmt.Errorf("reading the time that is left: %w", err)
		}
		if session == rec.Boot {
			s.Lease = &Lease{Value: rec.Lease.Value, Previous: rec.Lease.Previous, Left: max(0, rec.Lease.Deadline-now)}
		}
	}
	return s, nil
}

// Users are the user ids that may ask the helper, besides root.
type Users []int

// usersMost bounds the list.
const usersMost = 64

// ParseUsers reads UsersFile: one id a line.
func ParseUsers(data []byte) (Users, error) {
	var users Users
	for line := range strings.Lines(string(data)) {
		uid, err := strconv.ParseUint(strings.TrimSuffix(line, "\n"), 10, 31)
		if err != nil || len(users) == usersMost {
			return nil, fmt.Errorf("line %d of %s is no user's", len(users)+1, UsersFile)
		}
		users = append(users, int(uid))
	}
	return users, nil
}

// Text is what UsersFile holds for these users.
func (u Users) Text() []byte {
	var b []byte
	for _, uid := range u {
		b = append(strconv.AppendInt(b, int64(uid), 10), '\n')
	}
	return b
}
