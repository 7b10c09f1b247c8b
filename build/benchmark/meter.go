package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The bounds of the meter.
const (
	mostTTFT     = 0.6 // ms added until the first token, median of the pairs
	mostLost     = 1.0 // per cent of the throughput, median of the pairs
	mostCancel   = 200 // ms from a client's leaving to the server's being told
	mostStream   = 512 // KiB of memory for each stream
	mostLive     = 3.0 // per cent between live and final decode rate
	chunksSecond = 20_000
	pairs        = 24
	pairChunks   = chunksSecond / 2 // half a second each
	shortPairs   = 300              // of answers of one chunk
	cancels      = 20
)

// measureMeter holds answers that pass a meter, which is a process of its own,
// against the same ones asked directly, in turn.
func measureMeter(ctx context.Context) (report, error) {
	server, err := newPaced()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	m, err := startMeter(ctx, server.address)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	direct, via := newAsker(server.address), newAsker(m.address)
	var result report
	for _, part := range []func() (report, error){
		func() (report, error) { return throughput(ctx, direct, via) },
		func() (report, error) { return firstToken(ctx, direct, via) },
		func() (report, error) { return cancelled(ctx, server, via) },
		func() (report, error) { return memory(ctx, m, server) },
		func() (report, error) { return liveRate(ctx) },
	} {
		rows, err := part()
		if err != nil {
			return nil, err
		}
		result = append(result, rows...)
	}
	return result, nil
}

// meterProcess is bin/plimsoll meter.
type meterProcess struct {
	*exec.Cmd
	address string
	log     bytes.Buffer
}

func startMeter(ctx context.Context, server string) (*meterProcess, error) {
	m := &meterProcess{Cmd: exec.Command(agentProgram, "meter", "--listen", "127.0.0.1:0", "--upstream", server, "--lang", "en")}
	folder, err := os.MkdirTemp("", "plimsoll-meter-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	m.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "LANG=C"}
	m.Stderr = &m.log
	out, err := m.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("starting the meter: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		m.stop()
		return nil, fmt.Errorf("reading where the meter listens: %w\n%s", err, m.log.String())
	}
	m.address = strings.TrimPrefix(strings.TrimSpace(line), "http://")
	return m, ctx.Err()
}

func (m *meterProcess) stop() {
	_ = m.Process.Signal(syscall.SIGTERM)
	_ = m.Wait()
	for _, v := range m.Env {
		if folder, ok := strings.CutPrefix(v, "HOME="); ok {
			os.RemoveAll(folder)
		}
	}
}

// paced is a server that answers with chunks at a pace: ?n=N&rate=R.
type paced struct {
	net.Listener
	address string
	left    chan time.Time // when a client's leaving was seen
	here    chan struct{}  // a silent request has arrived
}

func newPaced() (*paced, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a model server: %w", err)
	}
	p := &paced{Listener: l, address: l.Addr().String(), left: make(chan time.Time, 1), here: make(chan struct{}, 1)}
	go http.Serve(l, p) //nolint:errcheck // it ends with its listener
	return p, nil
}

const chunkLine = `{"model":"m","created_at":"2026-11-30T07:26:37.145424086Z","response":" word","done":false}` + "\n"

func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) //nolint:errcheck // the client sees what is wrong
	var n, rate, size int
	fmt.Sscanf(r.URL.RawQuery, "n=%d&rate=%d&size=%d", &n, &rate, &size) //nolint:errcheck // 0 otherwise
	w.Header().Set("Content-Type", "application/x-ndjson")
	if rate < 0 { // says nothing, or nothing more, until the client leaves
		for range n {
			io.WriteString(w, chunkLine) //nolint:errcheck // as above
			w.(http.Flusher).Flush()
		}
		p.here <- struct{}{}
		<-r.Context().Done()
		p.left <- time.Now()
		return
	}
	line := []byte(chunkLine)
	if size > 0 {
		line = []byte(`{"model":"m","response":"` + strings.Repeat("x", size) + `","done":false}` + "\n")
	}
	began := time.Now()
	for i := range n {
		if rate > 0 {
			if early := time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))); early > 0 {
				time.Sleep(early)
			}
		}
		if _, err := w.Write(line); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, `{"model":"m","response":"","done":true,"total_duration":9,"prompt_eval_count":3,"eval_count":%d,"eval_duration":7}`+"\n", n)
}

// asker is a client with one connection that it keeps.
type asker struct {
	address string
	web     *http.Transport
}

func newAsker(address string) *asker {
	return &asker{address, &http.Transport{DisableCompression: true}}
}

// passage is how one answer went.
type passage struct{ first, rest time.Duration }

// ask reads an answer of n chunks.
func (a *asker) ask(ctx context.Context, n, rate int) (p passage, err error) {
	url := fmt.Sprintf("http://%s/api/generate?n=%d&rate=%d&size=0", a.address, n, rate)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"model":"m","prompt":"Say something"}`))
	if err != nil {
		return p, err
	}
	began := time.Now()
	answer, err := a.web.RoundTrip(r)
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	lines, seen := bufio.NewReaderSize(answer.Body, 64<<10), 0
	for {
		_, err := lines.ReadSlice('\n')
		if err != nil {
			break
		}
		if seen++; seen == 1 {
			p.first = time.Since(began)
		}
		p.rest = time.Since(began) - p.first
	}
	if seen != n+1 {
		return p, fmt.Errorf("%d of %d lines came", seen, n+1)
	}
	return p, nil
}

// inTurn asks both ways, the one first that was second before.
func inTurn(ctx context.Context, turn int, direct, via *asker, n, rate int) (d, v passage, err error) {
	if turn%2 == 0 {
		if d, err = direct.ask(ctx, n, rate); err == nil {
			v, err = via.ask(ctx, n, rate)
		}
		return d, v, err
	}
	if v, err = via.ask(ctx, n, rate); err == nil {
		d, err = direct.ask(ctx, n, rate)
	}
	return d, v, err
}

// throughput measures fast answers. The floor, direct against direct, is the noise
// of the method.
func throughput(ctx context.Context, direct, via *asker) (report, error) {
	var lost, added []float64
	for _, way := range []struct {
		name string
		to   *asker
	}{{"floor", newAsker(direct.address)}, {"meter", via}} {
		lost, added = nil, nil
		for i := range pairs {
			d, v, err := inTurn(ctx, i, direct, way.to, pairChunks, chunksSecond)
			if err != nil {
				return nil, err
			}
			lost = append(lost, 100*(1-d.rest.Seconds()/v.rest.Seconds()))
			added = append(added, (v.first-d.first).Seconds()*1000)
		}
		fmt.Fprintf(os.Stderr, "%d pairs at %d chunks/s, %s: throughput lost %s %%, first token later by %s ms\n", pairs, chunksSecond, way.name, spread(lost), spread(added))
	}
	return report{
		{"throughput lost, median", middle(lost), mostLost, "%"},
		{"first token later, median", middle(added), mostTTFT, "ms"},
	}, nil
}

// firstToken measures answers of one chunk.
func firstToken(ctx context.Context, direct, via *asker) (report, error) {
	var added []float64
	for i := range shortPairs {
		d, v, err := inTurn(ctx, i, direct, via, 1, 0)
		if err != nil {
			return nil, err
		}
		added = append(added, (v.first-d.first).Seconds()*1000)
	}
	fmt.Fprintf(os.Stderr, "%d pairs of one chunk: first token later by %s ms\n", shortPairs, spread(added))
	return report{{"the same, answers of one chunk", middle(added), mostTTFT, "ms"}}, nil
}

// cancelled measures how soon the server is told that a client left, before its
// first word and after.
func cancelled(ctx context.Context, server *paced, via *asker) (report, error) {
	var took []float64
	for i := range cancels {
		ctx, leave := context.WithCancel(ctx)
		failed := make(chan error, 1)
		go func() {
			_, err := via.ask(ctx, i%2*5, -1)
			failed <- err
		}()
		select {
		case <-server.here:
		case err := <-failed:
			leave()
			return nil, err
		}
		from := time.Now()
		leave()
		select {
		case at := <-server.left:
			took = append(took, at.Sub(from).Seconds()*1000)
		case <-time.After(seeing):
			return nil, errors.New("the server was not told that the client left")
		}
		<-failed
	}
	fmt.Fprintf(os.Stderr, "%d clients that left: the server knew after %s ms\n", cancels, spread(took))
	return report{{"a client's leaving known, worst", slices.Max(took), mostCancel, "ms"}}, nil
}

// middle is the median; the greater of the two in the middle.
func middle(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// spread is median, tenth and ninetieth percentile in words.
func spread(all []float64) string {
	s := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.3f [%.3f, %.3f]", s[len(s)/2], s[len(s)/10], s[len(s)*9/10])
}
