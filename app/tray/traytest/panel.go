package traytest

import (
	"fmt"
	"image"
	"image/color"
	"sync"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// The names of the StatusNotifier protocol,
// https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/.
const (
	watcherName = "org.kde.StatusNotifierWatcher"
	watcherPath = "/StatusNotifierWatcher"
	itemName    = "org.kde.StatusNotifierItem"
	menuName    = "com.canonical.dbusmenu"
)

// panel is a watcher, a host and a client of menus in one.
type panel struct {
	host  *Host
	conn  *dbus.Conn
	mutex sync.Mutex
	items []*Item
	list  *prop.Properties
}

// StartPanel starts a panel. Programs that wait for one register at it.
func (h *Host) StartPanel() error {
	conn, err := h.connect()
	if err != nil {
		return err
	}
	p := &panel{host: h, conn: conn}
	signals := make(chan *dbus.Signal, 256)
	conn.Signal(signals)
	go p.listen(signals)
	for _, rule := range [][]dbus.MatchOption{
		{dbus.WithMatchInterface(menuName)},
		{dbus.WithMatchInterface(itemName)},
		{dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged")},
	} {
		if err := conn.AddMatchSignal(rule...); err != nil {
			conn.Close()
			return fmt.Errorf("listening to the test's bus: %w", err)
		}
	}
	properties := map[string]*prop.Prop{
		"IsStatusNotifierHostRegistered": {Value: true, Emit: prop.EmitTrue},
		"ProtocolVersion":                {Value: int32(0), Emit: prop.EmitTrue},
		// Not told as a signal: that would panic at the end of the bus.
		"RegisteredStatusNotifierItems": {Value: []string{}, Emit: prop.EmitFalse},
	}
	if p.list, err = prop.Export(conn, watcherPath, prop.Map{watcherName: properties}); err != nil {
		conn.Close()
		return fmt.Errorf("exporting the panel's properties: %w", err)
	}
	if err := conn.Export(p, watcherPath, watcherName); err != nil {
		conn.Close()
		return fmt.Errorf("exporting the panel: %w", err)
	}
	h.mutex.Lock()
	h.panel = p
	h.mutex.Unlock()
	return own(conn, watcherName)
}

// own takes a name, or fails if somebody has it.
func own(conn *dbus.Conn, name string) error {
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = fmt.Errorf("it is taken (reply %d)", reply)
	}
	if err != nil {
		conn.Close()
		return fmt.Errorf("owning %s: %w", name, err)
	}
	return nil
}

// StopPanel takes the panel away.
func (h *Host) StopPanel() {
	h.mutex.Lock()
	p := h.panel
	h.panel = nil
	h.mutex.Unlock()
	if p != nil {
		p.conn.Close()
	}
}

// RegisterStatusNotifierItem is the watcher's method.
func (p *panel) RegisterStatusNotifierItem(service string, sender dbus.Sender) *dbus.Error {
	item := &Item{Sender: string(sender), conn: p.conn, path: "/StatusNotifierItem"}
	if service != "" && service[0] == '/' {
		item.path = dbus.ObjectPath(service)
	}
	p.mutex.Lock()
	p.items = append(p.items, item)
	p.publish()
	p.mutex.Unlock()
	p.host.happened()
	return nil
}

// publish brings the property up to date. The caller holds the mutex.
func (p *panel) publish() {
	names := []string{}
	for _, item := range p.items {
		names = append(names, item.Sender+string(item.path))
	}
	p.list.SetMust(watcherName, "RegisteredStatusNotifierItems", names)
}

// RegisterStatusNotifierHost is the watcher's method.
func (p *panel) RegisterStatusNotifierHost(string) *dbus.Error { return nil }

// listen forgets items whose program ended and wakes those who wait.
func (p *panel) listen(signals <-chan *dbus.Signal) {
	for s := range signals {
		if s.Name == "org.freedesktop.DBus.NameOwnerChanged" && len(s.Body) == 3 && s.Body[2] == "" {
			p.mutex.Lock()
			kept := p.items[:0]
			for _, item := range p.items {
				if item.Sender != s.Body[0] {
					kept = append(kept, item)
				}
			}
			p.items = kept
			p.publish()
			p.mutex.Unlock()
		}
		p.host.happened()
	}
}

// Items are the tray icons that the panel shows now.
func (h *Host) Items() []*Item {
	h.mutex.Lock()
	p := h.panel
	h.mutex.Unlock()
	if p == nil {
		return nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]*Item(nil), p.items...)
}

// Item is one tray icon.
type Item struct {
	// Sender is the unique bus name of its program.
	Sender string
	conn   *dbus.Conn
	path   dbus.ObjectPath
}

// property reads a property of the item into out.
func (i *Item) property(name string, out any) error {
	v, err := i.conn.Object(i.Sender, i.path).GetProperty(itemName + "." + name)
	if err != nil {
		return fmt.Errorf("reading %s of the tray item: %w", name, err)
	}
	return v.Store(out)
}

func (i *Item) text(name string) string {
	var text string
	if i.property(name, &text) != nil {
		return ""
	}
	return text
}

// ID is the item's id, "" if it cannot be read.
func (i *Item) ID() string { return i.text("Id") }

// Title is the item's title, "" if it cannot be read.
func (i *Item) Title() string { return i.text("Title") }

// pixmap is one size of an icon: ARGB, 32 bits a pixel, in network order.
type pixmap struct {
	Width, Height int32
	Pixels        []byte
}

// Tooltip is the first line of the item's tooltip, "" if it cannot be read.
func (i *Item) Tooltip() string {
	var tip struct {
		Icon  string
		Icons []pixmap
		Title string
		Text  string
	}
	if i.property("ToolTip", &tip) != nil {
		return ""
	}
	return tip.Title
}

// Icon is the item's picture, its colours read as they are: Xfce, GNOME and KDE
// do not take them as multiplied with the transparency.
func (i *Item) Icon() (image.Image, error) {
	var maps []pixmap
	if err := i.property("IconPixmap", &maps); err != nil {
		return nil, err
	}
	if len(maps) == 0 || int(maps[0].Width*maps[0].Height*4) != len(maps[0].Pixels) || len(maps[0].Pixels) == 0 {
		return nil, fmt.Errorf("reading the tray item's icon: no pixels, or not as many as its size says")
	}
	picture := image.NewNRGBA(image.Rect(0, 0, int(maps[0].Width), int(maps[0].Height)))
	for n := range int(maps[0].Width * maps[0].Height) {
		p := maps[0].Pixels[n*4:]
		picture.SetNRGBA(n%int(maps[0].Width), n/int(maps[0].Width), color.NRGBA{R: p[1], G: p[2], B: p[3], A: p[0]})
	}
	return picture, nil
}
