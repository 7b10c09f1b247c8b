package meter

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"plimsoll/build/load/streams"
)

// TestRandomStreamsPassUnchanged sends a thousand streams, and a hundred thousand
// with PLIMSOLL_LONG=1: every byte passes, and every count that a server tells is
// told on, to the last one.
func TestRandomStreamsPassUnchanged(t *testing.T) {
	count := 1000
	if os.Getenv("PLIMSOLL_LONG") == "1" {
		count = 100_000
	}
	var mu sync.Mutex
	want, got := map[string]int{}, map[string]int{}
	seed := uint64(20261130)
	if text := os.Getenv("PLIMSOLL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	var m *Meter
	result, err := streams.Run(t.Context(), streams.Config{
		Seed: seed, Count: count, Clients: 8,
		Through: func(server *url.URL) (*url.URL, error) {
			m = New(Config{Upstream: server, Finished: func(f Finished) {
				mu.Lock()
				defer mu.Unlock()
				got[f.Model] = counted(f.OutputTokens)
				if f.OutputTokens == nil || f.OutputApproximate {
					got[f.Model] = 0
				}
			}})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			web := &http.Server{Handler: m, ErrorLog: quiet}
			go web.Serve(l)
			t.Cleanup(func() { web.Close(); m.Close() })
			return &url.URL{Scheme: "http", Host: l.Addr().String()}, nil
		},
		Each: func(x streams.Exchange) {
			mu.Lock()
			defer mu.Unlock()
			if x.Path != "/other/path" {
				want[x.Model()] = x.Output
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d streams, %d MB in %.1f s", result.Count, result.Bytes/1e6, result.Seconds)
	if !result.Good() || result.Count != count {
		t.Fatalf("%+v", result)
	}
	for m.InFlight() > 0 { // the handler of the last answer may still be at its end
		runtime.Gosched()
	}
	mu.Lock()
	defer mu.Unlock()
	wrong := 0
	for model, tokens := range want {
		if told, ok := got[model]; !ok || told != tokens && tokens > 0 {
			if wrong++; wrong < 5 {
				t.Errorf("%s: told %d (%v), want %d", model, told, ok, tokens)
			}
		}
	}
	if len(want) < count/2 || len(got) < len(want) || wrong > 0 {
		t.Errorf("%d were to be told, %d were, %d of them wrong", len(want), len(got), wrong)
	}
}
