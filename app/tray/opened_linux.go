package tray

import (
	"context"
	"log/slog"

	"github.com/godbus/dbus/v5"

	"plimsoll/app/bus"
)

// watchMenu tells when a panel says that it opened the menu, by a group of
// events. Panels made with libdbusmenu (Xfce, MATE, Cinnamon, Budgie) do, and
// systray reads only clicks from a group; from the others it reads the opening
// itself. The bus shows this connection the events that are sent to item, its
// own program, and nothing else. A bus that refuses costs only the news.
func watchMenu(ctx context.Context, item string, opened chan<- struct{}, log *slog.Logger) {
	conn, err := bus.Connect(dbus.WithContext(ctx))
	if err != nil {
		log.Debug("watching the menu", "error", err)
		return
	}
	defer conn.Close()
	rule := "type='method_call',interface='com.canonical.dbusmenu',member='EventGroup',destination='" + item + "'"
	messages := make(chan *dbus.Message, 64)
	if err := conn.BusObject().Call("org.freedesktop.DBus.Monitoring.BecomeMonitor", 0, []string{rule}, uint32(0)).Err; err != nil {
		log.Debug("watching the menu", "error", err)
		return
	}
	conn.Eavesdrop(messages)
	for {
		select {
		case <-ctx.Done():
			return
		case <-conn.Context().Done():
			return
		case message := <-messages:
			if opening(message) {
				select {
				case opened <- struct{}{}:
				default: // one is waiting to be read
				}
			}
		}
	}
}

// opening tells whether a call is an EventGroup with the opening of the menu or
// of a submenu.
func opening(message *dbus.Message) bool {
	if message == nil || message.Type != dbus.TypeMethodCall || len(message.Body) == 0 {
		return false
	}
	if member, _ := message.Headers[dbus.FieldMember].Value().(string); member != "EventGroup" {
		return false
	}
	events, _ := message.Body[0].([][]any)
	for _, event := range events {
		if len(event) < 2 {
			continue
		}
		if name, _ := event[1].(string); name == "opened" {
			return true
		}
	}
	return false
}
