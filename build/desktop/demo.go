package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// demo is one run of the demo on the desktop.
type demo struct {
	*session
	language string // "" is the person's
	options  []string
	folder   string // of the pictures
	suffix   string // of their names
	text     bool   // whether the terminal view is kept beside them
	socket   string
}

// A scene is worth a picture when a model that does not fit makes the machine
// swap, and there is some history to draw. sceneSpeed leaves the time for pictures
// before the day's swap-out is worth a warning of its own, which would stand above
// what the scene is about. scenePatience is how long the simulated life may take.
const (
	sceneSpeed    = "3"
	sceneHistory  = 27.0 // simulated seconds
	scenePatience = 30 * time.Second
)

// show brings a desktop up for the demo and ends both.
func (d *demo) show(ctx context.Context) (err error) {
	if d.session, err = start(ctx); err != nil {
		return err
	}
	defer d.session.end()
	return d.run(ctx)
}

// run starts the demo, takes its pictures, prints its terminal view and ends it.
func (d *demo) run(ctx context.Context) (err error) {
	d.socket = filepath.Join(d.session.folder, "run", "demo.sock")
	argv := append([]string{"bin/plimsoll", "--socket", d.socket}, d.languageOption()...)
	argv = append(argv, "demo", "--for", "5m", "--speed", sceneSpeed)
	agent, err := d.spawn(append(argv, d.options...)...)
	if err != nil {
		return err
	}
	defer d.stop(agent)
	defer d.closeWindows()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, tail(d.said(agent)))
		}
	}()
	if err := d.awaitItem(ctx); err != nil {
		return err
	}
	client := api.Dial(d.socket)
	err = await(ctx, "the agent", 10*time.Second, func() error {
		_, err := client.Health(ctx)
		return err
	})
	if err != nil {
		return err
	}
	// Window and icon are in their places before the scene is: it does not wait.
	if err := client.OpenWindow(ctx, ""); err != nil {
		return fmt.Errorf("opening the window: %w", err)
	}
	if _, err := d.awaitWindow(ctx); err != nil {
		return err
	}
	icon, err := d.findIcon(ctx)
	if err != nil {
		return err
	}
	scene, err := d.awaitScene(ctx, client)
	if err != nil {
		return err
	}
	if scene != "" {
		fmt.Fprintln(os.Stderr, scene)
	}
	window, err := d.awaitWindow(ctx)
	if err != nil {
		return err
	}
	if err := d.save("window", window); err != nil {
		return err
	}
	menu, err := d.openMenu(ctx, icon)
	if err != nil {
		return err
	}
	if err := d.save("menu", menu); err != nil {
		return err
	}
	if scene == "" {
		if err := d.awaitNotification(ctx); err != nil {
			return err
		}
	}
	whole, err := d.screen(ctx)
	if err != nil {
		return err
	}
	if err := d.save("desktop", whole); err != nil {
		return err
	}
	if err := d.terminal(ctx); err != nil {
		return err
	}
	return complaints(d.said(agent))
}

// complaints tells what libraries say when they are used wrongly, of all that the
// agent and the window printed. The demo goes on after each, so it must be looked for.
func complaints(log string) error {
	for _, sign := range []string{
		"Error in Fyne call thread", // Fyne: a widget was touched off the main goroutine
		"panic:",                    // a goroutine's, caught by its library
		"no menu item with ID",      // systray: a click reached nothing
		"DATA RACE",                 // a build with -race
	} {
		for line := range strings.Lines(log) {
			if strings.Contains(line, sign) {
				return fmt.Errorf("the demo complained: %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}

// closeWindows ends the window programs, which outlive their agent.
func (d *demo) closeWindows() {
	found, _ := d.windows(context.Background(), "--class", "plimsoll")
	for _, window := range found {
		var pid int
		out, err := d.command(context.Background(), "xdotool", "getwindowpid", window).Output()
		if _, scanned := fmt.Sscan(string(out), &pid); err == nil && scanned == nil && pid > 1 {
			end(pid)
		}
	}
}

func (d *demo) languageOption() []string {
	if d.language == "" {
		return nil
	}
	return []string{"--lang", d.language}
}

// awaitItem waits for the tray icon to be registered.
func (d *demo) awaitItem(ctx context.Context) error {
	watcher := d.bus.Object("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
	return await(ctx, "the tray icon", 20*time.Second, func() error {
		value, err := watcher.GetProperty("org.kde.StatusNotifierWatcher.RegisteredStatusNotifierItems")
		if err != nil {
			return err
		}
		if items, _ := value.Value().([]string); len(items) == 0 {
			return errors.New("no item is registered")
		}
		return nil
	})
}

// awaitScene waits until two models are resident and a critical alert stands.
// When that does not come it says so, which is no error.
func (d *demo) awaitScene(ctx context.Context, client *api.Client) (string, error) {
	watch, cancel := context.WithTimeout(ctx, scenePatience)
	defer cancel()
	found := errors.New("found")
	err := client.Watch(watch, monitor.Options{}, func(u monitor.Update) error {
		critical := slices.ContainsFunc(u.Alerts, func(a monitor.Alert) bool { return a.Severity == monitor.SeverityCritical })
		if s := u.Snapshot; s != nil && critical && len(s.Residents) >= 2 && s.Awake != nil && *s.Awake >= sceneHistory {
			return found
		}
		return nil
	})
	switch {
	case errors.Is(err, found):
		return "", nil
	case watch.Err() != nil && ctx.Err() == nil:
		return "The pictures show what there is: no critical alert came up in time.", nil
	}
	return "", err
}

// awaitNotification waits until the notification of the scene's alert is shown.
func (d *demo) awaitNotification(ctx context.Context) error {
	return await(ctx, "the notification", 5*time.Second, func() error {
		found, err := d.windows(ctx, "--class", "dunst")
		if err == nil && len(found) == 0 {
			err = errors.New("none is shown")
		}
		return err
	})
}

// terminal prints the agent's own view of the same moment, and keeps it if wanted.
func (d *demo) terminal(ctx context.Context) error {
	argv := append([]string{"bin/plimsoll", "--socket", d.socket}, d.languageOption()...)
	out, err := d.command(ctx, append(argv, "status")...).Output()
	if err != nil {
		return fmt.Errorf("asking for the status: %w", err)
	}
	os.Stdout.Write(out)
	fmt.Println()
	if !d.text {
		return nil
	}
	path := filepath.Join(d.folder, "terminal"+d.suffix+".txt")
	if err := os.WriteFile(path, out, 0o644); err != nil {
		return fmt.Errorf("keeping the status: %w", err)
	}
	fmt.Println(path)
	return nil
}

// save writes a picture and says where.
func (d *demo) save(name string, picture image.Image) error {
	path := filepath.Join(d.folder, name+d.suffix+".png")
	if err := write(path, picture); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
