package traytest

import (
	"fmt"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Menu is a tray item's menu as a person sees it: hidden rows are left out.
type Menu []Row

// Row is one row of a menu.
type Row struct {
	ID        int32
	Label     string // "" for a separator
	Enabled   bool
	Separator bool
	Rows      Menu // the submenu
}

// layout is a menu as com.canonical.dbusmenu sends it.
type layout struct {
	ID         int32
	Properties map[string]dbus.Variant
	Children   []dbus.Variant
}

func (i *Item) menuObject() (dbus.BusObject, error) {
	var path dbus.ObjectPath
	if err := i.property("Menu", &path); err != nil {
		return nil, err
	}
	return i.conn.Object(i.Sender, path), nil
}

// Menu opens the menu and reads it, as a person does; a program may bring its
// numbers up to date only then. systray cuts the first answer after its start
// to one level and soon tells that there is more; Host.Wait asks again then.
func (i *Item) Menu() (Menu, error) {
	if err := i.Open(); err != nil {
		return nil, err
	}
	return i.Read()
}

// Read reads the menu without opening it, as a panel does to be ready.
func (i *Item) Read() (Menu, error) {
	object, err := i.menuObject()
	if err != nil {
		return nil, err
	}
	var revision uint32
	var root layout
	if err := object.Call(menuName+".GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root); err != nil {
		return nil, fmt.Errorf("reading the tray menu: %w", err)
	}
	return rows(root.Children)
}

func rows(children []dbus.Variant) (Menu, error) {
	var menu Menu
	for _, child := range children {
		var l layout
		if err := dbus.Store([]any{child.Value()}, &l); err != nil {
			return nil, fmt.Errorf("reading a row of the tray menu: %w", err)
		}
		if visible, ok := l.Properties["visible"].Value().(bool); ok && !visible {
			continue
		}
		row := Row{ID: l.ID, Enabled: true}
		if enabled, ok := l.Properties["enabled"].Value().(bool); ok {
			row.Enabled = enabled
		}
		kind, _ := l.Properties["type"].Value().(string)
		row.Separator = kind == "separator"
		label, _ := l.Properties["label"].Value().(string)
		row.Label = shown(label)
		var err error
		if row.Rows, err = rows(l.Children); err != nil {
			return nil, err
		}
		menu = append(menu, row)
	}
	return menu, nil
}

// shown is a label as a menu shows it: two underscores are one, and one marks
// an access key and is not shown.
func shown(label string) string {
	label = strings.ReplaceAll(label, "__", "\x00")
	label = strings.ReplaceAll(label, "_", "")
	return strings.ReplaceAll(label, "\x00", "_")
}

// String is the menu as text, rows that cannot be clicked in parentheses.
func (m Menu) String() string {
	var b strings.Builder
	m.write(&b, "")
	return b.String()
}

func (m Menu) write(b *strings.Builder, indent string) {
	for _, row := range m {
		switch {
		case row.Separator:
			b.WriteString(indent + "-\n")
		case row.Enabled:
			b.WriteString(indent + row.Label + "\n")
		default:
			b.WriteString(indent + "(" + row.Label + ")\n")
		}
		row.Rows.write(b, indent+"  ")
	}
}

// Find is the row at the end of a path of labels, each the beginning of a
// row's label; "qwen3:14b", "Unload" is a row of a submenu. nil: there is none.
func (m Menu) Find(path ...string) *Row {
	for i := range m {
		if m[i].Separator || !strings.HasPrefix(m[i].Label, path[0]) {
			continue
		}
		if len(path) == 1 {
			return &m[i]
		}
		if found := m[i].Rows.Find(path[1:]...); found != nil {
			return found
		}
	}
	return nil
}

// Has tells whether the item's menu has a row now; see Menu.Find.
func (i *Item) Has(path ...string) bool {
	menu, err := i.Menu()
	return err == nil && menu.Find(path...) != nil
}

// Click clicks a row, found as by Menu.Find. It is an error if there is none or
// if it is disabled.
func (i *Item) Click(path ...string) error {
	menu, err := i.Menu()
	if err != nil {
		return err
	}
	row := menu.Find(path...)
	if row == nil {
		return fmt.Errorf("clicking %q: no such row in:\n%s", path, menu)
	}
	if !row.Enabled {
		return fmt.Errorf("clicking %q: the row is disabled", path)
	}
	return i.ClickID(row.ID)
}

// ClickID clicks a row by its number, as a panel does that read the menu before.
func (i *Item) ClickID(id int32) error { return i.event(id, "clicked") }

// Open tells the item that its menu was opened, in the way of KDE and GNOME.
func (i *Item) Open() error { return i.event(0, "opened") }

func (i *Item) event(id int32, name string) error {
	object, err := i.menuObject()
	if err != nil {
		return err
	}
	if err := object.Call(menuName+".Event", 0, id, name, dbus.MakeVariant(int32(0)), uint32(0)).Err; err != nil {
		return fmt.Errorf("sending %s to the tray menu: %w", name, err)
	}
	return nil
}

// OpenGroup tells the item that its menu was opened, in the way of libdbusmenu
// (Xfce, MATE, Cinnamon), as seen on the bus of an xfce4-panel 4.18.
func (i *Item) OpenGroup() error {
	object, err := i.menuObject()
	if err != nil {
		return err
	}
	if err := object.Call(menuName+".AboutToShowGroup", 0, []int32{0}).Err; err != nil {
		return fmt.Errorf("announcing that the tray menu opens: %w", err)
	}
	return nil
}

// OpenSub tells the item that a row's submenu was opened, in the way of
// libdbusmenu.
func (i *Item) OpenSub(id int32) error {
	object, err := i.menuObject()
	if err != nil {
		return err
	}
	events := []struct {
		ID   int32
		Name string
		Data dbus.Variant
		Time uint32
	}{{id, "opened", dbus.MakeVariant(int32(0)), 0}}
	if err := object.Call(menuName+".EventGroup", 0, events).Err; err != nil {
		return fmt.Errorf("sending a group of events to the tray menu: %w", err)
	}
	return nil
}
