package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/meter"
)

const (
	// meterFarewell is how long requests in flight may take when the meter is asked
	// to end. A second signal ends it at once.
	meterFarewell = 30 * time.Second
	// lineQueue is how many lines of --json may wait for their reader, lastLines
	// how long the last ones may at the end.
	lineQueue = 4096
	lastLines = 2 * time.Second
	// lastReports is how long the last reports may take to reach an agent.
	lastReports = 500 * time.Millisecond
	// askPatience is for a question to a meter on this machine.
	askPatience = 3 * time.Second
)

// runMeter is the meter from its port to its end.
func (p *program) runMeter(cmd *cobra.Command, f meterFlags) error {
	address, upstream, err := p.checkMeter(cmd, f)
	if err != nil {
		return err
	}
	// A reader of --json that leaves must not end the meter, as it ends other programs.
	signal.Ignore(syscall.SIGPIPE)
	ctx := cmd.Context()
	l, err := p.listenMeter(ctx, cmd, address)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := meter.Loops(ctx, l.Addr(), upstream); err != nil {
		return p.looping(f, upstream)
	}
	reports, lines := api.NewReports(), newLines(p.out)
	config := f.config(upstream)
	config.Report = reports.Put
	if f.json {
		config.Finished = lines.put
	}
	m := meter.New(config)
	defer m.Close()
	link, unlink := context.WithCancel(context.WithoutCancel(ctx)) // the last reports go out after the signal
	var links sync.WaitGroup
	defer func() { unlink(); links.Wait() }()
	p.linkMeter(link, &links, m, reports, f.pace > 0)
	p.announceMeter(l.Addr(), upstream, address, f)
	err = p.serveMeter(ctx, l, m, f, upstream)
	last, cancel := context.WithTimeout(link, lastReports)
	defer cancel()
	reports.Drain(last)
	if lost := lines.close(); lost > 0 {
		p.say(p.errs, "meter.lines_lost", view.Args{"Count": lost})
	}
	return err
}

// looping is the failure of a meter that would ask itself.
func (p *program) looping(f meterFlags, upstream *url.URL) error {
	id := "meter.loop"
	if f.upstream == "" && p.serverFlag == "" && p.getenv("OLLAMA_HOST") != "" {
		id = "meter.loop_env" // clients were led to the meter by the variable that names the server
	}
	return failed(id, view.Args{"Address": upstream.Host})
}

// announceMeter tells where the meter listens. The person who let it choose its
// port needs that on standard output, where a program reads it.
func (p *program) announceMeter(at net.Addr, upstream *url.URL, asked string, f meterFlags) {
	own := "http://" + clientAddress(at)
	p.say(p.errs, "meter.listening", view.Args{"Address": own, "Server": upstream.Redacted()})
	if f.public {
		p.say(p.errs, "meter.public")
	}
	if _, port, _ := net.SplitHostPort(asked); port != "0" {
		return
	}
	if f.json {
		json.NewEncoder(p.out).Encode(map[string]string{"listening": own}) //nolint:errcheck // nobody reads then
		return
	}
	fmt.Fprintln(p.out, own)
}

// clientAddress is how a client on this machine reaches a listener.
func clientAddress(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return at.String()
}

// linkMeter connects the meter with the agent: what it counts, and, where requests
// are paced, whether the GPU is slowed. Neither is needed for a request to pass.
func (p *program) linkMeter(ctx context.Context, links *sync.WaitGroup, m *meter.Meter, reports *api.Reports, paced bool) {
	path, _, err := p.socket()
	if err != nil {
		p.complain(p.words.Error(err))
		return
	}
	client := api.Dial(path)
	links.Go(func() { reports.Run(ctx, client, nil) })
	if !paced {
		return
	}
	links.Go(func() {
		for ctx.Err() == nil {
			client.Watch(ctx, monitor.Options{}, func(u monitor.Update) error { //nolint:errcheck // the agent comes back or not
				m.SetThrottled(u.Snapshot != nil && u.Snapshot.Throttle != nil && u.Snapshot.Throttle.Throttled)
				return nil
			})
			m.SetThrottled(false) // nobody can tell
			select {
			case <-ctx.Done():
			case <-p.clock.After(reconnectAfter):
			}
		}
	})
}

// serveMeter answers until ctx ends, then lets what is in flight come to its end.
func (p *program) serveMeter(ctx context.Context, l net.Listener, m *meter.Meter, f meterFlags, upstream *url.URL) error {
	web := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	looped := make(chan error, 1)
	go func() {
		err := m.Probe(ctx)
		switch {
		case errors.Is(err, meter.ErrLoop):
			looped <- p.looping(f, upstream)
		case err != nil && ctx.Err() == nil:
			p.say(p.errs, "meter.no_server", view.Args{"Server": upstream.Host})
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serving the meter: %w", err)
	case err := <-looped:
		web.Close()
		return err
	case <-ctx.Done():
	}
	if n := m.InFlight(); n > 0 {
		p.say(p.errs, "meter.ending", view.Args{"Count": n, "Limit": p.words.Duration(meterFarewell)})
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), meterFarewell)
	defer cancel()
	if web.Shutdown(last) != nil {
		web.Close()
	}
	return nil
}

// lines write what is finished to standard output, one line each. A reader that
// does not read holds no request up: lines are dropped and counted then.
type lines struct {
	queue chan meter.Finished
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	lost   int
}

func newLines(to io.Writer) *lines {
	l := &lines{queue: make(chan meter.Finished, lineQueue), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for f := range l.queue {
			json.NewEncoder(to).Encode(f) //nolint:errcheck // a reader that left reads nothing
		}
	}()
	return l
}

func (l *lines) put(f meter.Finished) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.queue <- f:
	default:
		l.lost++
	}
}

// close writes what waits, for a moment, and tells how many lines were dropped.
func (l *lines) close() (lost int) {
	l.mu.Lock()
	l.closed = true
	close(l.queue)
	lost = l.lost
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(lastLines):
		lost += len(l.queue)
	}
	return lost
}

func addressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// holder names the process that listens at an address, "" when nobody can tell.
func (p *program) holder(address string) string {
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	if err != nil {
		return ""
	}
	machine, err := p.machine()
	if err != nil {
		return ""
	}
	ports, ok := machine.(interface {
		Listener(port int) (*metal.Process, error)
	})
	if !ok {
		return holderByTool(port)
	}
	held, err := ports.Listener(port)
	if err != nil || held.Name == "" {
		return ""
	}
	return fmt.Sprintf("%s, PID %d", held.Name, held.PID)
}

// holderByTool asks lsof, which macOS has: a program may not look into others' files
// itself there. It runs only when a port turned out to be taken.
func holderByTool(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	text, err := exec.CommandContext(ctx, "lsof", "-nP", "-iTCP:"+strconv.Itoa(port), "-sTCP:LISTEN", "-Fpc").Output()
	if err != nil {
		return ""
	}
	var pid, name string
	for line := range strings.Lines(string(text)) { // p4101, then collama
		switch value := strings.TrimSpace(line[1:]); line[0] {
		case 'p':
			pid = value
		case 'c':
			name = value
		}
		if pid != "" && name != "" {
			return name + ", PID " + pid
		}
	}
	return ""
}

// askMeter asks a meter at an address for its status.
func askMeter(ctx context.Context, address string) (err error) {
	_, err = meterStatusOf(ctx, address)
	return err
}

// meterStatusOf fails when no meter answers at an address.
func meterStatusOf(ctx context.Context, address string) (meter.Status, error) {
	var status meter.Status
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return status, err
	}
	r.Header.Set(meter.StatusHeader, "status")
	web := &http.Transport{DisableKeepAlives: true} // no proxy, whatever the variables say
	answer, err := web.RoundTrip(r)
	if err != nil {
		return status, err
	}
	defer answer.Body.Close()
	if answer.Header.Get(meter.StatusHeader) != "status" {
		return status, errors.New("what answers is no meter")
	}
	return status, json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&status)
}
