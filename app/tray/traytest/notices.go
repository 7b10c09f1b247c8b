package traytest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"
)

// The names of the notification service,
// https://specifications.freedesktop.org/notification-spec/latest/.
const (
	noticesName = "org.freedesktop.Notifications"
	noticesPath = "/org/freedesktop/Notifications"
)

// Notification is one call of Notify.
type Notification struct {
	ID       uint32 // the one that was given
	Replaces uint32
	App      string
	Icon     string
	Summary  string
	Body     string
	Actions  []string // key and label in turn
	Hints    map[string]dbus.Variant
	Timeout  int32 // milliseconds; −1: the service's choice, 0: never
}

// notices is a notification service that shows nothing and forgets nothing.
type notices struct {
	host         *Host
	conn         *dbus.Conn
	mutex        sync.Mutex
	last         uint32
	shown        []Notification
	open         []uint32
	closed       []uint32 // by CloseNotification
	capabilities []string
}

// StartNotifications starts a notification service. Without capabilities named
// it has those of a usual one.
func (h *Host) StartNotifications(capabilities ...string) error {
	conn, err := h.connect()
	if err != nil {
		return err
	}
	if len(capabilities) == 0 {
		capabilities = []string{"actions", "body", "body-markup", "icon-static", "persistence"}
	}
	n := &notices{host: h, conn: conn, capabilities: capabilities}
	if err := conn.Export(n, noticesPath, noticesName); err != nil {
		conn.Close()
		return fmt.Errorf("exporting the notification service: %w", err)
	}
	h.mutex.Lock()
	h.notices = n
	h.mutex.Unlock()
	return own(conn, noticesName)
}

// StopNotifications takes the notification service away.
func (h *Host) StopNotifications() {
	h.mutex.Lock()
	n := h.notices
	h.notices = nil
	h.mutex.Unlock()
	if n != nil {
		n.conn.Close()
	}
}

// Notify is the service's method.
func (n *notices) Notify(app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]dbus.Variant, timeout int32) (uint32, *dbus.Error) {
	n.mutex.Lock()
	id := replaces
	if id == 0 || !slices.Contains(n.open, id) {
		n.last++
		id = n.last
		n.open = append(n.open, id)
	}
	n.shown = append(n.shown, Notification{id, replaces, app, icon, summary, body, actions, hints, timeout})
	n.mutex.Unlock()
	n.host.happened()
	return id, nil
}

// CloseNotification is the service's method.
func (n *notices) CloseNotification(id uint32) *dbus.Error {
	n.mutex.Lock()
	n.closed = append(n.closed, id)
	n.mutex.Unlock()
	n.close(id, 3)
	return nil
}

func (n *notices) close(id, reason uint32) {
	n.mutex.Lock()
	if i := slices.Index(n.open, id); i >= 0 {
		n.open = slices.Delete(n.open, i, i+1)
	}
	n.mutex.Unlock()
	n.conn.Emit(noticesPath, noticesName+".NotificationClosed", id, reason)
	n.host.happened()
}

// GetCapabilities is the service's method.
func (n *notices) GetCapabilities() ([]string, *dbus.Error) { return n.capabilities, nil }

// GetServerInformation is the service's method.
func (n *notices) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "traytest", "plimsoll", "1", "1.2", nil
}

func (h *Host) service() *notices {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.notices
}

// Notifications are all calls of Notify since the service started, oldest first.
func (h *Host) Notifications() []Notification {
	n := h.service()
	if n == nil {
		return nil
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.shown)
}

// Withdrawn are the numbers that programs took back, oldest first.
func (h *Host) Withdrawn() []uint32 {
	n := h.service()
	if n == nil {
		return nil
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.closed)
}

// Press presses a button of a notification, which closes it.
func (h *Host) Press(id uint32, key string) error {
	n := h.service()
	if n == nil {
		return fmt.Errorf("pressing %q: no notification service", key)
	}
	if err := n.conn.Emit(noticesPath, noticesName+".ActionInvoked", id, key); err != nil {
		return fmt.Errorf("pressing %q: %w", key, err)
	}
	n.close(id, 2)
	return nil
}

// Dismiss closes a notification as a person does.
func (h *Host) Dismiss(id uint32) {
	if n := h.service(); n != nil {
		n.close(id, 2)
	}
}
