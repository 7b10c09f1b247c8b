package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/backend/serverlog"
	"plimsoll/monitor/request"
)

// loggedServer is a server whose log is followed.
type loggedServer struct {
	*fakeServer
	log *serverlog.Follower
}

func (s loggedServer) Log() *serverlog.Follower { return s.log }

// logged is a monitor of one server with a log that a test writes.
type logged struct {
	*Monitor
	t    *testing.T
	path string
	log  *serverlog.Follower
	at   time.Time
}

func newLogged(t *testing.T) *logged {
	t.Helper()
	l := &logged{t: t, path: filepath.Join(t.TempDir(), "server.log"), at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	l.log = serverlog.NewFollower([]string{l.path}, false)
	t.Cleanup(func() { l.log.Close() })
	l.log.Poll(l.at)
	l.Monitor = New(Config{Local: newFakeMachine(), Clock: SystemClock(), Backends: []backend.Backend{loggedServer{newFakeServer(), l.log}}})
	l.runners.found = map[string]metal.Process{}
	return l
}

// tick adds lines to the log and makes a snapshot with these models.
func (l *logged) tick(lines string, models ...backend.Resident) *Snapshot {
	l.t.Helper()
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(lines); err != nil {
		l.t.Fatal(err)
	}
	l.log.Poll(l.at)
	s := &Snapshot{Taken: l.at, Awake: new(0.0), Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running, Version: "0.32.9"}}}
	for _, m := range models {
		m.Backend = "ollama"
		s.Residents = append(s.Residents, Resident{Resident: m})
	}
	l.readLogs(s)
	return s
}

// kinds are those of the tick's events.
func (l *logged) kinds() string {
	var kinds []string
	for _, e := range l.news {
		kinds = append(kinds, string(e.Kind)+" "+e.Evidence.Model)
	}
	return strings.Join(kinds, ", ")
}

const logStart = `time=2026-11-30T11:00:00.000Z level=INFO msg="server config" env="map[OLLAMA_CONTEXT_LENGTH:%d OLLAMA_FLASH_ATTENTION:%v OLLAMA_HOST:http://127.0.0.1:%d OLLAMA_KEEP_ALIVE:%s OLLAMA_KV_CACHE_TYPE:%s OLLAMA_MAX_LOADED_MODELS:%d OLLAMA_MAX_QUEUE:512 OLLAMA_MODELS:/m OLLAMA_NUM_PARALLEL:%d]"
time=2026-11-30T11:00:01.000Z level=INFO msg="Listening on 127.0.0.1:%d (version %s)"
`

func started(context int, flash bool, port int, keep, cache string, loaded, parallel int, version string) string {
	return fmt.Sprintf(logStart, context, flash, port, keep, cache, loaded, parallel, port, version)
}

func settingsOf(t *testing.T, s *Snapshot) ServerSettings {
	t.Helper()
	if len(s.ServerSettings) != 1 {
		t.Fatalf("%d servers with settings", len(s.ServerSettings))
	}
	return s.ServerSettings[0]
}

func TestSettingsFromTheLog(t *testing.T) {
	l := newLogged(t)
	k := settingsOf(t, l.tick(started(8192, true, 11434, "-1s", "q8_0", 2, 4, "0.32.9")))
	if k.Log != LogFollowing || k.File != l.path || *k.Parallel != 4 || *k.Context != 8192 || k.CacheType != "q8_0" || !*k.FlashAttention ||
		*k.MaxLoaded != 2 || *k.MaxQueue != 512 || *k.KeepAlive != -1 || k.Folder != "/m" || k.Started == nil || len(k.Sources) != 8 {
		t.Errorf("%+v", k)
	}
	for name, source := range k.Sources {
		if source != SettingLog {
			t.Errorf("%s is from %s", name, source)
		}
	}
}

// What nobody told is assumed where the server has one way, else absent (case 14:
// with an unknown number of slots both plans are shown).
func TestSettingsThatAreAssumed(t *testing.T) {
	l := newLogged(t)
	k := settingsOf(t, l.tick(""))
	if k.Log != LogFollowing || k.Parallel != nil || k.Context != nil || k.FlashAttention != nil || k.CacheType != "f16" || *k.MaxLoaded != 3 || *k.KeepAlive != 300 || k.Folder != "" {
		t.Errorf("%+v", k)
	}
	for _, name := range []string{"kv_cache_type", "max_loaded_models", "keep_alive_seconds"} {
		if k.Sources[name] != SettingAssumed {
			t.Errorf("%s is from %q", name, k.Sources[name])
		}
	}
	l = newLogged(t)
	if k := settingsOf(t, l.tick(started(0, false, 11434, "5m0s", "", 0, 0, "0.32.9"))); k.Parallel != nil || k.Context != nil || k.FlashAttention != nil || k.Sources["keep_alive_seconds"] != SettingLog {
		t.Errorf("%+v", k)
	}
}

// A log of another server tells nothing of this one: neither settings nor news.
func TestForeignLog(t *testing.T) {
	const cut = `level=WARN msg="truncating input prompt" limit=64 prompt=222 keep=5 new=64` + "\n"
	l := newLogged(t)
	k := settingsOf(t, l.tick(started(8192, false, 11434, "5m0s", "", 0, 4, "0.30.1")+cut))
	if k.Log != LogForeign || k.Parallel != nil || l.news != nil {
		t.Errorf("another version: %+v, %v", k, l.news)
	}
	l = newLogged(t)
	if k = settingsOf(t, l.tick(started(8192, false, 11436, "5m0s", "", 0, 4, "0.32.9")+cut)); k.Log != LogForeign || l.news != nil {
		t.Errorf("another port: %+v, %v", k, l.news)
	}
	// A meter stands in front: the server has another port, its models run here.
	l.runners.found["ollama/a"] = metal.Process{PID: 7}
	if k = settingsOf(t, l.tick(cut, backend.Resident{Model: "a"})); k.Log != LogFollowing || *k.Parallel != 4 || l.kinds() != "prompt_truncated a" {
		t.Errorf("behind a meter: %+v, %s", k, l.kinds())
	}
}

const logLoad = `time=2026-11-30T11:30:00.000Z level=INFO msg="starting llama-server" cmd="llama-server --model /m/blobs/sha256-11 --port 5 -c 16384 -np 4"
load_tensors: offloaded 29/29 layers to GPU
load_tensors:         CPU model buffer size =   100.00 MiB
load_tensors:        MTL0 model buffer size =   900.00 MiB
llama_kv_cache:       MTL0 KV buffer size =   400.00 MiB
llama_kv_cache:        CPU KV buffer size =   496.00 MiB
time=2026-11-30T11:30:07.000Z level=INFO msg="llama-server started in 7.30 seconds"
`

func TestModelsInMemory(t *testing.T) {
	l := newLogged(t)
	m := backend.Resident{Model: "a:7b", Weights: "/other/place/blobs/sha256-11"}
	k := settingsOf(t, l.tick(started(4096, false, 11434, "5m0s", "q8_0", 0, 4, "0.32.9")+logLoad, m))
	if len(k.Models) != 1 {
		t.Fatalf("%+v", k)
	}
	a := k.Models[0]
	if a.Model != "a:7b" || *a.Context != 4096 || *a.Parallel != 4 || *a.Weights != 1000<<20 || *a.Cache != 896<<20 || a.Compute != nil || a.Estimated ||
		*a.GPULayers != 29 || *a.LoadTime != 7.3 || a.Sources["kv_cache_bytes"] != SettingLog || a.Sources["context_tokens"] != SettingLog {
		t.Errorf("%+v", a)
	}
	// Case 23: q8_0 was asked for and flash attention is confirmed by nobody.
	if a.CacheType != "f16" || a.Sources["kv_cache_type"] != SettingAssumed || k.CacheType != "q8_0" {
		t.Errorf("cache %s from %s", a.CacheType, a.Sources["kv_cache_type"])
	}
	if k = settingsOf(t, l.tick("llama_context: flash_attn    = enabled\n", m)); k.Models[0].CacheType != "q8_0" || k.Models[0].Sources["kv_cache_type"] != SettingLog {
		t.Errorf("with flash attention: %+v", k.Models[0])
	}
	// The process knows better than the log, which may be of the load before.
	l.runners.found["ollama/a:7b"] = metal.Process{PID: 7, Args: []string{"llama-server", "--model", "/m/blobs/sha256-11", "-c", "8192", "-np", "1", "--cache-type-k", "q4_0"}}
	a = settingsOf(t, l.tick("", m)).Models[0]
	if *a.Context != 8192 || *a.Parallel != 1 || a.CacheType != "q4_0" || a.Sources["parallel_requests"] != SettingArguments || *a.Cache != 896<<20 {
		t.Errorf("%+v", a)
	}
	// Of a model that nobody told of there is nothing, of one in the cloud neither.
	if k = settingsOf(t, l.tick("", backend.Resident{Model: "b"}, backend.Resident{Model: "c:cloud", Cloud: true})); k.Models != nil {
		t.Errorf("%+v", k.Models)
	}
}

func TestNews(t *testing.T) {
	l := newLogged(t)
	one, two := backend.Resident{Model: "a"}, backend.Resident{Model: "b"}
	const lines = `time=2026-11-30T11:59:59.000Z level=WARN msg="truncating input prompt" limit=258 prompt=7260 keep=4 new=258
error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)
llama_init_from_model: V cache quantization requires flash_attn
time=2026-11-30T11:59:59.000Z level=DEBUG msg="found an idle runner to unload" runner.name=registry/library/z:latest
`
	l.tick(lines, one)
	if got := l.kinds(); got != "prompt_truncated a, out_of_memory a, cache_refused a, model_evicted z:latest" {
		t.Errorf("%s", got)
	}
	if e := l.news[0]; *e.Evidence.Tokens != 7260 || *e.Evidence.KeptTokens != 258 || !e.Time.Equal(l.at.Add(-time.Second)) || e.Evidence.Backend != "ollama" {
		t.Errorf("%+v", e)
	}
	if l.news[1].Evidence.Cause != serverlog.CauseCommandBuffer {
		t.Errorf("%+v", l.news[1])
	}
	l.tick("", one)
	if l.news != nil {
		t.Errorf("told twice: %s", l.kinds())
	}
	l.tick(lines[:strings.IndexByte(lines, '\n')+1], one, two)
	if got := l.kinds(); got != "prompt_truncated " {
		t.Errorf("of two models: %q", got)
	}
}

const logRequest = `slot launch_slot_: id  0 | task 49 | processing task, is_child = 0
slot   operator(): id  0 | task 49 | new prompt, n_ctx_slot = 8192, n_keep = 4, task.n_tokens = 1000
slot print_timing: id  0 | task 49 | prompt eval time =    8000.00 ms /   800 tokens (   10.00 ms per token,   100.00 tokens per second)
slot print_timing: id  0 | task 49 |        eval time =   20000.00 ms /   200 tokens (  100.00 ms per token,    10.00 tokens per second)
slot print_timing: id  0 | task 49 |       total time =   28000.00 ms /  1000 tokens
`

// The lines of a runner become a request; of two runners they cannot be told apart.
func TestRequestsOfTheLog(t *testing.T) {
	for models, want := range map[int]int{1: 1, 2: 0} {
		l := newLogged(t)
		residents := []backend.Resident{{Model: "a"}, {Model: "b"}}[:models]
		s := l.tick(logRequest, residents...)
		l.tellRequests(s)
		if len(s.Requests) != want {
			t.Fatalf("%d models: %d requests", models, len(s.Requests))
		}
		if want == 0 {
			continue
		}
		r := s.Requests[0]
		if r.Model != "a" || r.Decode == nil || r.Decode.Value != 10 || r.Prefill.Value != 100 || *r.OutputTokens != 200 || *r.PromptTokens != 1000 ||
			r.Phase != request.PhaseDone || !slices.Equal(r.Sources, []request.Source{request.SourceLog}) {
			t.Errorf("%+v", r)
		}
	}
}

// A server elsewhere has no settings that could be known here.
func TestNoSettingsOfAServerElsewhere(t *testing.T) {
	l := newLogged(t)
	s := &Snapshot{Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://mini.local:11434"}}}
	l.readLogs(s)
	if s.ServerSettings != nil {
		t.Errorf("%+v", s.ServerSettings)
	}
}
