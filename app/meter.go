package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/meter"
)

// meterAddress is where the meter listens when nothing else is asked for: the port
// after Ollama's own.
const meterAddress = "127.0.0.1:11435"

// meterFlags are what the meter is asked for, on the command line or as a service.
type meterFlags struct {
	listen, upstream string
	public, json     bool
	pace             time.Duration
	context, queue   int
	over             string
}

// meterCommand carries requests to a model server and counts what passes.
func (p *program) meterCommand() *cobra.Command {
	var f meterFlags
	cmd := p.command("meter", "meter", groupRun, func(cmd *cobra.Command, _ []string) error {
		return p.runMeter(cmd, f)
	})
	p.meterFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.json, "json", false, p.words.Text("meter.flag.json"))
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := p.noSuchCommand(cmd, args)
		if wrong, ok := errors.AsType[*failure](err); ok {
			wrong.hint = cmd.CommandPath() + " --help"
		}
		return err
	}
	cmd.AddCommand(p.meterInstallCommand(), p.meterUninstallCommand(), p.meterStatusCommand())
	return cmd
}

// meterFlags gives a command the flags that a service has too.
func (p *program) meterFlags(cmd *cobra.Command, f *meterFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", meterAddress, p.words.Text("meter.flag.listen"))
	flags.StringVar(&f.upstream, "upstream", "", p.words.Text("meter.flag.upstream"))
	flags.BoolVar(&f.public, "public", false, p.words.Text("meter.flag.public"))
	flags.DurationVar(&f.pace, "pace", 0, p.words.Text("meter.flag.pace"))
	flags.IntVar(&f.context, "max-context", monitor.BoundaryContext, p.words.Text("meter.flag.max_context"))
	flags.IntVar(&f.queue, "max-queue", monitor.BoundaryQueue, p.words.Text("meter.flag.max_queue"))
	flags.StringVar(&f.over, "over", "tag", p.words.Text("meter.flag.over"))
	cmd.RegisterFlagCompletionFunc("over", cobra.FixedCompletions([]string{"tag", "refuse"}, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses flags that no meter could work with, and returns the addresses
// that the others mean.
func (p *program) checkMeter(cmd *cobra.Command, f meterFlags) (listen string, upstream *url.URL, err error) {
	switch {
	case f.over != "tag" && f.over != "refuse":
		return "", nil, misused(cmd, "meter.usage.over", view.Args{"Value": f.over})
	case f.context < 0 || f.queue < 0:
		return "", nil, misused(cmd, "meter.usage.bound", view.Args{"Value": min(f.context, f.queue)})
	case f.pace < 0 || f.pace > longestPace:
		return "", nil, misused(cmd, "meter.usage.pace", view.Args{"Value": f.pace.String()})
	}
	listen, open, err := meterListen(f.listen)
	if err != nil {
		return "", nil, misused(cmd, "meter.usage.listen", view.Args{"Value": f.listen})
	}
	if open && !f.public {
		return "", nil, misused(cmd, "meter.usage.public", view.Args{"Value": f.listen})
	}
	upstream, err = p.meterUpstream(f)
	if err != nil {
		return "", nil, misused(cmd, "meter.usage.upstream", view.Args{"Value": backend.WithoutUser(p.upstreamText(f)), "Reason": err.Error()})
	}
	return listen, upstream, nil
}

// longestPace is the longest that a request may be held back: a client that waits
// for longer has given up.
const longestPace = 10 * time.Minute

// meterListen reads an address to listen at: a port, a host, or both. open says
// that others than this machine can reach it.
func meterListen(text string) (address string, open bool, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if host, port = strings.Trim(text, "[]"), ""; strings.Trim(text, "0123456789") == "" {
			host, port = "127.0.0.1", text
		}
	}
	if port == "" {
		_, port, _ = net.SplitHostPort(meterAddress)
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n > 65535 {
		return "", false, fmt.Errorf("%q is no port", port)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		open = !ip.Unmap().IsLoopback()
	case host == "":
		open = true // every address of the machine
	case strings.EqualFold(host, "localhost"):
		host = "127.0.0.1"
	case strings.ContainsAny(host, " /:@"):
		return "", false, fmt.Errorf("%q is no host", host)
	default:
		open = true // a name may lead anywhere
	}
	return net.JoinHostPort(host, port), open, nil
}

// upstreamText is the server's address as it was given.
func (p *program) upstreamText(f meterFlags) string {
	for _, text := range []string{f.upstream, p.serverFlag, p.getenv("OLLAMA_HOST")} {
		if text != "" {
			return text
		}
	}
	return ""
}

func (p *program) meterUpstream(f meterFlags) (*url.URL, error) {
	return backend.ParseHost(p.upstreamText(f))
}

// meterConfig is the meter's part of the flags.
func (f meterFlags) config(upstream *url.URL) meter.Config {
	c := meter.Config{
		Upstream: upstream, Pace: f.pace,
		Boundary: meter.Boundary{Context: f.context, Requests: f.queue, Refuse: f.over == "refuse"},
	}
	if !backend.Nearby(upstream) {
		c.Proxy = http.ProxyFromEnvironment
	}
	return c
}

// listenMeter takes the port. Where the usual one is taken and nobody asked for
// it by name, another will do.
func (p *program) listenMeter(ctx context.Context, cmd *cobra.Command, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	args := view.Args{"Address": address, "Process": p.holder(address), "Reason": err.Error()}
	switch {
	case !addressInUse(err):
		return nil, failed("meter.no_listen", args)
	case askMeter(ctx, address) == nil:
		return nil, failed("meter.running", args)
	case cmd.Flags().Changed("listen"):
		return nil, failed("meter.port_taken", args)
	}
	p.say(p.errs, "meter.other_port", args)
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, failed("meter.no_listen", view.Args{"Address": "127.0.0.1:0", "Reason": err.Error()})
	}
	return l, nil
}
