package serverlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// parse reads a whole text.
func parse(text string) (*Parser, []Event) {
	p, events := &Parser{}, []Event(nil)
	for line := range strings.Lines(text) {
		events = append(events, p.Line(strings.TrimSuffix(line, "\n"), noon)...)
	}
	return p, events
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// kinds are those of events, but for Worked.
func kinds(events []Event) string {
	var s []string
	for _, e := range events {
		if e.Kind != Worked {
			s = append(s, string(e.Kind))
		}
	}
	return strings.Join(s, " ")
}

func is[T comparable](t *testing.T, what string, got *T, want T) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s is %s, want %v", what, show(got), want)
	}
}

func show[T any](p *T) string {
	if p == nil {
		return "absent"
	}
	return fmt.Sprint(*p)
}

const mib = 1 << 20

func TestLoadsOfRealServers(t *testing.T) {
	p, events := parse(recorded(t, "new-engine-load.log"))
	l := p.load
	if kinds(events) != "loading loaded" || l.Engine != "runner" || !strings.HasPrefix(filepath.Base(l.Weights), "sha256-ad9b386b") || len(p.Loads()) != 1 {
		t.Errorf("%s, %+v", kinds(events), l)
	}
	is(t, "weights", l.WeightsBytes, *size("698.4 MiB"))
	is(t, "cache", l.CacheBytes, 48*mib)
	is(t, "compute", l.ComputeBytes, 136*mib)
	is(t, "cells", l.Cells, 4096)
	is(t, "slots", l.Slots, 1)
	is(t, "flash attention", l.FlashAttention, false)
	is(t, "layers", l.Layers, 13)
	is(t, "layers on the GPU", l.GPULayers, 0)
	is(t, "load time", l.Ready, 0.94)

	p, events = parse(recorded(t, "debug-load.log"))
	if l = p.load; kinds(events) != "loading loaded" {
		t.Errorf("%s, %+v", kinds(events), l)
	}
	is(t, "weights", l.WeightsBytes, *size("697.2 MiB"))
	is(t, "cache", l.CacheBytes, 48*mib)
	is(t, "cells", l.Cells, 4096)
	if l.ComputeBytes != nil || l.FlashAttention != nil {
		t.Errorf("compute %s, flash attention %s", show(l.ComputeBytes), show(l.FlashAttention))
	}
}

func TestTruncationAndFailureOfRealServers(t *testing.T) {
	_, events := parse(recorded(t, "debug-truncated.log"))
	if kinds(events) != "truncated answered" || *events[0].Cut != (Cut{64, 222, 5, 64}) || !events[0].Time.Equal(time.Date(2026, 11, 30, 7, 29, 22, 256e6, time.UTC)) {
		t.Errorf("%s %+v", kinds(events), events[0])
	}
	if a := events[1].Answer; a.Status != 200 || a.Duration != 9524067 || a.Path != "/api/generate" || a.Method != "POST" {
		t.Errorf("%+v", a)
	}
	p, events := parse(recorded(t, "debug-too-large.log"))
	if kinds(events) != "loading evicted evicted out_of_memory load_failed answered" || !p.load.Failed || events[2].Model != "probe-tiny:latest" {
		t.Errorf("%s %+v %q", kinds(events), p.load, events[2].Model)
	}
}

// Memory is the sum over devices and lines, never the last of them (case 4), and
// the cache of a server with several slots is for all of them (case 14).
func TestBuffersAddUp(t *testing.T) {
	p, events := parse(`time=2026-08-16T15:29:06.842+03:00 level=INFO source=llama_server.go:431 msg="starting llama-server" cmd="/opt/lib/ollama/llama-server --model /Volumes/My Disk/blobs/sha256-a3b7 --port 5025 --host 127.0.0.1 -c 16384 -np 4 --cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on"
load_tensors: offloaded 48/48 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   520.25 MiB
load_tensors:  MTL0_Mapped model buffer size = 17965.50 MiB
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 16384
llama_context: flash_attn    = enabled
llama_kv_cache:        CPU KV buffer size =   800.00 MiB
llama_kv_cache:       MTL0 KV buffer size =  6720.00 MiB
llama_kv_cache: size = 7520.00 MiB ( 16384 cells,  47 layers,  4/4 seqs), K (q8_0): 3760.00 MiB, V (q8_0): 3760.00 MiB
llama_memory_recurrent:       MTL0 RS buffer size =    16.00 MiB
sched_reserve:       MTL0 compute buffer size =   300.00 MiB
sched_reserve:        CPU compute buffer size =    20.00 MiB
sched_reserve:       MTL0 compute buffer size =   310.00 MiB
time=2026-08-16T15:29:15.885+03:00 level=INFO source=llama_server.go:1360 msg="llama-server started in 9.04 seconds"
`)
	l := p.load
	if kinds(events) != "loading loaded" || l.Weights != "/Volumes/My Disk/blobs/sha256-a3b7" || l.CacheType != "q8_0" || l.Estimated {
		t.Errorf("%s %+v", kinds(events), l)
	}
	is(t, "weights", l.WeightsBytes, (520*4+1+17965*4+2)*mib/4)
	is(t, "cache", l.CacheBytes, (800+6720+16)*mib)
	is(t, "compute", l.ComputeBytes, 330*mib)
	is(t, "context", l.Context(), 4096)
	is(t, "context by the arguments", l.Arguments.Context(), 4096)
	is(t, "port", l.Arguments.Port, 5025)
	is(t, "flash attention", l.FlashAttention, true)
	is(t, "layers on the GPU", l.GPULayers, 48)
	// The next load is another sum.
	p.Line(`time=2026-08-16T16:29:06.842+03:00 level=INFO msg="starting llama-server" cmd="llama-server --model b --port 1"`, noon)
	p.Line("llama_kv_cache:       MTL0 KV buffer size =  1.00 MiB", noon)
	is(t, "cache of the next", p.load.CacheBytes, mib)
	if len(p.Loads()) != 2 {
		t.Errorf("%d loads", len(p.Loads()))
	}
}

// What a server worked out for several devices adds up too.
func TestEstimatesAddUp(t *testing.T) {
	p, _ := parse(`time=2026-02-25T18:14:34.258+08:00 level=INFO msg="starting runner" cmd="/opt/ollama runner --model /m/blobs/sha256-81 --port 54686"
time=2026-02-25T18:14:34.262+08:00 level=INFO msg="model weights" device=CPU size="512.0 MiB"
time=2026-02-25T18:14:34.262+08:00 level=INFO msg="model weights" device=Metal size="4.5 GiB"
time=2026-02-25T18:14:34.262+08:00 level=INFO msg="kv cache" device=Metal size="1.5 GiB"
`)
	is(t, "weights", p.load.WeightsBytes, 5<<30)
	is(t, "cache", p.load.CacheBytes, 3<<29)
	if !p.load.Estimated {
		t.Error("not marked as an estimate")
	}
	p.Line("llama_kv_cache_unified:       Metal KV buffer size =  1280.00 MiB", noon)
	is(t, "cache", p.load.CacheBytes, 1280*mib)
	if p.load.Estimated || p.load.WeightsBytes != nil {
		t.Errorf("%+v", p.load)
	}
}

func TestCase24OutOfMemory(t *testing.T) {
	p, events := parse(string(shared(t, "cases", "024.log")))
	if kinds(events) != "out_of_memory" || events[0].Cause != CauseCommandBuffer {
		t.Errorf("%s %+v", kinds(events), events)
	}
	is(t, "weights", p.load.WeightsBytes, *size("1640.62 MiB")+*size("17965.92 MiB"))
	is(t, "cells", p.load.Cells, 8192)
	is(t, "flash attention", p.load.FlashAttention, false)
}

func TestOutOfMemory(t *testing.T) {
	const buffer = "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"
	p := &Parser{}
	if e := p.Line(buffer, noon); kinds(e) != "out_of_memory" {
		t.Errorf("%v", e)
	}
	if e := p.Line(buffer, noon.Add(time.Second)); len(e) != 0 {
		t.Errorf("told again: %v", e)
	}
	if e := p.Line(buffer, noon.Add(time.Minute)); kinds(e) != "out_of_memory" {
		t.Errorf("not told a minute later: %v", e)
	}
	for line, want := range map[string]string{
		"ggml_backend_metal_buffer_type_alloc_buffer: error: failed to allocate buffer, size = 5119.00 MiB":                                             CauseAllocation,
		"alloc_tensor_range: failed to allocate Metal buffer of size 5367659520":                                                                        CauseAllocation,
		"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory":                              CauseAllocation,
		`time=2026-08-18T13:17:08.821+08:00 level=ERROR msg="mlx runner failed" error="[METAL] (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"`: CauseCommandBuffer,
		`time=2026-08-18T13:17:08.821+08:00 level=WARN msg="model request too large for system" requested="23.8 GiB" available="23.0 GiB"`:              CauseSystem,
		`level=DEBUG msg="chat request" prompt="what is kIOGPUCommandBufferCallbackErrorOutOfMemory ?"`:                                                 "",
		"Somebody asked: what is kIOGPUCommandBufferCallbackErrorOutOfMemory ?":                                                                         "",
		"ggml_metal_graph_compute: command buffer 8 failed with status 5":                                                                               "",
		"what failed to allocate: failed to allocate a budget":                                                                                          "",
	} {
		_, events := parse(line)
		got := ""
		if len(events) == 1 && events[0].Kind == OutOfMemory {
			got = events[0].Cause
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", line, got, events, want)
		}
	}
}

// Case 23: the cache that was asked for cannot be had.
func TestCacheRefused(t *testing.T) {
	for _, line := range []string{
		"llama_init_from_model: V cache quantization requires flash_attn",
		`time=2026-08-18T13:17:08.821+08:00 level=ERROR msg="load failed" error="V cache quantization requires flash_attn"`,
	} {
		if _, events := parse(line); kinds(events) != "cache_refused" {
			t.Errorf("%s: %v", line, events)
		}
	}
}

func TestSettings(t *testing.T) {
	const config = `time=2026-02-25T18:13:51.325+08:00 level=INFO source=routes.go:1663 msg="server config" env="map[HTTPS_PROXY:http://me:secret@proxy:1 OLLAMA_CONTEXT_LENGTH:%s OLLAMA_FLASH_ATTENTION:%s OLLAMA_HOST:http://0.0.0.0:11434 OLLAMA_KEEP_ALIVE:%s OLLAMA_KV_CACHE_TYPE:%s OLLAMA_MAX_LOADED_MODELS:%s OLLAMA_MAX_QUEUE:512 OLLAMA_MODELS:/Volumes/My Disk/models OLLAMA_NUM_PARALLEL:%s OLLAMA_ORIGINS:[http://localhost https://localhost app://*] http_proxy:]"`
	p, events := parse(fmt.Sprintf(config, "0", "false", "5m0s", "", "0", "0") + `
time=2026-02-25T18:13:51.328+08:00 level=INFO source=routes.go:1718 msg="Listening on [::]:11435 (version 0.17.0)"
time=2026-02-25T18:13:51.833+08:00 level=INFO source=routes.go:1768 msg="vram-based default context" total_vram="25.0 GiB" default_num_ctx=32768
`)
	s := p.Settings()
	if kinds(events) != "configured" || s.Parallel != nil || s.MaxLoaded != nil || s.ContextSet || s.FlashAttention || s.CacheType != "" ||
		s.Models != "/Volumes/My Disk/models" || s.Version != "0.17.0" || s.Port != 11435 {
		t.Errorf("%s %+v", kinds(events), s)
	}
	is(t, "context", s.Context, 32768)
	is(t, "keep-alive", s.KeepAlive, 5*time.Minute)
	is(t, "queue", s.MaxQueue, 512)

	p, _ = parse(fmt.Sprintf(config, "8192", "1", "2562047h47m16.854775807s", "q8_0", "2", "4") + `
time=2026-02-25T18:13:51.833+08:00 level=INFO source=routes.go:1768 msg="vram-based default context" total_vram="25.0 GiB" default_num_ctx=32768
`)
	s = p.Settings()
	is(t, "context that was set", s.Context, 8192)
	is(t, "parallel", s.Parallel, 4)
	is(t, "models at once", s.MaxLoaded, 2)
	is(t, "keep-alive for ever", s.KeepAlive, -1)
	if s.CacheType != "q8_0" || !s.FlashAttention || s.Port != 11434 {
		t.Errorf("%+v", s)
	}
	// The next start forgets the last run, loads included.
	p.Line(`level=INFO msg="starting llama-server" cmd="llama-server --model b"`, noon)
	p.Line(fmt.Sprintf(config, "0", "false", "-1s", "", "0", "0"), noon)
	if s = p.Settings(); s.CacheType != "" || len(p.Loads()) != 0 || *s.KeepAlive >= 0 {
		t.Errorf("%+v, %d loads", s, len(p.Loads()))
	}
}

func TestArguments(t *testing.T) {
	a := ParseArguments([]string{"/lib/llama-server", "--model", "/m/blobs/sha256-1", "--port", "53443", "--host", "127.0.0.1", "-c", "32768", "-np", "4", "-fa", "--cache-type-k=q4_0"})
	is(t, "cells", a.Cells, 32768)
	is(t, "slots", a.Slots, 4)
	is(t, "context", a.Context(), 8192)
	is(t, "flash attention", a.FlashAttention, true)
	if a.CacheType != "q4_0" || a.Weights != "/m/blobs/sha256-1" {
		t.Errorf("%+v", a)
	}
	for _, bad := range [][]string{nil, {"llama-server"}, {"-c"}, {"-c", "-np"}, {"-c", "x", "-np", "-1"}, {"-fa", "auto"}, {"-c", "0", "-np", "0"}} {
		if a := ParseArguments(bad); a.Context() != nil || a.FlashAttention != nil {
			t.Errorf("%q: %+v", bad, a)
		}
	}
}

// A request of llama-server as the Tracker gets it, with the figures of its end.
func TestLinesOfARequest(t *testing.T) {
	_, events := parse(`slot launch_slot_: id  1 | task 49 | processing task, is_child = 0
slot   operator(): id  1 | task 49 | new prompt, n_ctx_slot = 8192, n_keep = 4, task.n_tokens = 1000
slot   operator(): id  1 | task 49 | forcing full prompt re-processing due to lack of cache data
slot   operator(): id  1 | task 49 | cached n_tokens = 200, memory_seq_rm [200, end)
slot print_timing: id  1 | task 49 | prompt processing, n_tokens =    512, progress = 0.71, t =   4.00 s / 128.00 tokens per second
slot   operator(): id  1 | task 49 | cached n_tokens = 712, memory_seq_rm [712, end)
slot print_timing: id  1 | task 49 | n_decoded =    100, tg =   10.00 t/s, tg_3s =   9.00 t/s
slot print_timing: id  1 | task 49 | prompt eval time =    8000.00 ms /   800 tokens (   10.00 ms per token,   100.00 tokens per second)
slot print_timing: id  1 | task 49 |        eval time =   20000.00 ms /   200 tokens (  100.00 ms per token,    10.00 tokens per second)
slot print_timing: id  1 | task 49 |       total time =   28000.00 ms /  1000 tokens
slot print_timing: id  1 | task 49 |    graphs reused =        199
slot      release: id  1 | task 49 | stop processing: n_tokens = 1200, truncated = 0
`)
	var got []string
	for _, e := range events {
		l, ok := e.Line("ollama")
		if !ok || *l.Slot != 1 || *l.Task != 49 || l.Backend != "ollama" || l.At != noon {
			t.Errorf("%+v", l)
		}
		got = append(got, string(l.Kind))
	}
	if s := strings.Join(got, " "); s != "prompt prompt reread prompt prompt decode timings" {
		t.Errorf("lines %s", s)
	}
	l, _ := events[len(events)-1].Line("ollama")
	is(t, "prompt", l.PromptTokens, 1000)
	is(t, "cached", l.CachedTokens, 200)
	is(t, "read", l.ReadTokens, 800)
	is(t, "output", l.OutputTokens, 200)
	is(t, "prompt time", l.PromptTime, 8*time.Second)
	is(t, "decode time", l.DecodeTime, 20*time.Second)
	is(t, "total", l.Total, 28*time.Second)
}

// Until 2025 llama-server printed its statistics below a line that ends early.
func TestOlderTimings(t *testing.T) {
	_, events := parse(`slot launch_slot_: id  0 | task 2 | processing task
slot update_slots: id  0 | task 2 | new prompt, n_ctx_slot = 2048, n_keep = 0, n_prompt_tokens = 1801
slot      release: id  0 | task 1 | stop processing: n_past = 2000, truncated = 0
slot print_timing: id  0 | task 2 | 
prompt eval time =    3089.00 ms /  1801 tokens (    1.72 ms per token,   583.04 tokens per second)
       eval time =    3183.00 ms /   200 tokens (   15.91 ms per token,    62.84 tokens per second)
      total time =    6272.00 ms /  2001 tokens
`)
	w := events[len(events)-1].Work
	is(t, "prompt", w.Prompt, 1801)
	is(t, "output", w.Output, 200)
	if !w.Done || w.Task != 2 || *w.Decode() < 62.8 || *w.Decode() > 62.9 {
		t.Errorf("%+v", w)
	}
}

func TestLinesOfOtherEvents(t *testing.T) {
	_, events := parse(`time=2026-08-17T00:47:21.000+08:00 level=INFO msg="starting llama-server" cmd="llama-server --model /m/blobs/sha256-12 --port 1"
time=2026-08-17T00:47:28.897+08:00 level=INFO msg="llama-server started in 7.30 seconds"
level=WARN msg="truncating input prompt" limit=258 prompt=7260 keep=4 new=258
[GIN] 2026/08/18 - 13:17:14 | 500 | 3m0s |       127.0.0.1 | POST     "/api/chat"
[GIN] 2026/08/18 - 13:17:14 | 200 | 1.5ms |       127.0.0.1 | GET     "/api/ps"
`)
	want := []struct {
		kind  request.LineKind
		model string
	}{{request.LineLoading, "sha256-12"}, {request.LineLoaded, "sha256-12"}, {request.LineTruncated, ""}, {request.LineReply, ""}}
	for i, w := range want {
		l, ok := events[i].Line("b")
		if !ok || l.Kind != w.kind || l.Model != w.model {
			t.Errorf("%d: %v %+v", i, ok, l)
		}
	}
	if l, ok := events[4].Line("b"); ok {
		t.Errorf("a look at the list of models is a request: %+v", l)
	}
	if l, _ := events[3].Line("b"); l.Status != 500 || *l.Total != 3*time.Minute || l.Path != "/api/chat" {
		t.Errorf("%+v", l)
	}
}

// FuzzLine: no line is fatal, and every event is one that can be told.
func FuzzLine(f *testing.F) {
	for _, name := range []string{"new-engine-load.log", "debug-truncated.log", "debug-too-large.log"} {
		f.Add(recorded(f, name))
	}
	f.Add("slot print_timing: id  0 | task 2 | \nprompt eval time = 1 ms / 1 tokens (\n eval time = 1 ms / 0 tokens\n total time = 2 ms / 3 tokens\n")
	f.Add(`level=INFO msg="starting mlx runner subprocess" model=a port=1` + "\n" + `level=INFO msg="cache hit" total=6 matched=6 cached=6 left=0` + "\n" + `level=INFO msg=ServeHTTP method=POST path=/v1/completions took=1s`)
	f.Fuzz(func(t *testing.T, text string) {
		p, events := parse(text)
		for _, e := range events {
			if e.Kind == "" || e.Time.IsZero() && e.Stamp == "" {
				t.Errorf("%+v", e)
			}
			e.Line("x")
			if w := e.Work; w != nil {
				for _, rate := range []*float64{w.Prefill(), w.Decode()} {
					if rate != nil && !(*rate > 0 && *rate < 1e300) {
						t.Errorf("a rate of %v", *rate)
					}
				}
			}
		}
		if len(p.loads) > mostLoads+1 || len(p.works) > mostWorks {
			t.Errorf("%d loads and %d requests are remembered", len(p.loads), len(p.works))
		}
		if value, err := DecodeRecorded([]byte(text)); value == nil {
			t.Error(err)
		}
	})
}
