package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
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
	out, err := s.command(ctx, "xdotool", "getwindowgeometry", "--shell", window).Output()
	if err != nil {
		return image.Rectangle{}, fmt.Errorf("asking for a window's place: %w", err)
	}
	return parsePlace(string(out))
}

// parsePlace reads the answer of xdotool getwindowgeometry --shell.
func parsePlace(text string) (image.Rectangle, error) {
	values := map[string]int{}
	for line := range strings.Lines(text) {
		var number int
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, err := fmt.Sscan(value, &number); ok && err == nil {
			values[name] = number
		}
	}
	if values["WIDTH"] <= 0 || values["HEIGHT"] <= 0 {
		return image.Rectangle{}, fmt.Errorf("no place in %q", text)
	}
	x, y := values["X"], values["Y"]
	return image.Rect(x, y, x+values["WIDTH"], y+values["HEIGHT"]), nil
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

// The window's place on the screen, left of the menu.
const windowX, windowY = 60, 70

// awaitWindow waits for Plimsoll's window to be there, in its place and drawn.
func (d *demo) awaitWindow(ctx context.Context) (picture image.Image, err error) {
	err = await(ctx, "the window", 20*time.Second, func() error {
		found, err := d.windows(ctx, "--class", "plimsoll")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errors.New("there is none")
		}
		window := found[len(found)-1]
		if at, err := d.place(ctx, window); err != nil || at.Min.X > windowX+20 {
			_ = d.command(ctx, "xdotool", "windowmove", window, fmt.Sprint(windowX), fmt.Sprint(windowY)).Run()
			return errors.New("it is not in its place")
		}
		if picture, err = d.part(ctx, window); err != nil {
			return err
		}
		if n := colours(picture); n < enoughColours {
			return fmt.Errorf("it is empty: %d colours", n)
		}
		return nil
	})
	return picture, err
}

// openMenu clicks the tray icon and returns a picture of the menu that comes up,
// which stays open. The panel does not tell where an icon stands, but that icons
// stand at its right edge: the first place where a click opens a menu is it.
func (d *demo) openMenu(ctx context.Context) (image.Image, error) {
	before, err := d.windows(ctx, "--class", ".*")
	if err != nil {
		return nil, err
	}
	var picture image.Image
	for x := screenWidth - panelHeight/2; x > screenWidth-8*panelHeight; x -= panelHeight / 2 {
		click := d.command(ctx, "xdotool", "mousemove", fmt.Sprint(x), fmt.Sprint(panelHeight/2), "click", "1")
		if err := click.Run(); err != nil {
			return nil, fmt.Errorf("clicking the tray icon: %w", err)
		}
		err = await(ctx, "the menu", 2*time.Second, func() error {
			now, err := d.windows(ctx, "--class", ".*")
			if err != nil {
				return err
			}
			for _, window := range now {
				if slices.Contains(before, window) {
					continue
				}
				place, err := d.place(ctx, window)
				if err != nil || place.Dx() < 100 || place.Dy() < 100 {
					continue // a tooltip, or gone again
				}
				if picture, err = d.part(ctx, window); err != nil {
					return err
				}
				if n := colours(picture); n < enoughColours {
					return fmt.Errorf("it is empty: %d colours", n)
				}
				return nil
			}
			return errors.New("no click opened one")
		})
		if err == nil {
			return picture, nil
		}
	}
	return nil, err
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
