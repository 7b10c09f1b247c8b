package notify

import (
	"errors"
	"sync"

	"plimsoll/app/view"
	"plimsoll/metal/objc"
	"plimsoll/monitor"
)

// Constants of UserNotifications, from its headers.
const (
	optionSound, optionAlert                 = 1 << 1, 1 << 2         // UNAuthorizationOptions
	presentSound, presentList, presentBanner = 1 << 1, 1 << 3, 1 << 4 // UNNotificationPresentationOptions
)

// waiting is how many notices are kept while the person is being asked.
const waiting = 8

// center shows notices through macOS's notification center. It asks the person
// once, at its start; until there is an answer notices wait.
type center struct {
	options
	rest     Notifier
	objc     *objc.Runtime
	center   objc.ID // never released: the system's own
	delegate objc.ID
	added    objc.Block

	mutex      sync.Mutex // guards what follows
	state      permission
	pending    []view.Notice
	commands   map[string]monitor.Command // by notice ID
	categories map[string]bool            // by the button's label
	labels     objc.ID                    // NSMutableSet of the categories
}

// permission is the person's answer.
type permission int

const (
	asked permission = iota
	granted
	denied
	unusable // the system refuses this bundle
)

// newCenter asks for permission and starts to listen. The error is for programs
// without a bundle identifier: for them the center ends the program.
func newCenter(r *objc.Runtime, o options, rest Notifier) (*center, error) {
	c := &center{options: o, rest: rest, objc: r, commands: map[string]monitor.Command{}, categories: map[string]bool{}}
	var err error
	r.Pool(func() {
		bundle := r.Send(r.Class("NSBundle"), "mainBundle")
		if r.Text(r.Send(bundle, "bundleIdentifier")) == "" {
			err = errors.New("the program does not run from a bundle with an identifier")
			return
		}
		if c.center = r.Send(r.Class("UNUserNotificationCenter"), "currentNotificationCenter"); c.center == 0 {
			err = errors.New("there is no notification center")
			return
		}
		err = c.listen()
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// listen registers the delegate and asks the person. It runs inside a pool.
func (c *center) listen() error {
	r := c.objc
	class, err := r.NewClass("PlimsollNotificationDelegate", "NSObject", []string{"UNUserNotificationCenterDelegate"},
		objc.Method{
			Name:  "userNotificationCenter:didReceiveNotificationResponse:withCompletionHandler:",
			Types: "v@:@@@?",
			Func: func(_ objc.ID, _ objc.SEL, _, response, done objc.ID) {
				c.answered(response)
				objc.Call(done)
			},
		},
		objc.Method{
			Name:  "userNotificationCenter:willPresentNotification:withCompletionHandler:",
			Types: "v@:@@@?",
			// Without this nothing is shown while the program is in front, and a
			// program in the menu bar can be.
			Func: func(_ objc.ID, _ objc.SEL, _, _, done objc.ID) {
				objc.Call(done, presentBanner|presentList|presentSound)
			},
		},
	)
	if err != nil {
		return err
	}
	c.delegate = r.Send(class, "new") // the center holds it weakly
	c.labels = r.Send(r.Class("NSMutableSet"), "new")
	c.added = r.NewBlock(func(_ objc.Block, failure objc.ID) {
		if failure != 0 {
			c.log.Debug("showing a notice", "error", c.reason(failure))
		}
	}, "v@?@")
	r.Send(c.center, "setDelegate:", c.delegate)
	decided := r.NewBlock(func(_ objc.Block, yes uintptr, failure objc.ID) {
		// BOOL counts by its low byte.
		c.decided(byte(yes) != 0, failure)
	}, "v@?B@")
	r.Send(c.center, "requestAuthorizationWithOptions:completionHandler:", optionSound|optionAlert, decided)
	return nil
}

// reason is an NSError in words.
func (c *center) reason(failure objc.ID) string {
	var text string
	c.objc.Pool(func() { text = c.objc.Text(c.objc.Send(failure, "localizedDescription")) })
	return text
}

// decided takes the person's answer and shows what waited for it.
func (c *center) decided(yes bool, failure objc.ID) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case yes:
		c.state = granted
	case failure != 0:
		c.state = unusable
		c.log.Debug("asking for notifications", "error", c.reason(failure))
	default:
		c.state = denied
		c.log.Warn(c.words.Text("notify.denied"))
	}
	for _, n := range c.pending {
		c.show(n)
	}
	c.pending = nil
}

// Show implements Notifier.
func (c *center) Show(n view.Notice) error {
	n.ID = clean(n.ID) // as the system gives it back
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.state == asked && !n.Withdraw {
		if c.pending = append(c.pending, n); len(c.pending) > waiting {
			c.pending = c.pending[1:]
		}
		return nil
	}
	return c.show(n)
}

// show shows or takes back a notice. The caller holds the mutex.
func (c *center) show(n view.Notice) error {
	if n.Withdraw {
		c.withdraw(n.ID)
		return nil
	}
	switch c.state {
	case unusable:
		return c.rest.Show(n)
	case granted:
		c.objc.Pool(func() { c.add(n) })
	}
	return nil // a person who said no is not asked by other means
}

// add hands a notice to the system. It runs inside a pool.
func (c *center) add(n view.Notice) {
	r := c.objc
	content := r.Send(r.Class("UNMutableNotificationContent"), "new")
	defer r.Release(content)
	r.Send(content, "setTitle:", r.String(clean(n.Title)))
	r.Send(content, "setBody:", r.String(clean(n.Text)))
	if n.Severity == monitor.SeverityCritical {
		r.Send(content, "setSound:", r.Send(r.Class("UNNotificationSound"), "defaultSound"))
	}
	delete(c.commands, n.ID)
	if n.Action != nil && n.Action.Enabled {
		c.commands[n.ID] = n.Action.Command
		r.Send(content, "setCategoryIdentifier:", c.category(clean(n.Action.Label)))
	}
	request := r.Send(r.Class("UNNotificationRequest"), "requestWithIdentifier:content:trigger:",
		r.String(n.ID), content, 0)
	r.Send(c.center, "addNotificationRequest:withCompletionHandler:", request, c.added)
}

// category is the identifier of the category whose button has this label. A
// button's words belong to a category, so each label has one.
func (c *center) category(label string) objc.ID {
	r := c.objc
	identifier := r.String("plimsoll." + label)
	if c.categories[label] {
		return identifier
	}
	c.categories[label] = true
	action := r.Send(r.Class("UNNotificationAction"), "actionWithIdentifier:title:options:",
		r.String(button), r.String(label), 0)
	category := r.Send(r.Class("UNNotificationCategory"), "categoryWithIdentifier:actions:intentIdentifiers:options:",
		identifier, r.Send(r.Class("NSArray"), "arrayWithObject:", action), r.Send(r.Class("NSArray"), "array"), 0)
	r.Send(c.labels, "addObject:", category)
	r.Send(c.center, "setNotificationCategories:", c.labels)
	return identifier
}

// withdraw takes a notice back, shown or not. The caller holds the mutex.
func (c *center) withdraw(notice string) {
	delete(c.commands, notice)
	kept := c.pending[:0]
	for _, n := range c.pending {
		if n.ID != notice {
			kept = append(kept, n)
		}
	}
	c.pending = kept
	r := c.objc
	r.Pool(func() {
		list := r.Send(r.Class("NSArray"), "arrayWithObject:", r.String(notice))
		r.Send(c.center, "removePendingNotificationRequestsWithIdentifiers:", list)
		r.Send(c.center, "removeDeliveredNotificationsWithIdentifiers:", list)
	})
}

// answered acts on a pressed button. It runs on a thread of the system.
func (c *center) answered(response objc.ID) {
	r := c.objc
	var action, notice string
	r.Pool(func() {
		action = r.Text(r.Send(response, "actionIdentifier"))
		request := r.Send(r.Send(response, "notification"), "request")
		notice = r.Text(r.Send(request, "identifier"))
	})
	if action != button {
		return // a click on the notice itself, or its dismissal
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if command, ok := c.commands[notice]; ok {
		delete(c.commands, notice)
		go c.act(command)
	}
}

// Close implements Notifier.
func (c *center) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for notice := range c.commands {
		c.withdraw(notice)
	}
	if c.delegate != 0 {
		c.objc.Pool(func() {
			c.objc.Send(c.center, "setDelegate:", 0)
			c.objc.Release(c.delegate)
			c.objc.Release(c.labels)
		})
		c.delegate, c.labels, c.state = 0, 0, denied
	}
	return nil
}
