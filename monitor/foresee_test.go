package monitor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

// show8B is a reply of /api/show of a model with 32 layers, 8 KV heads and 4.9 GB.
func show8B(weights uint64) []byte {
	return fmt.Appendf(nil, `{"details":{"format":"gguf"},"model_info":{"general.architecture":"llama","llama.block_count":32,"llama.attention.head_count":32,
		"llama.attention.head_count_kv":8,"llama.embedding_length":4096,"llama.context_length":131072,"llama.feed_forward_length":14336,"llama.vocab_size":128256},
		"tensors":[{"name":"blk.0.x","type":"I8","shape":[%d]}]}`, weights)
}

// foreseeing is a monitor with an M4 Pro of 48 GB, whose builds are known.
func foreseeing(t *testing.T, sizes map[string]uint64) *Monitor {
	t.Helper()
	m := New(Config{Local: newFakeMachine(), Clock: SystemClock()})
	for name, size := range sizes {
		m.builds.learn("ollama", []backend.Description{{Model: name, Digest: name, Size: &size, Reply: show8B(size)}})
	}
	return m
}

func proMac(residents ...Resident) *Snapshot {
	for i := range residents {
		residents[i].Backend = "ollama"
	}
	return &Snapshot{
		Machine:   &metal.Machine{Chip: "Apple M4 Pro", Bandwidth: new(273e9), BandwidthCertain: new(true), RAMBytes: new(uint64(48 * gib))},
		GPU:       &metal.GPU{WorkingSet: new(uint64(36 * gib)), InUse: new(uint64(6 * gib))},
		Headroom:  &Headroom{GPU: new(uint64(30 * gib)), RAM: new(uint64(36 * gib)), Bytes: 30 * gib, Binding: BindingGPU},
		Backends:  []backend.Status{{Name: "ollama", Kind: "ollama", Version: "0.17.4", State: backend.Running}},
		Residents: residents,
	}
}

func resident(model string, context int, size uint64) Resident {
	return Resident{Resident: backend.Resident{Model: model, Context: &context, Size: &size, GPU: &size}}
}

func TestResidentsArePlanned(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9})
	s := proMac(resident("8b", 32768, 9.4e9), resident("stranger", 4096, 1e9))
	m.foresee(s)
	r := s.Residents[0]
	if r.PlannedCache == nil || *r.PlannedCache != 131072*32768 || r.Planned == nil || *r.Planned < 4.9e9+131072*32768 || r.Unplanned != "" {
		t.Errorf("planned %v, of which cache %v, %q", r.Planned, r.PlannedCache, r.Unplanned)
	}
	if r.Expected == nil || math.Abs(*r.Expected.Centre-0.65*273/4.9) > 0.01 {
		t.Errorf("expected %+v", r.Expected)
	}
	if *r.ReadPerToken != 4.9e9 || *r.CachePerToken != 131072 {
		t.Errorf("%.0f B and %.0f B a token", *r.ReadPerToken, *r.CachePerToken)
	}
	if other := s.Residents[1]; other.Planned != nil || other.Expected != nil || other.Unplanned != "" {
		t.Errorf("a model of which nothing was told: %+v", other)
	}
	events := appeared(EventModelLoaded, s.Residents, nil, time.Time{})
	if e := events[0].Evidence; e.Planned != r.Planned || *e.Bytes != 9.4e9 {
		t.Errorf("the event tells %+v", e)
	}
}

// Case 4: an engine that keeps its compressed cache expanded is known by its log.
func TestLoggedCacheWins(t *testing.T) {
	m := New(Config{Local: newFakeMachine(), Clock: SystemClock()})
	m.builds.learn("ollama", []backend.Description{{Model: "glm", Digest: "glm", Size: new(uint64(19e9)), Reply: []byte(`{"general.architecture":"glm4moelite",
		"glm4moelite.block_count":47,"glm4moelite.attention.head_count":20,"glm4moelite.attention.kv_lora_rank":512,"glm4moelite.rope.dimension_count":64,
		"glm4moelite.attention.key_length":256,"glm4moelite.attention.value_length":256}`)}})
	const compressed, expanded = 47 * 576 * 2 * 8192, 47 * 20 * 512 * 2 * 8192
	for cache, want := range map[uint64]uint64{0: compressed, compressed: compressed, 7881 << 20: expanded} {
		s := proMac(resident("glm", 8192, 26e9))
		if cache > 0 {
			s.ServerSettings = []ServerSettings{{Backend: "ollama", Models: []ModelSettings{{Model: "glm", Cache: &cache}}}}
		}
		m.foresee(s)
		if got := s.Residents[0].PlannedCache; got == nil || *got != want {
			t.Errorf("with %d B in the log: planned %v, want %d", cache, got, want)
		}
	}
}

// What the server told of its settings counts, what is assumed of it does not.
func TestServerSettingsCount(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9})
	build, _ := m.builds.of("ollama", "8b", "")
	s := proMac()
	s.ServerSettings = []ServerSettings{{Backend: "ollama", Parallel: new(4), CacheType: "q8_0", FlashAttention: new(true), Context: new(16384),
		Sources: map[string]SettingSource{"kv_cache_type": SettingLog, "context_tokens": SettingLog}}}
	plan := s.Place().Plan(s.Subject("ollama", "8b", build))
	if plan.Slots != 4 || plan.Cache != fit.Q8 || plan.Context != 16384 || plan.FourSlots != nil {
		t.Errorf("%d slots, %s, %d tokens, %+v", plan.Slots, plan.Cache, plan.Context, plan.FourSlots)
	}
	s.ServerSettings[0] = ServerSettings{Backend: "ollama", CacheType: "q8_0", Sources: map[string]SettingSource{"kv_cache_type": SettingAssumed}}
	plan = s.Place().Plan(s.Subject("ollama", "8b", build))
	if plan.Slots != 1 || plan.Cache != fit.F16 || plan.Context != 32768 || plan.FourSlots == nil {
		t.Errorf("assumed: %d slots, %s, %d tokens, %+v", plan.Slots, plan.Cache, plan.Context, plan.FourSlots)
	}
}

func TestLargestModelThatFits(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9, "32b": 20e9, "70b": 42e9})
	m.pollers = []*poller{{answer: backend.Answer{Models: []backend.Model{
		{Backend: "ollama", Model: "32b", Digest: "32b"}, {Backend: "ollama", Model: "70b", Digest: "70b"}, {Backend: "ollama", Model: "8b", Digest: "8b"},
		{Backend: "ollama", Model: "cloud", Digest: "cloud", Cloud: true}, {Backend: "ollama", Model: "unknown", Digest: "unknown"},
	}}}}
	s := proMac()
	m.nameLargest(s)
	if f := s.LargestFit; f == nil || f.Model != "32b" || f.Context != 32768 || f.Needs < 20e9+131072*32768 {
		t.Errorf("%+v", f)
	}
	full := proMac(resident("32b", 4096, 21e9))
	full.Headroom.GPU = new(uint64(10 * gib))
	m.nameLargest(full)
	if f := full.LargestFit; f == nil || f.Model != "8b" || !f.Borderline {
		t.Errorf("with little left: %+v", f)
	}
	unknown := proMac()
	unknown.Headroom = nil
	m.nameLargest(unknown)
	if unknown.LargestFit != nil {
		t.Errorf("without a limit: %+v", unknown.LargestFit)
	}
	if builds := m.Builds(); len(builds) != 3 {
		t.Errorf("%d builds", len(builds))
	}
}

// finished is a request that ended with a rate.
func finished(id int, rate float64) request.Request {
	return request.Request{
		ID: strconv.Itoa(id), Backend: "ollama", Model: "8b", Phase: request.PhaseDone, Outcome: request.OutcomeFinished,
		PromptTokens: new(100), OutputTokens: new(200), Decode: &request.Number{Value: rate, Source: request.SourceServer},
	}
}

// Three requests teach what the engine reaches here; what was slowed, cut or shared
// between processor and GPU teaches nothing.
func TestEfficiencyIsLearned(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9})
	tick := func(change func(*Snapshot), requests ...request.Request) *Snapshot {
		s := proMac(resident("8b", 32768, 9.4e9))
		s.Requests = requests
		if change != nil {
			change(s)
		}
		m.foresee(s)
		return s
	}
	bad := []request.Request{finished(1, 30), finished(2, 30), finished(3, 30), finished(4, 30)}
	bad[0].Notes, bad[1].Outcome, bad[2].Decode, bad[3].OutputTokens = []request.Note{request.NoteImplausible}, request.OutcomeCancelled, nil, new(3)
	tick(nil, bad...)
	tick(func(s *Snapshot) { s.Throttle = &Throttle{Throttled: true} }, finished(5, 30))
	tick(func(s *Snapshot) { s.Residents[0].GPU = new(uint64(5e9)) }, finished(6, 30))
	tick(func(s *Snapshot) { s.Machine.Bandwidth = nil }, finished(7, 30))
	first := []request.Request{finished(10, 28), finished(11, 30)}
	for range 3 { // the same requests are seen at many ticks
		if s := tick(nil, first...); s.Efficiencies != nil {
			t.Fatalf("two requests teach %+v", s.Efficiencies)
		}
	}
	s := tick(nil, append(first, finished(12, 29))...)
	if len(s.Efficiencies) != 1 || s.Efficiencies[0].Runs != 3 || s.Efficiencies[0].Version != "0.17.4" || s.Efficiencies[0].Class != fit.Dense {
		t.Fatalf("three requests teach %+v", s.Efficiencies)
	}
	s = tick(nil)
	if e := s.Residents[0].Expected; e == nil || e.Source != fit.SourceLearned || math.Abs(*e.Centre-29) > 0.3 {
		t.Errorf("expected %+v", e)
	}
	later := foreseeing(t, map[string]uint64{"8b": 4.9e9})
	later.Restore(s.Efficiencies)
	again := proMac(resident("8b", 32768, 9.4e9))
	later.foresee(again)
	if !slices.EqualFunc(again.Efficiencies, s.Efficiencies, func(a, b fit.Learned) bool { return math.Abs(a.Band.Centre-b.Band.Centre) < 1e-9 }) {
		t.Errorf("another life knows %+v, want %+v", again.Efficiencies, s.Efficiencies)
	}
}

// The live efficiency and the one word follow the usual rates.
func TestUsualRatesAreJudged(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9})
	for _, c := range []struct {
		speed request.Speed
		want  fit.Comfort
	}{
		{request.Speed{Decode: &request.Number{Value: 30}, TTFT: &request.Number{Value: 0.6}}, fit.Comfortable},
		{request.Speed{Decode: &request.Number{Value: 30}, Prefill: &request.Number{Value: 100}}, fit.Slow}, // 3.5 s for a usual prompt
		{request.Speed{Decode: &request.Number{Value: 3}}, fit.BatchOnly},
		{request.Speed{Decode: &request.Number{Value: 30}}, ""},
		{request.Speed{}, ""},
	} {
		s := proMac(resident("8b", 32768, 9.4e9))
		c.speed.Backend, c.speed.Model = "ollama", "8b"
		s.Speeds = []request.Speed{c.speed}
		m.foresee(s)
		r := s.Residents[0]
		if r.Comfort != c.want {
			t.Errorf("%+v: %q, want %q", c.speed, r.Comfort, c.want)
		}
		if c.speed.Decode != nil && (r.Efficiency == nil || math.Abs(*r.Efficiency-c.speed.Decode.Value/(273e9/(4.9e9+131072*2048))) > 1e-9) {
			t.Errorf("%+v: an efficiency of %v", c.speed, r.Efficiency)
		}
	}
}

// Case 53: a runner that takes half as much again as weights and planned cache is an
// alert, also where its server tells no size.
func TestFootprintOverThePlan(t *testing.T) {
	m := foreseeing(t, map[string]uint64{"4b": 2.5e9})
	s := proMac(Resident{Resident: backend.Resident{Model: "4b", Context: new(8192)}, Footprint: new(uint64(26.28e9))})
	m.foresee(s)
	var f finding
	if s.Residents[0].Planned == nil || !f.grows(&Snapshot{}, &s.Residents[0]) || f.evidence.Cause != causeOverSize {
		t.Errorf("%+v of a plan of %v", f.evidence, s.Residents[0].Planned)
	}
	s.Residents[0].Footprint = new(uint64(float64(*s.Residents[0].Planned) * 1.4))
	f = finding{}
	if f.grows(&Snapshot{}, &s.Residents[0]) {
		t.Errorf("%+v", f.evidence)
	}
}

// describing is a server that describes its model once.
type describing struct{ *fakeServer }

func (d *describing) Poll(ctx context.Context) backend.Answer {
	a := d.fakeServer.Poll(ctx)
	if d.polls == 1 {
		a.Described = []backend.Description{{Model: "8b", Digest: "d", Reply: show8B(4.9e9)}}
	}
	return a
}

// Described builds arrive with a poll and are asked for nowhere else.
func TestDescriptionsReachTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &describing{fakeServer: newFakeServer(backend.Resident{Model: "8b", Digest: "d", Context: new(4096), Size: new(uint64(6e9))})}
		m := New(Config{Local: newFakeMachine(), Backends: []backend.Backend{server}, Clock: SystemClock()})
		go m.Run(t.Context())
		synctest.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		s := m.snapshot()
		if len(s.Residents) != 1 || s.Residents[0].Planned == nil {
			t.Errorf("%+v", s.Residents)
		}
	})
}

// Weights that are pages of their file are in no footprint; unloading gives them back.
func TestMappedWeightsAreGivenBack(t *testing.T) {
	s := proMac(resident("8b", 4096, 5e9))
	s.Residents[0].Footprint, s.Headroom.Mapped = new(uint64(1e9)), new(uint64(4e9))
	if got := s.Place().Freed; got != 5e9 {
		t.Errorf("%d B are given back", got)
	}
}
