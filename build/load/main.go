// Command load asks a model server, or a meter before one, as many clients at once
// would, and says what came back.
//
//	go run ./build/load --help
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const help = `Asks a model server, or a meter before one, as many clients at once would.

  go run ./build/load [FLAGS]            ask any server and sum up what came back
  go run ./build/load streams [FLAGS]    random streams through a meter of its own,
                                         every byte compared

Ask a server:
  go run ./build/load --model qwen3:14b --clients 4 --for 1m
  go run ./build/load --url http://127.0.0.1:11435 --model tiny --requests 200 --cancel 0.2 --slow 0.1
  go run ./build/load --path /v1/chat/completions --model m --prompt-words 4000 --output 64 --json

Each client asks, reads the answer, and asks again. With --cancel 0.2 a fifth of the
answers is given up after the first words; with --slow 0.1 a tenth is read at
--slow-rate bytes a second, as a terminal over a bad line would. What counts:

  finished     whole answers            cut       streams that ended without their end
  cancelled    given up on purpose      failed    refused, or errors under any status
  ttft         until the first text     decode    tokens/s by the server's own statistics,
                                                  else by chunks, marked "~"

The exit code is 1 when any answer was cut or failed. It keeps a model in memory as
any request does, and makes the machine as warm as as many users would.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args := os.Args[1:]
	run := drive
	if len(args) > 0 && args[0] == "streams" {
		run, args = random, args[1:]
	}
	good, err := run(ctx, args, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(2)
	case !good:
		stop()
		os.Exit(1)
	}
}

// flagSet is one whose help begins with the text above.
func flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help, "Flags of ", name, ":\n")
		flags.PrintDefaults()
	}
	return flags
}

// drive asks a server.
func drive(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	var l load
	var asJSON bool
	var limit time.Duration
	flags := flagSet("load")
	flags.StringVar(&l.URL, "url", "http://127.0.0.1:11434", "the server's base `URL`")
	flags.StringVar(&l.Path, "path", "/api/chat", "the `PATH` to ask: /api/generate, /api/chat, /v1/chat/completions or /v1/completions")
	flags.StringVar(&l.Model, "model", "", "the model's `NAME`")
	flags.IntVar(&l.Clients, "clients", 2, "`N` clients at once")
	flags.IntVar(&l.Requests, "requests", 0, "end after `N` requests (0: 20, or none with --for)")
	flags.DurationVar(&limit, "for", 0, "end after `TIME`; what is in flight then is given up")
	flags.Float64Var(&l.Cancel, "cancel", 0, "give up this `PART` of the answers, 0 to 1")
	flags.Float64Var(&l.Slow, "slow", 0, "read this `PART` of the answers slowly, 0 to 1")
	flags.IntVar(&l.SlowRate, "slow-rate", 2000, "how slowly, in `BYTES` a second")
	flags.IntVar(&l.Words, "prompt-words", 20, "a prompt of `N` words, another each time")
	flags.IntVar(&l.Output, "output", 64, "at most `N` tokens of answer")
	flags.Uint64Var(&l.Seed, "seed", 1, "chance begins with `N`")
	flags.BoolVar(&asJSON, "json", false, "print the sum as JSON")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if err := l.check(flags); err != nil {
		return false, err
	}
	if l.Requests == 0 && limit == 0 {
		l.Requests = 20
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	sum := l.run(ctx)
	if asJSON {
		return sum.good(), json.NewEncoder(out).Encode(sum)
	}
	sum.print(out)
	return sum.good(), nil
}
