package iokit

import (
	"fmt"
	"sync"
)

// notify is Darwin's notify(3), which also keeps one number per key.
type notify struct {
	part

	// uint32_t notify_register_check(const char *name, int *out_token);  <notify.h>
	registerCheck func(name string, token *int32) uint32
	// uint32_t notify_get_state(int token, uint64_t *state64);  <notify.h>
	getState func(token int32, state *uint64) uint32
	// uint32_t notify_cancel(int token);  <notify.h>
	cancel func(token int32) uint32

	lock   sync.Mutex
	tokens map[string]int32
}

func (s *System) notifications() (*notify, error) {
	n := &s.notify
	if !n.bound() {
		n.bind("libSystem", s.paths.System,
			binding{"notify_register_check", &n.registerCheck},
			binding{"notify_get_state", &n.getState},
			binding{"notify_cancel", &n.cancel})
	}
	return n, n.err
}

// NotifyState is the number that a notify key has, such as
// com.apple.system.thermalpressurelevel. A key that nobody ever set is 0 and no
// error. The token of a key is kept.
func (s *System) NotifyState(key string) (uint64, error) {
	n, err := s.notifications()
	if err != nil {
		return 0, err
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	token, ok := n.tokens[key]
	if !ok {
		if r := n.registerCheck(key, &token); r != 0 {
			return 0, fmt.Errorf("notify_register_check %s: status %d", key, r)
		}
		if n.tokens == nil {
			n.tokens = map[string]int32{}
		}
		n.tokens[key] = token
	}
	var state uint64
	if r := n.getState(token, &state); r != 0 {
		// notifyd may have been started again and not know the token.
		n.cancel(token)
		delete(n.tokens, key)
		return 0, fmt.Errorf("notify_get_state %s: status %d", key, r)
	}
	return state, nil
}

func (s *System) releaseTokens() {
	n := &s.notify
	n.lock.Lock()
	defer n.lock.Unlock()
	for key, token := range n.tokens {
		n.cancel(token)
		delete(n.tokens, key)
	}
}
