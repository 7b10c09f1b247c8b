package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/tray"
	"plimsoll/app/view"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
)

// unseenDemo is how long a demo runs that nobody can look at, and unseenSpeed how
// fast its time passes: enough for models to load and answer and for the machine
// to swap, and not so much that the day's swap-out buries that under its own warning.
const (
	unseenDemo  = 20 * time.Second
	unseenSpeed = 2
)

// demoSeed makes every demo the same one.
const demoSeed = 5

// demoCommand runs the whole program on a simulated Mac and model server.
func (p *program) demoCommand() *cobra.Command {
	d := &demo{program: p}
	cmd := p.command("demo", "demo", groupRun, func(cmd *cobra.Command, _ []string) error {
		if d.speed < 0 || d.speed > 1000 {
			return misused(cmd, "cli.usage.speed", view.Args{"Value": d.speed})
		}
		return d.run(cmd.Context())
	})
	cmd.Flags().DurationVar(&d.limit, "for", 0, p.words.Text("cli.demo.for"))
	cmd.Flags().Float64Var(&d.speed, "speed", 0, p.words.Text("cli.demo.speed"))
	cmd.Flags().StringVar(&d.pictures, "pictures", "", p.words.Text("cli.demo.pictures"))
	cmd.MarkFlagDirname("pictures")
	cmd.Args = takes()
	return cmd
}

// demo is one run: its own socket, settings and server, and nothing of this
// machine's.
type demo struct {
	program  *program
	limit    time.Duration
	speed    float64
	pictures string

	screen, terminal bool
}

func (d *demo) run(ctx context.Context) error {
	p := d.program
	d.terminal = p.terminal(p.out)
	d.screen = p.goos == "darwin" || p.getenv("DISPLAY") != "" || p.getenv("WAYLAND_DISPLAY") != ""
	unseen := !d.terminal && !d.screen
	if d.limit == 0 && unseen {
		d.limit = unseenDemo
	}
	if d.speed == 0 {
		d.speed = 1
		if unseen {
			d.speed = unseenSpeed
		}
	}
	if d.pictures == "" && unseen {
		d.pictures = "demo-pictures"
	}
	folder, err := os.MkdirTemp("", "plimsoll-demo-") // mode 0700
	if err != nil {
		return fmt.Errorf("making the demo's folder: %w", err)
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "agent.sock")
	if p.socketFlag != "" {
		if socket, err = api.CheckPath(p.socketFlag); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return d.simulate(ctx, stop, socket, filepath.Join(folder, "settings.json"))
}

// simulate starts the Mac and its server and runs the agent on them.
func (d *demo) simulate(ctx context.Context, stop func(), socket, settings string) error {
	p := d.program
	clock := sim.NewClock(time.Now(), d.speed)
	mac := sim.New(sim.Config{Clock: clock, Seed: demoSeed, Auto: true, Slots: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening the demo's model server: %w", err)
	}
	served := make(chan error, 1)
	go func() { served <- mac.Serve(ctx, l) }()
	seen := make(chan struct{})
	err = p.runAgent(ctx, agentConfig{
		socket: socket, history: filepath.Join(filepath.Dir(settings), "history.db"),
		settings: &settingsFile{path: settings, value: api.Settings{Language: p.words.Language()}},
		silent:   d.terminal && !d.screen, // the live view has the terminal
		local:    mac, clock: clock, simulated: true, tray: tray.Available() && (d.screen || d.terminal),
		server: func(s api.Settings) (backend.Backend, error) {
			if s.Server != "" {
				return backend.NewOllama(s.Server)
			}
			return backend.NewOllama("http://" + l.Addr().String())
		},
		endProcess: mac.EndProcess, limiter: newDemoLimit(mac),
		listening: func(a *agent) {
			p.say(p.errs, "cli.demo.started", view.Args{"Socket": socket, "Server": l.Addr().String()})
			go func() {
				defer close(seen)
				defer stop()
				defer a.windows.close()
				d.show(ctx, a)
			}()
		},
	})
	stop()
	if err == nil {
		<-seen
		err = <-served
	}
	return err
}

// show is what a person sees of the demo until it ends: the window where there
// is a display, else the live view in the terminal; pictures at the end.
func (d *demo) show(ctx context.Context, a *agent) {
	p := d.program
	limited := ctx
	if d.limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, d.limit)
		defer cancel()
	}
	client := api.Dial(a.config.socket)
	switch {
	case d.screen:
		if err := a.OpenWindow(""); err != nil {
			p.complain(p.words.Error(err))
		}
		<-limited.Done()
	case d.terminal:
		if err := p.watchStatus(limited, client); err != nil && limited.Err() == nil {
			p.complain(p.words.Error(err))
		}
	default:
		<-limited.Done()
	}
	if ctx.Err() == nil && d.pictures != "" {
		if err := d.takePictures(ctx, client); err != nil {
			p.complain(p.words.Error(err))
		}
	}
}

// takePictures leaves the window as a picture and the terminal view as text, and
// prints where they are.
func (d *demo) takePictures(ctx context.Context, client *api.Client) error {
	p := d.program
	folder, err := filepath.Abs(d.pictures)
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return fmt.Errorf("making the folder for pictures: %w", err)
	}
	update, err := oneUpdate(ctx, client, false)
	if err != nil {
		return err
	}
	page := p.page()
	page.Colour = false
	text := page.Status(p.words.Render(update, p.now(update)))
	terminal := filepath.Join(folder, "terminal.txt")
	if err := os.WriteFile(terminal, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the terminal view: %w", err)
	}
	fmt.Fprintf(p.out, "%s\n", text)
	p.say(p.out, "cli.demo.picture", view.Args{"File": terminal})
	window := filepath.Join(folder, "window.png")
	if err := d.windowPicture(ctx, client.Path(), window); err != nil {
		p.say(p.errs, "cli.demo.no_picture", view.Args{"Reason": p.words.Error(err)})
		return nil
	}
	p.say(p.out, "cli.demo.picture", view.Args{"File": window})
	return nil
}

// pictureTime is how long the window program may take to draw itself.
const pictureTime = 20 * time.Second

// windowPicture lets the window program draw itself into a file. It needs no
// display for that.
func (d *demo) windowPicture(ctx context.Context, socket, file string) error {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	program, err := windowProgram(d.program.getenv, self)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	said, err := exec.CommandContext(ctx, program, "--socket", socket, "--picture", file, "--lang", d.program.words.Language()).CombinedOutput()
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return api.Failure("window_failed", program, errors.Join(err, errors.New(string(said))))
	}
	return nil
}
