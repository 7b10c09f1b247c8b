package notify

import (
	"fmt"

	"github.com/godbus/dbus/v5"

	"plimsoll/app/bus"
)

// connect makes sure that there is a connection whose signals are followed. The
// caller holds the mutex.
func (d *desktop) connect() error {
	if d.conn != nil && d.conn.Connected() {
		return nil
	}
	d.forget()
	conn, err := bus.Connect()
	if err != nil {
		return err
	}
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	for _, rule := range [][]dbus.MatchOption{
		{dbus.WithMatchSender(service), dbus.WithMatchInterface(service), dbus.WithMatchObjectPath(object)},
		{dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, service)},
	} {
		if err := conn.AddMatchSignal(rule...); err != nil {
			conn.Close()
			return fmt.Errorf("listening to the notification service: %w", err)
		}
	}
	d.conn = conn
	go d.follow(conn, signals)
	return nil
}

// drop ends the connection. The caller holds the mutex.
func (d *desktop) drop() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
	d.forget()
}

// forget drops what another service, or none, would not know. The caller holds
// the mutex.
func (d *desktop) forget() {
	d.capabilities = nil
	clear(d.shown)
}

// follow handles what the service says, until the connection ends.
func (d *desktop) follow(conn *dbus.Conn, signals <-chan *dbus.Signal) {
	for s := range signals {
		switch s.Name {
		case service + ".ActionInvoked":
			var id uint32
			var key string
			if dbus.Store(s.Body, &id, &key) == nil && key == button {
				d.pressed(id)
			}
		case service + ".NotificationClosed":
			var id, reason uint32
			if dbus.Store(s.Body, &id, &reason) == nil {
				d.closed(id)
			}
		case "org.freedesktop.DBus.NameOwnerChanged":
			// Another service counts from 1 again: an old number would be
			// somebody else's notification.
			d.mutex.Lock()
			if d.conn == conn && len(s.Body) == 3 && s.Body[0] == service {
				d.forget()
			}
			d.mutex.Unlock()
		}
	}
}

// pressed acts on a button. Numbers that are not ours belong to other programs.
func (d *desktop) pressed(id uint32) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, p := range d.shown {
		if p.id == id && p.command != nil {
			go d.act(*p.command)
		}
	}
}

// closed forgets a notification that the service does not show any more.
func (d *desktop) closed(id uint32) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for notice, p := range d.shown {
		if p.id == id {
			delete(d.shown, notice)
		}
	}
}
