package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// enoughColours is what tells a drawn window from an empty one.
const enoughColours = 24

// panelHeight is the size in home/xfce4-panel.xml.
const panelHeight = 28

// screen is a picture of the whole desktop.
func (s *session) screen(ctx context.Context) (image.Image, error) {
	var errs bytes.Buffer
	cmd := s.command(ctx, "import", "-window", "root", "png:-")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("taking a picture: %w: %s", err, errs.String())
	}
	picture, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("reading the picture: %w", err)
	}
	return picture, nil
}

// part is a picture of one window, as it stands on the screen.
func (s *session) part(ctx context.Context, window string) (image.Image, error) {
	place, err := s.place(ctx, window)
	if err != nil {
		return nil, err
	}
	whole, err := s.screen(ctx)
	if err != nil {
		return nil, err
	}
	place = place.Intersect(whole.Bounds())
	picture := image.NewNRGBA(image.Rect(0, 0, place.Dx(), place.Dy()))
	draw.Draw(picture, picture.Bounds(), whole, place.Min, draw.Src)
	return picture, nil
}

// place is where a window stands on the screen.
func (s *session) place(ctx context.Context, window string) (image.Rectangle, error) {
	// xdotool getwindowgeometry is no help: under a window manager that frames its
	// windows it counts the frame twice.
	out, err := s.command(ctx, "xwininfo", "-id", window).Output()
	if err != nil {
		return image.Rectangle{}, fmt.Errorf("asking for a window's place: %w", err)
	}
	return parsePlace(string(out))
}

// parsePlace reads the answer of xwininfo: the place without the frame.
func parsePlace(text string) (image.Rectangle, error) {
	values := map[string]int{}
	for line := range strings.Lines(text) {
		var number int
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if _, err := fmt.Sscan(value, &number); ok && err == nil {
			values[name] = number
		}
	}
	x, okX := values["Absolute upper-left X"]
	y, okY := values["Absolute upper-left Y"]
	width, height := values["Width"], values["Height"]
	if !okX || !okY || width <= 0 || height <= 0 {
		return image.Rectangle{}, fmt.Errorf("no place in %q", text)
	}
	return image.Rect(x, y, x+width, y+height), nil
}

// windows lists the visible windows whose attribute ("--name", "--class") fits.
func (s *session) windows(ctx context.Context, attribute, pattern string) ([]string, error) {
	out, err := s.command(ctx, "xdotool", "search", "--onlyvisible", attribute, pattern).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, nil // none
	}
	if err != nil {
		return nil, fmt.Errorf("looking for windows: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// windowPlace is where the window is put, left of the notifications and high
// enough to show most of its page.
var windowPlace = image.Rect(50, 70, 50+480, 70+890)

// awaitWindow waits for Plimsoll's window to be there, in its place and drawn.
func (d *demo) awaitWindow(ctx context.Context) (picture image.Image, err error) {
	put := ""
	err = await(ctx, "the window", 20*time.Second, func() error {
		found, err := d.windows(ctx, "--class", "plimsoll")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errors.New("there is none")
		}
		window := found[len(found)-1]
		if put != window {
			if err := d.put(ctx, window); err != nil {
				return err
			}
			put = window
		}
		before, err := d.place(ctx, window)
		if err != nil {
			return err
		}
		if picture, err = d.part(ctx, window); err != nil {
			return err
		}
		after, err := d.place(ctx, window)
		if err != nil {
			return err
		}
		if after != before {
			return fmt.Errorf("it is moving: %v", after)
		}
		// On a busy machine the window takes the size it was made with, and the window
		// manager the place it chose, only after it was put: then it stays there.
		if size := picture.Bounds().Size(); size != after.Size() || size != windowPlace.Size() {
			put = ""
			return fmt.Errorf("it is not in its place yet: %v, of which %v is on the screen", after, size)
		}
		if n := colours(picture); n < enoughColours {
			return fmt.Errorf("it is empty: %d colours", n)
		}
		if !painted(picture) {
			return errors.New("it is not drawn to its edges yet")
		}
		return nil
	})
	return picture, err
}

// put gives the window its place. Whether it came there is seen afterwards.
func (d *demo) put(ctx context.Context, window string) error {
	move := d.command(ctx, "xdotool",
		"windowsize", window, fmt.Sprint(windowPlace.Dx()), fmt.Sprint(windowPlace.Dy()),
		"windowmove", window, fmt.Sprint(windowPlace.Min.X), fmt.Sprint(windowPlace.Min.Y))
	if out, err := move.CombinedOutput(); err != nil {
		return fmt.Errorf("putting it in its place: %w: %s", err, out)
	}
	return nil
}

// edgeJump is how far, of 0xffff, a colour channel may be from its neighbour's
// along a window's edge: the shadow above what scrolls is a soft change, the end
// of what is drawn a hard one.
const edgeJump = 0x1800

// painted tells whether a window is drawn in all its size. Its page has nothing
// but background along its upper and its left edge; a window that grew and is not
// drawn again has another colour there from where it ended before.
func painted(picture image.Image) bool {
	b := picture.Bounds()
	for y := b.Min.Y + 3; y < b.Max.Y; y++ {
		if jump(picture.At(b.Min.X+2, y), picture.At(b.Min.X+2, y-1)) > edgeJump {
			return false
		}
	}
	for x := b.Min.X + 3; x < b.Max.X; x++ {
		if jump(picture.At(x, b.Min.Y+2), picture.At(x-1, b.Min.Y+2)) > edgeJump {
			return false
		}
	}
	return true
}

// jump is the largest difference of two colours' channels.
func jump(c, d color.Color) int {
	r, g, b, _ := c.RGBA()
	r2, g2, b2, _ := d.RGBA()
	most := 0
	for _, step := range []int{int(r) - int(r2), int(g) - int(g2), int(b) - int(b2)} {
		most = max(most, step, -step)
	}
	return most
}

// openMenu opens the menu of the tray icon at x and returns a picture of it; it
// stays open. It is opened twice: the panel asks for a menu's texts when it is
// opened, and gives it the size of what it knew before.
func (d *demo) openMenu(ctx context.Context, x int) (image.Image, error) {
	if err := d.openClose(ctx, x, 5*time.Second); err != nil {
		return nil, err
	}
	closed, err := d.windows(ctx, "--class", ".*")
	if err != nil {
		return nil, err
	}
	if err := d.click(ctx, x); err != nil {
		return nil, err
	}
	var picture image.Image
	err = await(ctx, "the menu", 5*time.Second, func() error {
		menu, err := d.menu(ctx, closed)
		if err != nil {
			return err
		}
		if picture, err = d.part(ctx, menu); err != nil {
			return err
		}
		if n := colours(picture); n < enoughColours {
			return fmt.Errorf("it is empty: %d colours", n)
		}
		return nil
	})
	return picture, err
}

// findIcon finds the tray icon by opening its menu and closing it again. The
// panel does not tell where an icon stands, but that icons stand at its right
// edge: the first place where a click opens a menu is it.
func (d *demo) findIcon(ctx context.Context) (x int, err error) {
	for x = screenWidth - panelHeight/2; x > screenWidth-8*panelHeight; x -= panelHeight / 2 {
		if err = d.openClose(ctx, x, 2*time.Second); err == nil {
			return x, nil
		}
	}
	return 0, err
}

// openClose opens a menu by a click on the panel at x, and closes it again.
func (d *demo) openClose(ctx context.Context, x int, patience time.Duration) error {
	closed, err := d.windows(ctx, "--class", ".*")
	if err != nil {
		return err
	}
	if err := d.click(ctx, x); err != nil {
		return err
	}
	err = await(ctx, "the menu", patience, func() error {
		_, err := d.menu(ctx, closed)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.command(ctx, "xdotool", "key", "Escape").Run(); err != nil {
		return fmt.Errorf("closing the menu: %w", err)
	}
	return await(ctx, "the menu to close", 5*time.Second, func() error {
		if menu, err := d.menu(ctx, closed); err == nil {
			return fmt.Errorf("window %s is still there", menu)
		}
		return nil
	})
}

// click clicks on the panel.
func (d *demo) click(ctx context.Context, x int) error {
	err := d.command(ctx, "xdotool", "mousemove", fmt.Sprint(x), fmt.Sprint(panelHeight/2), "click", "1").Run()
	if err != nil {
		return fmt.Errorf("clicking the tray icon: %w", err)
	}
	return nil
}

// menu is a window that was not there before and is too large for a tooltip.
func (d *demo) menu(ctx context.Context, before []string) (string, error) {
	now, err := d.windows(ctx, "--class", ".*")
	if err != nil {
		return "", err
	}
	for _, window := range now {
		if slices.Contains(before, window) {
			continue
		}
		if place, err := d.place(ctx, window); err == nil && place.Dx() >= 100 && place.Dy() >= 100 {
			return window, nil
		}
	}
	return "", errors.New("no click opened one")
}

// colours counts the colours of a picture, up to enough.
func colours(picture image.Image) int {
	seen := map[[3]uint32]bool{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := picture.At(x, y).RGBA()
			if seen[[3]uint32{r, g, bl}] = true; len(seen) > enoughColours {
				return len(seen)
			}
		}
	}
	return len(seen)
}

func write(path string, picture image.Image) error {
	var buffer bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&buffer, picture); err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.WriteFile(path, buffer.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}
