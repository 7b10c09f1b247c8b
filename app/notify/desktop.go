package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"plimsoll"
	"plimsoll/app/bus"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// The service, https://specifications.freedesktop.org/notification-spec/1.3/.
const (
	service = "org.freedesktop.Notifications"
	object  = "/org/freedesktop/Notifications"
	// button is the key of the one action.
	button = "act"
	// answerTime is how long a service may take; it may have to be started.
	answerTime = 3 * time.Second
	// choose lets the service decide how long a notification stays.
	choose = int32(-1)
)

// desktop shows notices through the session bus, over a connection of its own.
// Bus and service may come, go and restart at any time; each Show finds what is
// there then.
type desktop struct {
	options
	rest    Notifier
	picture func() (pixels, error) // made at the first notice, then kept

	mutex        sync.Mutex // guards what follows
	conn         *dbus.Conn // nil: not connected
	capabilities []string   // nil: not asked since the service started
	shown        map[string]posted
	said         bool // that there is no service
}

// posted is a notification that the service shows.
type posted struct {
	id      uint32
	command *monitor.Command // nil: no button
}

func newDesktop(o options) *desktop {
	return &desktop{
		options: o, rest: plain{o.log}, shown: map[string]posted{},
		picture: sync.OnceValues(func() (pixels, error) { return scaled(o.icon) }),
	}
}

// Show implements Notifier.
func (d *desktop) Show(n view.Notice) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if n.Withdraw {
		return d.withdraw(ctx, n.ID)
	}
	err := d.post(ctx, n)
	if broken(err) { // the bus ended, and there may be another
		d.drop()
		err = d.post(ctx, n)
	}
	if err != nil {
		if !broken(err) && !missing(err) {
			return fmt.Errorf("showing a notice: %w", err)
		}
		if !d.said {
			d.said = true
			d.log.Warn(d.words.Text("notify.no_service"))
		}
		d.log.Debug("showing a notice", "error", err)
		return d.rest.Show(n)
	}
	d.said = false
	return nil
}

// missing tells whether an error means that there is nobody to show notices, as
// opposed to somebody who refused one.
func missing(err error) bool {
	var answer dbus.Error
	if !errors.As(err, &answer) {
		return errors.Is(err, bus.ErrNone)
	}
	return answer.Name == "org.freedesktop.DBus.Error.ServiceUnknown" ||
		answer.Name == "org.freedesktop.DBus.Error.NameHasNoOwner" ||
		strings.HasPrefix(answer.Name, "org.freedesktop.DBus.Error.Spawn.")
}

// broken tells whether an error is the connection's: neither an answer nor the
// lack of one.
func broken(err error) bool {
	var answer dbus.Error
	return err != nil && !errors.As(err, &answer) &&
		!errors.Is(err, bus.ErrNone) && !errors.Is(err, context.DeadlineExceeded)
}

// post sends a notification. The caller holds the mutex.
func (d *desktop) post(ctx context.Context, n view.Notice) error {
	if err := d.connect(); err != nil {
		return err
	}
	peer := d.conn.Object(service, object)
	if d.capabilities == nil {
		if err := peer.CallWithContext(ctx, service+".GetCapabilities", 0).Store(&d.capabilities); err != nil {
			return err
		}
	}
	title, body, actions := d.phrase(n)
	earlier := d.shown[n.ID]
	var id uint32
	err := peer.CallWithContext(ctx, service+".Notify", 0,
		clean(d.name), earlier.id, "", title, body, actions, d.hints(n), choose).Store(&id)
	if err != nil {
		return err
	}
	p := posted{id: id}
	if len(actions) > 0 {
		p.command = new(n.Action.Command)
	}
	d.shown[n.ID] = p
	return nil
}

// phrase is what a notification says on this service: title, body, and key and
// label of the button.
func (d *desktop) phrase(n view.Notice) (title, body string, actions []string) {
	title, body, actions = clean(n.Title), clean(n.Text), []string{}
	if n.Action != nil && n.Action.Enabled {
		if label := clean(n.Action.Label); slices.Contains(d.capabilities, "actions") {
			actions = []string{button, label}
		} else {
			body = strings.TrimSpace(body + "\n" + d.words.Text("notify.elsewhere", view.Args{"Action": label}))
		}
	}
	switch {
	case !slices.Contains(d.capabilities, "body"):
		return strings.TrimSuffix(title+" – "+strings.ReplaceAll(body, "\n", " "), " – "), "", actions
	case slices.Contains(d.capabilities, "body-markup"):
		// The specification wants what XML wants in text; quotes are fine.
		body = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(body)
	}
	return title, body, actions
}

// hints tell how urgent a notification is and whose.
func (d *desktop) hints(n view.Notice) map[string]dbus.Variant {
	urgency := byte(1)
	if n.Severity == monitor.SeverityCritical {
		urgency = 2 // stays until somebody closes it
	}
	hints := map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(urgency),
		"desktop-entry": dbus.MakeVariant(plimsoll.ID),
	}
	if n.Severity == monitor.SeverityInfo {
		hints["transient"] = dbus.MakeVariant(true) // not worth keeping in a list
	}
	if picture, err := d.picture(); err == nil {
		hints["image-data"] = dbus.MakeVariant(picture)
	}
	return hints
}

// withdraw takes a notification back. What nobody shows any more is gone
// already. The caller holds the mutex.
func (d *desktop) withdraw(ctx context.Context, notice string) error {
	p, ok := d.shown[notice]
	delete(d.shown, notice)
	if !ok || d.conn == nil || !d.conn.Connected() {
		return nil
	}
	err := d.conn.Object(service, object).CallWithContext(ctx, service+".CloseNotification", 0, p.id).Err
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("taking a notice back: %w", err)
	}
	// Nobody shows it any more: the service ended, or the person was faster.
	return nil
}

// Close implements Notifier.
func (d *desktop) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for notice, p := range d.shown {
		if p.command != nil {
			d.withdraw(ctx, notice)
		}
	}
	if d.conn == nil {
		return nil
	}
	conn := d.conn
	d.conn = nil
	return conn.Close()
}
