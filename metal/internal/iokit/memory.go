package iokit

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// memory is where memory of C comes from.
type memory struct {
	part
	// void *calloc(size_t count, size_t size);  <stdlib.h>
	calloc func(count, size uintptr) uintptr
}

func (s *System) c() (*memory, error) {
	m := &s.memory
	if !m.bound() {
		m.bind("libSystem", s.paths.System, binding{"calloc", &m.calloc})
	}
	return m, m.err
}

// scratchBytes is how much C memory one scratch has: room for the keys and values
// of a dictionary of scratchBytes/16 entries, or for a long text.
const scratchBytes = 1 << 15

// scratch is what calls made often need: memory of C, which never moves and may
// be passed as a number, for what they write; and a place for their arguments, so
// that a call allocates nothing. One goroutine has it at a time.
type scratch struct {
	address uintptr
	args    [8]uintptr
}

// call calls a function whose arguments are integers, handles and C's addresses
// and whose result is an integer. What is narrower than 64 bits is the low part of
// the result.
func (c *scratch) call(f function, args ...uintptr) uintptr {
	n := copy(c.args[:], args)
	result, _, _ := purego.SyscallN(uintptr(f), c.args[:n]...)
	return result
}

// scratches are those that nobody has now. They are never freed: there are as many
// as goroutines ever read at the same time.
type scratches struct {
	lock sync.Mutex
	free []*scratch
}

// borrow gives a scratch, to be given back.
func (s *System) borrow() (*scratch, error) {
	s.scratches.lock.Lock()
	if n := len(s.scratches.free); n > 0 {
		c := s.scratches.free[n-1]
		s.scratches.free = s.scratches.free[:n-1]
		s.scratches.lock.Unlock()
		return c, nil
	}
	s.scratches.lock.Unlock()
	m, err := s.c()
	if err != nil {
		return nil, err
	}
	address := m.calloc(1, scratchBytes)
	if address == 0 {
		return nil, errors.New("calloc: no memory")
	}
	return &scratch{address: address}, nil
}

func (s *System) giveBack(c *scratch) {
	s.scratches.lock.Lock()
	s.scratches.free = append(s.scratches.free, c)
	s.scratches.lock.Unlock()
}

// at is C's memory at an address. It is not Go memory, so the address does not
// move and the rules for unsafe.Pointer have nothing to say about it.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// bytesAt is C's memory of a size at an address.
func bytesAt(address uintptr, size int) []byte { return unsafe.Slice(at[byte](address), size) }

// namesMost is how many names are kept; a Mac has some hundred.
const namesMost = 4096

// names are texts seen before, so that a name read again and again is one string.
type names struct {
	lock  sync.Mutex
	known map[string]string
}

// of is the text up to the first NUL.
func (n *names) of(b []byte) string {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if known, ok := n.known[string(b)]; ok {
		return known
	}
	if n.known == nil || len(n.known) >= namesMost {
		n.known = map[string]string{}
	}
	text := string(b)
	n.known[text] = text
	return text
}
