package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/meter"
	"plimsoll/monitor/request"
)

// wordServer answers a generate with words until it has said all or its client has
// left, each when it is let.
type wordServer struct {
	words int
	let   chan struct{} // nil: at once
	left  chan struct{} // told of clients that left
}

func (s *wordServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if r.Method != http.MethodPost {
		io.WriteString(w, "Ollama is running")
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	for range s.words {
		if s.let != nil {
			select {
			case <-s.let:
			case <-r.Context().Done():
				s.left <- struct{}{}
				return
			}
		}
		io.WriteString(w, `{"model":"m","response":"word","done":false}`+"\n")
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, `{"model":"m","response":"","done":true,"total_duration":5,"prompt_eval_count":3,"eval_count":%d}`+"\n", s.words)
}

func (s *wordServer) start(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s}
	go web.Serve(l)
	t.Cleanup(func() { web.Close() })
	return l.Addr().String()
}

// meterAt starts a meter and waits until it says where it listens.
func (w *world) meterAt(t *testing.T, socket, server string, args ...string) (*child, string) {
	t.Helper()
	c := w.start(t, socket, append([]string{"meter", "--upstream", server}, args...)...)
	return c, c.meterAddress(t)
}

// meterAddress waits until a meter says where it listens.
func (c *child) meterAddress(t *testing.T) (address string) {
	t.Helper()
	eventually(t, "the meter's address", func() bool {
		_, rest, ok := strings.Cut(c.errs.String(), "listens at http://")
		address, _, _ = strings.Cut(rest, " ")
		return ok && address != ""
	})
	return address
}

const generate = `{"model":"m","prompt":"Say something"}`

func askMetered(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Post("http://"+address+"/api/generate", "application/json", strings.NewReader(generate))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%v after %q", err, text)
	}
	return string(text)
}

func TestMeterPrintsWhatIsFinished(t *testing.T) {
	w := newWorld(t)
	c, address := w.meterAt(t, filepath.Join(w.home, "agent.sock"), (&wordServer{words: 12}).start(t), "--listen", "127.0.0.1:0", "--json")
	for range 2 {
		if text := askMetered(t, address); strings.Count(text, "word") != 12 {
			t.Errorf("the answer is %q", text)
		}
	}
	eventually(t, "three lines", func() bool { return strings.Count(c.out.String(), "\n") == 3 })
	lines := strings.Split(c.out.String(), "\n")
	if want := `{"listening":"http://` + address + `"}`; lines[0] != want {
		t.Errorf("the first line is %s, want %s", lines[0], want)
	}
	for _, line := range lines[1:3] {
		var f meter.Finished
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Model != "m" || *f.OutputTokens != 12 || *f.PromptTokens != 3 || f.Outcome != request.OutcomeFinished || f.Status != 200 || f.TTFT == nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	c.Process.Signal(syscall.SIGTERM)
	if code := c.end(t); code != 0 {
		t.Errorf("it ended with %d: %s", code, c.errs.String())
	}
}

// TestMeterOutlivesItsReader: meter --json | head must not take requests down.
func TestMeterOutlivesItsReader(t *testing.T) {
	w := newWorld(t)
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	c := w.prepare(filepath.Join(w.home, "agent.sock"), "meter", "--upstream", (&wordServer{words: 3}).start(t), "--listen", "127.0.0.1:0", "--json")
	c.Stdout = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() { c.Process.Kill() })
	address := c.meterAddress(t)
	for range 5 {
		askMetered(t, address)
	}
	c.Process.Signal(syscall.SIGTERM)
	if code := c.end(t); code != 0 {
		t.Errorf("it ended with %d: %s", code, c.errs.String())
	}
}

func TestHolderByTool(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$2\" = -iTCP:11434 ] || exit 1\nprintf 'p4101\\ncollama\\nf5\\n'\n"
	if err := os.WriteFile(filepath.Join(bin, "lsof"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if got := holderByTool(11434); got != "ollama, PID 4101" {
		t.Errorf("the holder is %q", got)
	}
	if got := holderByTool(1); got != "" {
		t.Errorf("of a free port the holder is %q", got)
	}
}

// TestMeterEndsAfterWhatIsInFlight: SIGTERM lets an answer come to its end, a second
// one does not.
func TestMeterEndsAfterWhatIsInFlight(t *testing.T) {
	w := newWorld(t)
	for _, patient := range []bool{true, false} {
		server := &wordServer{words: 2, let: make(chan struct{}), left: make(chan struct{}, 1)}
		c, address := w.meterAt(t, filepath.Join(w.home, "agent.sock"), server.start(t), "--listen", "127.0.0.1:0")
		eventually(t, "the address on standard output", func() bool { return c.out.String() == "http://"+address+"\n" })
		answer := make(chan string, 1)
		first := make(chan bool, 1)
		go func() {
			got, err := http.Post("http://"+address+"/api/generate", "application/json", strings.NewReader(generate))
			if err != nil {
				answer <- err.Error()
				return
			}
			defer got.Body.Close()
			r := bufio.NewReader(got.Body)
			line, _ := r.ReadString('\n')
			first <- true
			rest, err := io.ReadAll(r)
			answer <- fmt.Sprint(line, string(rest), err)
		}()
		server.let <- struct{}{}
		<-first
		c.Process.Signal(syscall.SIGTERM)
		eventually(t, "that it waits", func() bool { return strings.Contains(c.errs.String(), "Waiting for 1 request to end") })
		if patient {
			server.let <- struct{}{}
			if got := <-answer; strings.Count(got, "word") != 2 || !strings.Contains(got, `"done":true`) {
				t.Errorf("the answer is %q", got)
			}
			if code := c.end(t); code != 0 {
				t.Errorf("it ended with %d: %s", code, c.errs.String())
			}
			continue
		}
		c.Process.Signal(syscall.SIGTERM)
		c.end(t)
		<-server.left
		<-answer
	}
}

// TestWhatIsCountedReachesTheAgent: a request is in the agent's updates while it is
// in flight and when it is over.
func TestWhatIsCountedReachesTheAgent(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	server := &wordServer{words: 12, let: make(chan struct{}), left: make(chan struct{}, 1)}
	_, address := w.meterAt(t, socket, server.start(t), "--listen", "127.0.0.1:0")
	told := func(phase request.Phase) func(monitor.Update) bool {
		return func(u monitor.Update) bool {
			return slices.ContainsFunc(u.Snapshot.Requests, func(r request.Request) bool { return r.Model == "m" && r.Phase == phase })
		}
	}
	done := make(chan string, 1)
	go func() { done <- askMetered(t, address) }()
	server.let <- struct{}{}
	w.await(socket, "the request in flight", told(request.PhaseDecode))
	for range 11 {
		server.let <- struct{}{}
	}
	<-done
	w.await(socket, "its end", told(request.PhaseDone))
}

// TestNobodyKillsARequest: an agent that is killed under load takes no request with
// it, and the next agent is told of all that came meanwhile.
func TestNobodyKillsARequest(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(w.home, "state", "agent.sock")
	agent := w.start(t, socket, "serve")
	listening(t, socket)
	_, address := w.meterAt(t, socket, (&wordServer{words: 50}).start(t), "--listen", "127.0.0.1:0")
	var asked, failed atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				answer, err := http.Post("http://"+address+"/api/generate", "application/json", strings.NewReader(generate))
				if err == nil {
					var text []byte
					text, err = io.ReadAll(answer.Body)
					answer.Body.Close()
					if err == nil && strings.Count(string(text), "word") != 50 {
						err = fmt.Errorf("cut: %q", text)
					}
				}
				if asked.Add(1); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	more := func(n int64) {
		t.Helper()
		from := asked.Load()
		eventually(t, "more requests", func() bool { return asked.Load() >= from+n })
	}
	more(50)
	for range 3 {
		agent.Process.Kill()
		agent.end(t)
		more(50)
		agent = w.start(t, socket, "serve")
		listening(t, socket)
		more(50)
	}
	stop()
	clients.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), asked.Load())
	}
}

// TestTheNextMeterTakesOver: a supervisor starts the meter again after kill −9, and
// the next request is fine.
func TestTheNextMeterTakesOver(t *testing.T) {
	w := newWorld(t)
	socket, server := filepath.Join(w.home, "agent.sock"), (&wordServer{words: 5}).start(t)
	c, address := w.meterAt(t, socket, server, "--listen", "127.0.0.1:0")
	for range 3 {
		askMetered(t, address)
		c.Process.Kill()
		c.end(t)
		c, _ = w.meterAt(t, socket, server, "--listen", address) // what launchd and systemd do
		if text := askMetered(t, address); strings.Count(text, "word") != 5 {
			t.Errorf("the next answer is %q", text)
		}
	}
}

func TestMeterListen(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:11435": "127.0.0.1:11435 false", "11436": "127.0.0.1:11436 false", "localhost:1": "127.0.0.1:1 false", "[::1]:5": "[::1]:5 false", "::1": "[::1]:11435 false",
		":8080": ":8080 true", "0.0.0.0": "0.0.0.0:11435 true", "192.168.1.3:9": "192.168.1.3:9 true", "mini": "mini:11435 true", "a b": "", "127.0.0.1:99999": "", "http://x": "",
	} {
		got, open, err := meterListen(text)
		if have := fmt.Sprint(got, " ", open); err == nil && have != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v, want %q", text, have, err, want)
		}
	}
}

// TestLinesAreDroppedNotWaitedFor: nobody who does not read holds a request up.
func TestLinesAreDroppedNotWaitedFor(t *testing.T) {
	r, w := io.Pipe()
	l := newLines(w)
	for range lineQueue + 10 {
		l.put(meter.Finished{})
	}
	go r.Close() // and with the reader what waits for it is gone
	if lost := l.close(); lost < 9 {
		t.Errorf("%d lines are told to be lost", lost)
	}
	l.put(meter.Finished{}) // after the end it does nothing
}
