package sim

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"time"

	ollama "github.com/ollama/ollama/api"

	"plimsoll/metal"
)

// TestExpiry: expires_at moves when a request ends and at no other time.
func TestExpiry(t *testing.T) {
	m, clock := still(t, Config{})
	first := ask(t, m, Model7B, 100, 240)
	clock.Advance(2 * time.Second)
	a := running(t, m)[0].ExpiresAt
	clock.Advance(2 * time.Second)
	if b := running(t, m)[0].ExpiresAt; !b.Equal(a.Add(2*time.Second)) || !b.Equal(clock.Now().Add(defaultKeep)) {
		t.Errorf("on the first request: %v, then %v", a, b)
	}
	until(t, clock, time.Minute, "the first answer", func() bool { return first.Result().Finished })
	clock.Advance(30 * time.Second)
	ended := running(t, m)[0].ExpiresAt
	if left := ended.Sub(clock.Now()); left > defaultKeep-29*time.Second || left < defaultKeep-32*time.Second {
		t.Errorf("%v left", left)
	}

	if w := call(m, "POST", "/api/generate", `{"model":"qwen2.5:7b","keep_alive":"3s"}`); !strings.Contains(w.Body.String(), `"done_reason":"load"`) {
		t.Fatal(w.Body)
	}
	short := running(t, m)[0].ExpiresAt
	long := ask(t, m, Model7B, 100, 480)
	clock.Advance(10 * time.Second)
	if busy := running(t, m); len(busy) != 1 || !busy[0].ExpiresAt.Equal(short) || !short.Before(clock.Now()) {
		t.Errorf("busy beyond its expiry: %+v, want %v", busy, short)
	}
	if w := call(m, "POST", "/api/generate", `{"model":"qwen2.5:7b","keep_alive":0}`); !strings.Contains(w.Body.String(), `"done_reason":"unload"`) {
		t.Fatal(w.Body)
	}
	if stopping := running(t, m); len(stopping) != 1 || !stopping[0].ExpiresAt.Equal(clock.Now()) {
		t.Errorf("stopping: %+v at %v", stopping, clock.Now())
	}
	until(t, clock, time.Minute, "the long answer", func() bool { return long.Result().Finished })
	if r := long.Result(); r.Tokens != 480 || len(running(t, m)) != 0 {
		t.Errorf("%+v, listed %v", r, running(t, m))
	}

	call(m, "POST", "/api/generate", `{"model":"qwen2.5:7b"}`[:1]) // refused, changes nothing
	load(t, m, clock, Model7B)
	call(m, "POST", "/api/chat", `{"model":"qwen2.5:7b","keep_alive":-1}`)
	if pinned := running(t, m)[0].ExpiresAt; pinned.Year() < 2318 {
		t.Errorf("pinned until %v", pinned)
	}
	clock.Advance(time.Hour)
	if len(running(t, m)) != 1 {
		t.Error("a pinned model went")
	}
	call(m, "POST", "/api/generate", `{"model":"qwen2.5:7b","keep_alive":90}`)
	clock.Advance(89 * time.Second)
	if len(running(t, m)) != 1 {
		t.Error("gone too early")
	}
	clock.Advance(2 * time.Second)
	if len(running(t, m)) != 0 {
		t.Error("still there after its keep-alive")
	}
}

func TestListSortedAndEviction(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	clock.Advance(2 * time.Second)
	load(t, m, clock, ModelEmbed)
	if list := running(t, m); len(list) != 2 || list[0].Name != ModelEmbed || list[1].Name != Model7B {
		t.Errorf("longest first: %+v", list)
	}
	load(t, m, clock, Model14B)
	call(m, "POST", "/api/generate", `{"model":"qwen2.5:14b","keep_alive":"20s"}`)
	load(t, m, clock, Model32B)
	names := ""
	for _, r := range running(t, m) {
		names += r.Name + " "
	}
	if strings.Contains(names, Model14B) || !strings.Contains(names, Model32B) || len(strings.Fields(names)) != 3 {
		t.Errorf("three at most, the shortest keep-alive goes: %s", names)
	}
}

// TestAnotherContextReloads: as Ollama does when num_ctx changes.
func TestAnotherContextReloads(t *testing.T) {
	m, _ := serve(t, 100)
	load7 := func(context int) psModel {
		err := client(t, m).Generate(deadline(t), &ollama.GenerateRequest{Model: Model7B, Prompt: "x", Options: map[string]any{"num_ctx": context, "num_predict": 1}},
			func(ollama.GenerateResponse) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return running(t, m)[0]
	}
	small, big, most := load7(2048), load7(8192), load7(1<<20)
	if small.Context != 2048 || big.Context != 8192 || most.Context != 32768 || big.Size-small.Size != 6144*28*4*128*4 {
		t.Errorf("%+v, %+v, %+v", small, big, most)
	}
	eventually(t, "one runner left", func() bool { return len(m.Truth().Models) == 1 })
}

// TestQueue: one request at a time per model; what is not load, prompt or answer
// was spent waiting.
func TestQueue(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	first, second := ask(t, m, Model7B, 10, 120), ask(t, m, Model7B, 10, 24)
	clock.Advance(time.Second)
	if r := m.Truth().Requests; r[0].Phase != "decode" || r[1].Phase != "queued" {
		t.Errorf("%+v", r)
	}
	until(t, clock, time.Minute, "both", func() bool { return second.Result().Finished })
	a, b := first.Result(), second.Result()
	if queued := b.Total - b.Load - b.Prompt - b.Decode; queued < a.Total-100*time.Millisecond || queued > a.Total+100*time.Millisecond {
		t.Errorf("queued for %v behind %v", queued, a.Total)
	}
}

func TestRunnerEndedInAStream(t *testing.T) {
	m, clock := serve(t, 0)
	resp := inStream(t, deadline(t), m, clock, `{"model":"qwen2.5:7b","prompt":"count"}`)
	lines := bufio.NewScanner(resp.Body)
	lines.Scan()
	var pid int
	var started uint64
	list, _ := m.Processes()
	for _, p := range list {
		if len(p.Args) > 1 && p.Args[1] == "runner" {
			pid, started = p.PID, p.Started
			if p.Args[3] != "--model" || p.Args[4] != find(Model7B).blob() || *p.Footprint < 4_600_000_000 || *p.CPU <= 0 {
				t.Errorf("runner %+v %v", p, p.Args)
			}
		}
	}
	if err := m.EndProcess(pid, started+1); !errors.Is(err, metal.ErrNoProcess) {
		t.Error(err)
	}
	if err := m.EndProcess(firstServer, micros(m.booted.Add(time.Minute))); !errors.Is(err, metal.ErrNotPermitted) {
		t.Error(err)
	}
	if err := m.EndProcess(pid, started); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if last != `{"error":"an error was encountered while running the model: unexpected EOF"}` || resp.StatusCode != 200 {
		t.Error(resp.StatusCode, last)
	}
	if list := running(t, m); len(list) != 1 {
		t.Errorf("a dead runner stays listed until its next use: %v", list)
	}
	if _, err := m.Process(pid); !errors.Is(err, metal.ErrNoProcess) {
		t.Error(err)
	}
	clock.Advance(2 * time.Second)
	if truth := m.Truth(); truth.ResidentBytes > 1000 {
		t.Errorf("memory of a dead runner: %+v", truth)
	}
	clock.Freeze(false)
	clock.SetSpeed(50)
	job := ask(t, m, Model7B, 5, 5)
	select {
	case <-job.Done():
	case <-deadline(t).Done():
		t.Fatal("no answer after the runner was ended")
	}
	if r := job.Result(); r.Err != nil || r.Tokens != 5 || m.Truth().Models[0].PID == pid {
		t.Errorf("%+v", r)
	}
}

func TestHoldAfterUnload(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model14B)
	pid := m.Truth().Models[0].PID
	m.HoldAfterUnload(Model14B, 7_600_000_000)
	m.Unload(Model14B)
	clock.Advance(time.Minute)
	p, err := m.Process(pid)
	if err != nil || *p.Footprint < 7_600_000_000 || len(running(t, m)) != 0 || m.Truth().ResidentBytes != 7_600_000_000 {
		t.Fatal(p, err, m.Truth())
	}
	if err := m.EndProcess(pid, p.Started); err != nil {
		t.Fatal(err)
	}
	clock.Advance(3 * time.Second)
	if truth := m.Truth(); truth.ResidentBytes > 1000 || len(truth.Models) != 0 {
		t.Errorf("%+v", truth)
	}
}
