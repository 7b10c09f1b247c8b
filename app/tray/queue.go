package tray

import "sync"

// queue runs functions one after another in a goroutine of its own. Adding
// never waits, so that the desktop's goroutine is free for the next click.
type queue struct {
	mutex   sync.Mutex
	waiting []func()
	running bool
}

func (q *queue) add(f func()) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.waiting = append(q.waiting, f)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run ends when there is nothing left, so an idle queue has no goroutine.
func (q *queue) run() {
	for {
		q.mutex.Lock()
		if len(q.waiting) == 0 {
			q.running = false
			q.mutex.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mutex.Unlock()
		next()
	}
}
