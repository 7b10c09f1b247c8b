package main

import "sync"

// newest answers questions one at a time. While one is being answered, the others
// wait in one place, where a newer one replaces an older: who drags a slider gets
// the answer to where it stands, and never a queue of those to where it was.
type newest[Q any] struct {
	// run answers a question, and may take its time.
	run func(Q)
	// work runs a function elsewhere: in a goroutine.
	work func(func())

	mu   sync.Mutex
	next *Q
	busy bool
}

// ask never waits.
func (n *newest[Q]) ask(q Q) {
	n.mu.Lock()
	n.next = &q
	due := !n.busy
	n.busy = true
	n.mu.Unlock()
	if due {
		n.work(n.answer)
	}
}

func (n *newest[Q]) answer() {
	for {
		n.mu.Lock()
		q := n.next
		n.next = nil
		n.busy = q != nil
		n.mu.Unlock()
		if q == nil {
			return
		}
		n.run(*q)
	}
}
