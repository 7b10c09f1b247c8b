package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"plimsoll/assets"
)

// The screen is large enough for the window, the notifications and the tray's menu
// beside each other.
const (
	screenWidth  = 1440
	screenHeight = 1000
)

//go:embed home
var home embed.FS

// session is a running desktop.
type session struct {
	folder   string   // home and everything else
	env      []string // of all programs in it
	bus      *dbus.Conn
	children []*exec.Cmd
}

// start brings the desktop up and waits until its tray can take items.
func start(ctx context.Context) (*session, error) {
	folder, err := os.MkdirTemp("", "plimsoll-desktop-")
	if err != nil {
		return nil, fmt.Errorf("making the desktop's folder: %w", err)
	}
	s := &session{folder: folder}
	if err := s.start(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *session) start(ctx context.Context) error {
	if err := s.furnish(); err != nil {
		return err
	}
	display, err := s.announced("Xvfb", "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", screenWidth, screenHeight), "-nolisten", "tcp", "-noreset", "+extension", "GLX")
	if err != nil {
		return err
	}
	s.env = append(s.env, "DISPLAY=:"+display)
	// The bus starts programs itself and hands its own environment on to them, so
	// home and display are set before it.
	address, err := s.announced("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=3")
	if err != nil {
		return err
	}
	s.env = append(s.env, "DBUS_SESSION_BUS_ADDRESS="+address)
	if s.bus, err = dbus.Connect(address); err != nil {
		return fmt.Errorf("connecting to the desktop's bus: %w", err)
	}
	for _, argv := range [][]string{
		{"openbox", "--sm-disable"},
		{"xfce4-panel", "--disable-wm-check", "--sm-client-disable"},
		{"dunst"},
	} {
		if _, err := s.spawn(argv...); err != nil {
			return err
		}
	}
	// ImageMagick paints the background; without it the desktop is black.
	_ = s.command(ctx, "display", "-window", "root", "-size", fmt.Sprintf("%dx%d", screenWidth, screenHeight), "gradient:#3c5a73-#16222c").Run()
	for _, name := range []string{"org.kde.StatusNotifierWatcher", "org.freedesktop.Notifications"} {
		err := await(ctx, name, 20*time.Second, func() error {
			var owned bool
			if err := s.bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned); err != nil {
				return err
			}
			if !owned {
				return errors.New("nobody owns the name")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// furnish makes the home: the panel's and the notifications' settings, and the
// program's own Chinese font for menus, so that no font package is needed.
func (s *session) furnish() error {
	run := filepath.Join(s.folder, "run")
	fonts := filepath.Join(s.folder, ".local/share/fonts")
	panel := filepath.Join(s.folder, ".config/xfce4/xfconf/xfce-perchannel-xml")
	dunst := filepath.Join(s.folder, ".config/dunst")
	for _, dir := range []string{run, fonts, panel, dunst} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the desktop's home: %w", err)
		}
	}
	files := map[string][]byte{
		filepath.Join(fonts, "han-regular.otf"): assets.HanRegular,
		filepath.Join(fonts, "han-bold.otf"):    assets.HanBold,
	}
	for path, name := range map[string]string{filepath.Join(panel, "xfce4-panel.xml"): "xfce4-panel.xml", filepath.Join(dunst, "dunstrc"): "dunstrc"} {
		data, err := home.ReadFile("home/" + name)
		if err != nil {
			return err
		}
		files[path] = data
	}
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return fmt.Errorf("making the desktop's home: %w", err)
		}
	}
	// Nothing of the person's own session may leak in.
	s.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		for _, prefix := range []string{"HOME=", "DISPLAY=", "WAYLAND_", "DBUS_", "XDG_", "XAUTHORITY=", "SESSION_MANAGER=", "GTK_", "LANG=", "LANGUAGE=", "LC_", "PLIMSOLL_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return false
	})
	s.env = append(s.env, "HOME="+s.folder, "XDG_RUNTIME_DIR="+run, "XDG_SESSION_TYPE=x11", "LANG=C.UTF-8",
		"NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory", "GTK_USE_PORTAL=0", "LIBGL_ALWAYS_SOFTWARE=1")
	return nil
}

// command prepares a program on this desktop. Ended with ctx.
func (s *session) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = s.env
	return cmd
}

// spawn starts a program that stays until the desktop ends, or it is stopped. Its
// output goes to a file: a pipe would stay open in what the program starts.
func (s *session) spawn(argv ...string) (*exec.Cmd, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = s.env
	log, err := os.Create(s.logOf(cmd))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	defer log.Close() // the program has it
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, s.keep(cmd)
}

func (s *session) logOf(cmd *exec.Cmd) string {
	return filepath.Join(s.folder, filepath.Base(cmd.Args[0])+".log")
}

// said is what a program printed, or why that is not known.
func (s *session) said(cmd *exec.Cmd) string {
	text, err := os.ReadFile(s.logOf(cmd))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is the end of a text, for errors.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// announced starts a program that writes one line to its file 3 when it is ready,
// and returns the line.
func (s *session) announced(argv ...string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = s.env
	cmd.ExtraFiles = []*os.File{w}
	err = s.keep(cmd)
	w.Close()
	if err != nil {
		return "", err
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || line == "" {
		return "", fmt.Errorf("waiting for %s: %w", argv[0], err)
	}
	return strings.TrimSpace(line), nil
}

// keep starts a program in a group of its own, so that an interrupt at the
// terminal reaches this program alone, which then ends the others in order.
func (s *session) keep(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Args[0], err)
	}
	s.children = append(s.children, cmd)
	return nil
}

// end ends what was started, the last first, and removes the folder.
func (s *session) end() {
	if s.bus != nil {
		s.endActivated("org.xfce.Xfconf")
		s.bus.Close()
	}
	for len(s.children) > 0 {
		s.stop(s.children[len(s.children)-1])
	}
	os.RemoveAll(s.folder)
}

// endActivated ends a program that the bus started.
func (s *session) endActivated(name string) {
	var pid uint32
	if s.bus.BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, name).Store(&pid) == nil {
		end(int(pid))
	}
}

// end ends a program that another one started, and waits until it is gone: it
// would write into the folder while that is removed.
func end(pid int) {
	_ = syscall.Kill(pid, syscall.SIGTERM)
	_ = await(context.Background(), "a program to end", 3*time.Second, func() error {
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
			return errors.New("it still runs")
		}
		return nil
	})
}

// stop ends a program and what it started: politely, then not.
func (s *session) stop(cmd *exec.Cmd) {
	s.children = slices.DeleteFunc(s.children, func(c *exec.Cmd) bool { return c == cmd })
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	timer := time.AfterFunc(3*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	_ = cmd.Wait()
}
