package tray

import (
	"context"
	"fmt"
	"time"

	"plimsoll/app/view"
)

// attention is how long after a menu was opened somebody is taken to look at
// it. No desktop tells reliably when it closes.
const attention = 30 * time.Second

// early are the times after the start at which icon and tooltip are set again:
// until systray has finished exporting its item, which takes some milliseconds
// and cannot be seen, it forgets what it is told.
var early = []time.Duration{100 * time.Millisecond, time.Second}

// sources are what a menu follows. A nil channel never delivers.
type sources struct {
	views  <-chan view.View
	opened <-chan struct{}
	lost   <-chan struct{} // the desktop went away
}

// follow shows the views that come, until ctx ends, a person quits or the
// desktop is lost. do wraps every use of the desktop.
func (m *menu) follow(ctx context.Context, from sources, do func(func())) error {
	looking, some := false, false
	var last view.View
	watch := func(open bool) {
		if looking != open {
			looking = open
			if m.config.Watch != nil {
				m.config.Watch(open)
			}
		}
	}
	defer watch(false)
	away := time.NewTimer(attention)
	away.Stop()
	defer away.Stop()
	repeats := early
	repeat := time.NewTimer(repeats[0])
	defer repeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.quit:
			return nil
		case <-from.lost:
			return fmt.Errorf("showing the tray: the connection ended: %w", ErrNoBus)
		case v, ok := <-from.views:
			if !ok {
				from.views = nil // nothing new will come; the menu stays
				continue
			}
			last, some = v, true
			do(func() { m.show(v, looking) })
		case <-from.opened:
			watch(true)
			if some {
				do(func() { m.show(last, true) })
			}
			away.Reset(attention)
		case <-away.C:
			watch(false)
		case <-repeat.C:
			do(m.repeat)
			if repeats = repeats[1:]; len(repeats) > 0 {
				repeat.Reset(repeats[0])
			}
		}
	}
}
