package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// still asks for a picture of the window.
type still struct {
	file     string // the PNG to write
	updates  string // a recording to draw, one Update a line; "" asks the agent
	language string
	dark     bool
	whole    bool // as high as the page is
	scale    float64
}

// shoot writes a picture of the window, without a display.
func shoot(opts options) error {
	updates, settings, err := material(opts)
	if err != nil {
		return err
	}
	if opts.still.language != "" {
		settings.Language = opts.still.language
	}
	var source agent
	if opts.still.updates == "" {
		path, _, err := agentSocket(opts.socket)
		if err != nil {
			return err
		}
		source = api.Dial(path)
	}
	img := draw(source, updates, settings, opts.page, opts.still)
	return write(opts.still.file, img)
}

// material is what to draw: a recording's updates, or the agent's next one.
func material(opts options) ([]monitor.Update, api.Settings, error) {
	if opts.still.updates != "" {
		updates, err := readUpdates(opts.still.updates)
		return updates, api.Settings{}, err
	}
	path, _, err := agentSocket(opts.socket)
	if err != nil {
		return nil, api.Settings{}, err
	}
	client := api.Dial(path)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	settings, err := client.Settings(ctx)
	if err != nil {
		return nil, settings, err
	}
	var updates []monitor.Update
	done := errors.New("enough")
	err = client.Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
		updates = append(updates, u)
		// The consumers are read only when somebody looks, so the second update
		// is the first whole one.
		if len(updates) > 1 || u.Snapshot != nil && len(u.Snapshot.Consumers) > 0 {
			return done
		}
		return nil
	})
	if errors.Is(err, done) || len(updates) > 0 {
		err = nil
	}
	return updates, settings, err
}

// readUpdates reads a recording.
func readUpdates(file string) ([]monitor.Update, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var updates []monitor.Update
	for d := json.NewDecoder(bufio.NewReader(in)); d.More(); {
		var u monitor.Update
		if err := d.Decode(&u); err != nil {
			return nil, fmt.Errorf("reading update %d of %s: %w", len(updates)+1, file, err)
		}
		updates = append(updates, u)
	}
	if len(updates) == 0 {
		return nil, api.Failure("no_updates", file+" holds no update", nil)
	}
	return updates, nil
}

// draw makes the picture with Fyne's software renderer. What a page asks for it asks
// of source; nil is nobody.
func draw(source agent, updates []monitor.Update, settings api.Settings, page string, how still) image.Image {
	variant := theme.VariantLight
	if how.dark {
		variant = theme.VariantDark
	}
	stage := test.NewApp()
	stage.Settings().SetTheme(appearance{forced: &variant})
	var last picture
	session := newSession(nil, nil, func(p picture) { last = p })
	session.use(settings)
	for _, u := range updates {
		session.take(u)
	}
	if len(updates) > 0 {
		if s := session.update.Snapshot; s != nil { // as it looked then
			session.now = func() time.Time { return s.Taken }
		}
	}
	session.change(func() {})
	w := newWindow(stage.NewWindow(""), source, nil)
	w.work, w.do = func(f func()) { f() }, func(f func()) { f() }
	defer w.Close()
	if how.scale > 0 {
		w.Canvas().(software.WindowlessCanvas).SetScale(float32(how.scale))
	}
	// A curve of one moment is none.
	show(w.overview.charts, len(session.ring.points) > 2)
	w.apply(last)
	w.show(page)
	w.Resize(windowSize)
	if how.whole {
		w.Resize(fyne.NewSize(windowSize.Width, w.wholeHeight()))
	}
	return w.Canvas().Capture()
}

// wholeHeight is the height at which the page needs no scrolling.
func (w *window) wholeHeight() float32 {
	scroll := w.overview.scroll
	switch w.page {
	case pagePlanner:
		scroll = w.planner.scroll
	case pageLimit:
		scroll = w.limit.scroll
	case pageSettings:
		scroll = w.settings.scroll
	}
	return w.Canvas().Size().Height - scroll.Size().Height + heightFor(scroll.Content, windowSize.Width) + margin
}

// write replaces the file only by a whole picture.
func write(file string, img image.Image) error {
	out, err := os.CreateTemp(filepath.Dir(file), ".picture-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if err := png.Encode(out, img); err != nil {
		out.Close()
		return fmt.Errorf("writing the picture: %w", err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.Chmod(out.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}
