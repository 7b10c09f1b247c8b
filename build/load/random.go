package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"plimsoll/build/load/streams"
	"plimsoll/monitor/meter"
)

// random sends streams of random shape through a meter, and compares every byte.
func random(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	config := streams.Config{}
	var asJSON bool
	flags := flagSet("load streams")
	flags.IntVar(&config.Count, "n", 100_000, "`N` streams")
	flags.IntVar(&config.Clients, "clients", 8, "`N` clients at once")
	flags.Uint64Var(&config.Seed, "seed", 1, "the same `N` makes the same streams")
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() > 0 || config.Count < 1 || config.Clients < 1 {
		return false, errors.New("--n and --clients take numbers from 1 on, and nothing else is taken; see --help")
	}
	config.Through = func(server *url.URL) (*url.URL, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("starting a meter: %w", err)
		}
		go http.Serve(l, meter.New(meter.Config{Upstream: server})) //nolint:errcheck // it ends with the program
		return &url.URL{Scheme: "http", Host: l.Addr().String()}, nil
	}
	result, err := streams.Run(ctx, config)
	if err != nil {
		return false, err
	}
	if asJSON {
		return result.Good(), json.NewEncoder(out).Encode(result)
	}
	fmt.Fprintf(out, "%d streams, %d MB in %.0f s: %d changed, %d lost\n", result.Count, result.Bytes/1e6, result.Seconds, result.Changed, result.Lost)
	if result.First != "" {
		fmt.Fprintln(out, result.First)
	}
	return result.Good(), nil
}
