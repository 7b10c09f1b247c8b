package wired

import (
	"errors"
	"fmt"
)

// Key is a name that a system may have for the limit.
type Key struct {
	Name string
	unit uint64 // bytes that one counts
}

// Keys are the names in the order in which they are tried: since macOS 14 the
// limit is counted in MiB, in macOS 13 it had another name and counted bytes
// (llama.cpp discussion 2182). Which one a system has is found by trying, never
// from its version.
var Keys = []Key{{"iogpu.wired_limit_mb", 1 << 20}, {"debug.iogpu.wired_limit", 1}}

// raw is what the key takes for a limit: the unit is the key's own, so no
// number of MiB ever reaches the one that counts bytes.
func (k Key) raw(limit MiB) uint64 { return limit.Bytes() / k.unit }

// limit is what a number of the key means. Bytes that are no whole MiB are rounded
// up, so that only 0 is the system's default: 24,576 bytes, set by mistake, is a
// limit of 1 MiB.
func (k Key) limit(raw uint64) MiB {
	per := (1 << 20) / k.unit
	n := raw / per
	if raw%per > 0 {
		n++
	}
	return MiB(n)
}

// Command is what a person types to set the limit by hand.
func (k Key) Command(limit MiB) string {
	return fmt.Sprintf("sudo sysctl %s=%d", k.Name, k.raw(limit))
}

// find tries the keys and returns the first that this system has, with the limit
// that is set. It fails with ErrNoKey when there is none.
func find(r Reader) (Key, MiB, error) {
	for _, k := range Keys {
		raw, err := r.Sysctl(k.Name)
		switch {
		case err == nil:
			return k, k.limit(raw), nil
		case !errors.Is(err, ErrNoKey):
			return Key{}, 0, fmt.Errorf("reading %s: %w", k.Name, err)
		}
	}
	return Key{}, 0, ErrNoKey
}
