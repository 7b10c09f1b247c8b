package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"plimsoll/monitor/meter"
	"plimsoll/monitor/request"
)

const (
	bigStreams = 16
	bigRequest = 64 << 20
	bigLine    = 16 << 20
	bigLines   = 2
)

// memory measures what streams of long lines with large requests take, all at once.
func memory(ctx context.Context, m *meterProcess, server *paced) (report, error) {
	before, err := resident(m.Process.Pid)
	if err != nil {
		return nil, err
	}
	most := before
	done, watched := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				watched <- nil
				return
			case <-time.After(10 * time.Millisecond):
			}
			now, err := resident(m.Process.Pid)
			if err != nil {
				watched <- err
				return
			}
			most = max(most, now)
		}
	}()
	var streams sync.WaitGroup
	failed := make(chan error, bigStreams)
	for range bigStreams {
		streams.Go(func() {
			if err := bigStream(ctx, m.address); err != nil {
				failed <- err
			}
		})
	}
	streams.Wait()
	close(done)
	if err := <-watched; err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		return nil, <-failed
	}
	each := (most - before) * 1024 / bigStreams
	fmt.Fprintf(os.Stderr, "%d streams at once, each %d MiB there and %d lines of %d MiB back: %.1f MiB before, %.1f at most\n",
		bigStreams, bigRequest>>20, bigLines, bigLine>>20, before, most)
	return report{{"memory for each stream", each, mostStream, "KiB"}}, nil
}

// bigStream sends a large request and reads the long lines of its answer.
func bigStream(ctx context.Context, address string) error {
	const head, tail = `{"model":"m","prompt":"`, `"}`
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, bigRequest), strings.NewReader(tail))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/api/generate?n=%d&rate=0&size=%d", address, bigLines, bigLine), body)
	if err != nil {
		return err
	}
	r.ContentLength = int64(len(head) + bigRequest + len(tail))
	web := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	answer, err := web.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && n < bigLines*bigLine {
		err = fmt.Errorf("%d bytes came of %d", n, bigLines*bigLine)
	}
	return err
}

// letters is text without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// liveRate holds the decode rate told in flight, from 2 s on, against the final one
// of the same answer, at several speeds.
func liveRate(ctx context.Context) (report, error) {
	server, err := newPaced()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	worst := 0.0
	for _, rate := range []int{8, 60, 300, 2000} {
		off, err := liveOff(ctx, server.address, rate)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "at %d tokens/s: %d live rates from 2 s on, off the final one by %s %%\n", rate, len(off), spread(off))
		worst = math.Max(worst, middle(off))
	}
	return report{{"live decode rate off the final one", worst, mostLive, "%"}}, nil
}

// liveOff is how far each live rate of one answer is off, in per cent.
func liveOff(ctx context.Context, address string, rate int) (off []float64, err error) {
	var mu sync.Mutex
	var told []request.Request
	m := meter.New(meter.Config{
		Upstream: &url.URL{Scheme: "http", Host: address},
		Report:   func(r request.Request) { mu.Lock(); defer mu.Unlock(); told = append(told, r) },
	})
	defer m.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go http.Serve(l, m) //nolint:errcheck // it ends with its listener
	if _, err := newAsker(l.Addr().String()).ask(ctx, rate*6, rate); err != nil {
		return nil, err
	}
	for m.InFlight() > 0 {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	last := told[len(told)-1]
	if last.Decode == nil || last.TTFT == nil {
		return nil, errors.New("the answer has no rate")
	}
	for _, r := range told {
		if r.Live == nil || r.Phase != request.PhaseDecode || r.Live.At.Sub(r.Began).Seconds() < last.TTFT.Value+2 {
			continue
		}
		off = append(off, 100*math.Abs(r.Live.Value/last.Decode.Value-1))
	}
	if len(off) == 0 {
		return nil, errors.New("there was no live rate")
	}
	return off, nil
}
