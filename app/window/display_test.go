package main

import (
	"bytes"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// startDisplay starts Xvfb on a display that it chooses, and a window manager.
func startDisplay(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "900x760x24", "-nolisten", "tcp", "-noreset", "+extension", "GLX")
	x.ExtraFiles = []*os.File{write}
	run(t, x)
	write.Close()
	number := make([]byte, 16)
	n, err := read.Read(number)
	if err != nil {
		t.Fatalf("Xvfb tells no display: %v", err)
	}
	display := ":" + strings.TrimSpace(string(number[:n]))
	// An Xvfb that has just ended takes the socket of this name with it, and a client
	// of it that is left may knock here: it answers before anything depends on it.
	eventually(t, "the display answers", func() (struct{}, bool) {
		cmd := exec.Command("xdotool", "getdisplaygeometry")
		cmd.Env = append(os.Environ(), "DISPLAY="+display)
		return struct{}{}, cmd.Run() == nil
	})
	wm := exec.Command("openbox")
	wm.Env = append(os.Environ(), "DISPLAY="+display, "HOME="+t.TempDir())
	run(t, wm)
	return display
}

// run starts a program and ends it with the test. The channel tells how it ended.
func run(t *testing.T, cmd *exec.Cmd) <-chan error {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	gone := make(chan struct{})
	go func() { ended <- cmd.Wait(); close(gone) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-gone
	})
	return ended
}

// find is the number of the window once the window manager has placed it.
func find(t *testing.T, display string) string {
	t.Helper()
	return eventually(t, "the window is on the screen", func() (string, bool) {
		cmd := exec.Command("xdotool", "search", "--onlyvisible", "--name", "^Plimsoll$")
		cmd.Env = append(os.Environ(), "DISPLAY="+display)
		out, _ := cmd.Output()
		id := strings.TrimSpace(string(out))
		return id, regexp.MustCompile(`^\d+$`).MatchString(id)
	})
}

func tool(t *testing.T, display, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+display)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return out
}

func screenshot(t *testing.T, display, window string) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(tool(t, display, "import", "-window", window, "png:-")))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// colours is how many different colours a picture has.
func colours(img image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// different is the share of the pixels that differ.
func different(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	n := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return float64(n) / float64(a.Bounds().Dx()*a.Bounds().Dy())
}

// eventually asks until it is so.
func eventually[T any](t *testing.T, what string, ask func() (T, bool)) T {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(limit); ; {
		if value, ok := ask(); ok {
			return value
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// keepPicture leaves a picture where PLIMSOLL_PICTURES says, for people to see.
func keepPicture(t *testing.T, name string, img image.Image) {
	t.Helper()
	if folder := os.Getenv("PLIMSOLL_PICTURES"); folder != "" {
		if err := write(filepath.Join(folder, name), img); err != nil {
			t.Error(err)
		}
	}
}

// output collects what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
