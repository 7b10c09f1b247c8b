package tray

import (
	"context"
	"log/slog"

	"github.com/godbus/dbus/v5"

	"plimsoll/app/bus"
)

// watchMenu tells when a panel made with libdbusmenu (Xfce, MATE, Cinnamon,
// Budgie) opens the menu. Such panels announce and send in groups, of which
// systray passes on the clicks alone; from the others (KDE, GNOME) it reads the
// opening itself. The bus shows this connection the two calls that are sent to
// item, its own program, and nothing else. A bus that refuses costs only the news.
func watchMenu(ctx context.Context, item string, opened chan<- struct{}, log *slog.Logger) {
	conn, err := bus.Connect(dbus.WithContext(ctx))
	if err != nil {
		log.Debug("watching the menu", "error", err)
		return
	}
	defer conn.Close()
	var rules []string
	for _, member := range []string{"AboutToShowGroup", "EventGroup"} {
		rules = append(rules, "type='method_call',interface='com.canonical.dbusmenu',member='"+member+"',destination='"+item+"'")
	}
	messages := make(chan *dbus.Message, 64)
	if err := conn.BusObject().Call("org.freedesktop.DBus.Monitoring.BecomeMonitor", 0, rules, uint32(0)).Err; err != nil {
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

// opening tells whether a call comes from the opening of the menu or of a
// submenu. Xfce announces the menu and sends an event for the submenu.
func opening(message *dbus.Message) bool {
	if message == nil || message.Type != dbus.TypeMethodCall {
		return false // the bus's own words at the start
	}
	switch member, _ := message.Headers[dbus.FieldMember].Value().(string); {
	case member == "AboutToShowGroup":
		return true
	case member != "EventGroup" || len(message.Body) == 0:
		return false
	}
	events, _ := message.Body[0].([][]any)
	for _, event := range events {
		if len(event) > 1 && event[1] == "opened" {
			return true
		}
	}
	return false
}
