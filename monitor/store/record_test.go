package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func recording(t *testing.T, path string, log *slog.Logger) *Recorder {
	t.Helper()
	r, err := Record(path, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// feed hands updates to a writer as a mailbox would.
func feed(t *testing.T, w *writer, updates ...monitor.Update) {
	t.Helper()
	box := make(queue, 0, len(updates))
	box = append(box, updates...)
	w.drain(t.Context(), &box)
}

// queue is a mailbox that a test fills.
type queue []monitor.Update

func (q *queue) Take() (monitor.Update, bool) {
	if len(*q) == 0 {
		return monitor.Update{}, false
	}
	u := (*q)[0]
	*q = (*q)[1:]
	return u, true
}

func TestMinutes(t *testing.T) {
	r := recording(t, file(t), quiet())
	w := &writer{recorder: r}
	for i := range 61 {
		at := time.Duration(i) * 2 * time.Second
		feed(t, w, snapshot(at, func(s *monitor.Snapshot) {
			s.Memory.Used = new(uint64(i) << 20)
			s.Swap.Out = new(uint64(i) << 20)
			s.GPU = &metal.GPU{Utilisation: new(0.5), Temperature: new(40 + float64(i%30)), Power: new(math.NaN())}
			s.Throttle = &monitor.Throttle{Throttled: i < 15}
			s.Thermal = &metal.Thermal{Pressure: []metal.ThermalPressure{metal.ThermalHeavy, metal.ThermalNominal}[i%2]}
			s.Backends = []backend.Status{{Name: "ollama", State: backend.Running}}
			s.Residents = []monitor.Resident{{Resident: backend.Resident{Model: "a", Size: new(uint64(4 << 30))}, Activity: monitor.ActivityBusy},
				{Resident: backend.Resident{Model: "c", Cloud: true}}}
			s.Requests = []request.Request{{ID: "1", Phase: request.PhaseDecode, Live: &request.Number{Value: 20}}}
		}))
	}
	all, err := r.History().Samples(t.Context(), noon, noon.Add(time.Hour))
	if err != nil || len(all) != 3 {
		t.Fatalf("%d minutes, %v; want 3", len(all), err)
	}
	first, second := all[0], all[1]
	if !first.Start.Equal(noon) || first.Snapshots != 30 || second.Snapshots != 30 || all[2].Snapshots != 1 {
		t.Errorf("minutes %v of %d, %d, %d", first.Start, first.Snapshots, second.Snapshots, all[2].Snapshots)
	}
	text, err := json.Marshal(second)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"memory_used_bytes": 44.5 * (1 << 20), "memory_used_most_bytes": 59.0 * (1 << 20), "memory_available_least_bytes": float64(5 << 30),
		"pressure": "normal", "swap_out_bytes": 30.0 * (1 << 20), "swap_in_bytes": 0.0, "gpu_utilisation_ratio": 0.5,
		"gpu_temperature_celsius": 69.0, "thermal_pressure": "heavy", "throttled_ratio": 0.0, "residents": 1.0,
		"resident_bytes": float64(4 << 30), "busy_ratio": 1.0, "decode_tokens_per_second": 20.0,
		"gpu_power_watts": nil, "headroom_bytes": nil, "gpu_limit_bytes": nil,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if *first.Throttled != 0.5 {
		t.Errorf("throttled %v of the first minute, want half", *first.Throttled)
	}
}

// Every field of a Sample has a column of its name and keeps its value.
func TestEveryFieldIsKept(t *testing.T) {
	h := open(t, file(t))
	s := Sample{Start: noon, Snapshots: 7, Pressure: metal.PressureWarning, Thermal: metal.ThermalModerate, Alerts: []string{"pressure", "swapping"}}
	for i, c := range columns {
		put(c.field(&s), new(float64(i)+1))
	}
	if _, err := h.db.Exec(writeSample, s.args()...); err != nil {
		t.Fatal(err)
	}
	all, err := h.Samples(t.Context(), noon, noon.Add(time.Minute))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	want, _ := json.Marshal(s)
	got, _ := json.Marshal(all[0])
	if string(got) != string(want) {
		t.Errorf("kept\n%s\nwant\n%s", got, want)
	}
	for _, c := range columns {
		if !strings.Contains(string(want), `"`+c.name+`":`) {
			t.Errorf("no field of a Sample is called %s", c.name)
		}
	}
}

// Two agents one after the other tell of one minute: the fuller account stays.
func TestMinuteAcrossRestart(t *testing.T) {
	path := file(t)
	for life, n := range []int{20, 5} {
		r := recording(t, path, quiet())
		w := &writer{recorder: r}
		for i := range n {
			feed(t, w, snapshot(time.Duration(life*40+i)*time.Second, nil))
		}
		if err := w.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	all, err := open(t, path).Samples(t.Context(), noon, noon.Add(time.Hour))
	if err != nil || len(all) != 1 || all[0].Snapshots != 20 {
		t.Errorf("%+v %v, want one minute of 20", all, err)
	}
}

func TestRequestsAreKeptOnceAndWithoutWords(t *testing.T) {
	r := recording(t, file(t), quiet())
	w := &writer{recorder: r}
	secret := "the prompt said hunter2"
	for i := range 150 {
		feed(t, w, snapshot(time.Duration(i)*time.Second, func(s *monitor.Snapshot) {
			early, failed := done("1", noon.Add(time.Second)), done("2", noon.Add(2*time.Second))
			failed.Outcome, failed.Error = request.OutcomeFailed, secret
			if i > 70 { // the server's statistics came late
				failed.Changed, failed.OutputTokens = noon.Add(71*time.Second), new(99)
			}
			s.Requests = []request.Request{{ID: "3", Phase: request.PhaseDecode, Error: secret}, failed, early}
			s.Diagnosis = &monitor.Diagnosis{Cause: monitor.SlowNot}
		}))
	}
	if err := w.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := r.History().Requests(t.Context(), noon, noon.Add(time.Hour), 0)
	if err != nil || len(list) != 2 || list[0].ID != "1" || list[1].ID != "2" || *list[1].OutputTokens != 99 {
		t.Errorf("%+v %v, want both once, as they were last", list, err)
	}
	if newest, err := r.History().Requests(t.Context(), noon, noon.Add(time.Hour), 1); err != nil || len(newest) != 1 || newest[0].ID != "2" {
		t.Errorf("newest %+v %v", newest, err)
	}
	r.Close()
	names, _ := filepath.Glob(r.path + "*")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(data), "hunter2") {
			t.Errorf("%s: %v, or it holds what the server said", name, err)
		}
	}
}

func TestEventsAndTheLastMoment(t *testing.T) {
	path := file(t)
	r := recording(t, path, quiet())
	w := &writer{recorder: r}
	for i := range 100 {
		u := snapshot(time.Duration(i)*time.Second, func(s *monitor.Snapshot) {
			s.Residents = []monitor.Resident{{Resident: backend.Resident{Backend: "ollama", Model: "big"}, Footprint: new(uint64(i))}}
		})
		if i == 10 {
			u.Events = []monitor.Event{{Time: u.Snapshot.Taken, Kind: monitor.EventAlertRaised, Alert: &monitor.Alert{ID: "swapping", Rule: "swapping"}}}
		}
		if i > 60 {
			u.Alerts = []monitor.Alert{{ID: "swapping", Rule: "swapping", Severity: monitor.SeverityCritical}}
		}
		feed(t, w, u)
	}
	r.lock.Close() // killed here: nothing more is written, and nobody said good-bye
	again := recording(t, path, quiet())
	m, err := again.History().Before(t.Context(), noon.Add(2*time.Minute))
	if err != nil || m == nil {
		t.Fatalf("%v %v", m, err)
	}
	age := 99*time.Second - m.Snapshot.Taken.Sub(noon)
	if age > writeInDanger || len(m.Samples) != 2 || *m.Snapshot.Residents[0].Footprint == 0 || !slices.Equal(m.Samples[1].Alerts, []string{"swapping"}) {
		t.Errorf("the last moment is %v old, samples %+v", age, m.Samples)
	}
	if m, err := again.History().Before(t.Context(), noon); m != nil || err != nil {
		t.Errorf("before the first moment: %v %v", m, err)
	}
	events, err := again.History().Events(t.Context(), noon, noon.Add(time.Hour), 0)
	if err != nil || len(events) != 1 || events[0].Alert.Rule != "swapping" {
		t.Errorf("events %+v %v", events, err)
	}
}

// A disk that takes nothing costs what happened longest ago, and a gap says so.
func TestFullDisk(t *testing.T) {
	var log strings.Builder
	r := recording(t, file(t), slog.New(slog.NewTextHandler(&log, nil)))
	w := &writer{recorder: r}
	pages := 0
	if err := r.history.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	r.history.db.SetMaxOpenConns(1) // the bound below is the connection's
	full := func(most int) {
		if _, err := r.history.db.Exec("PRAGMA max_page_count = " + strconv.Itoa(most)); err != nil {
			t.Fatal(err)
		}
	}
	full(pages + 1)
	for i := range 40 {
		u := snapshot(time.Duration(i)*time.Minute, nil)
		for n := range 100 {
			u.Events = append(u.Events, monitor.Event{Time: u.Snapshot.Taken, Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Count: new(n)}})
		}
		feed(t, w, u)
	}
	if n := len(w.batch.events); n != eventsBound || !w.failing {
		t.Errorf("%d events wait, failing %v", n, w.failing)
	}
	full(1 << 20)
	feed(t, w, snapshot(41*time.Minute, nil))
	events, err := r.History().Events(t.Context(), noon, noon.Add(time.Hour), 0)
	gaps := 0
	for _, e := range events {
		if e.Kind == monitor.EventGap {
			gaps += *e.Evidence.Count
		}
	}
	if err != nil || gaps+len(events)-1 != 4000 || gaps == 0 {
		t.Errorf("%d events and %d missing of 4000, %v", len(events)-1, gaps, err)
	}
	minutes, err := r.History().Samples(t.Context(), noon, noon.Add(time.Hour))
	if err != nil || len(minutes) != 41 {
		t.Errorf("%d minutes, %v; want all 41", len(minutes), err)
	}
	if said := log.String(); strings.Count(said, "not being written") != 1 || strings.Count(said, "written again") != 1 {
		t.Errorf("said\n%s", said)
	}
}

// What a subscriber missed is an event of its own.
func TestGapOfTheMailbox(t *testing.T) {
	r := recording(t, file(t), quiet())
	w := &writer{recorder: r}
	u := snapshot(0, nil)
	u.Events = []monitor.Event{{Time: u.Snapshot.Taken, Kind: monitor.EventGap, Evidence: monitor.Evidence{Count: new(3)}}}
	feed(t, w, u)
	if err := w.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := r.History().Events(t.Context(), noon, noon.Add(time.Hour), 0)
	if err != nil || len(events) != 1 || events[0].Kind != monitor.EventGap || *events[0].Evidence.Count != 3 {
		t.Errorf("%+v %v", events, err)
	}
}

func TestOneRecorder(t *testing.T) {
	path := file(t)
	first := recording(t, path, quiet())
	if _, err := Record(path, quiet()); !IsKind(err, CodeLocked) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := Open(path); err != nil {
		t.Errorf("a program that only adds: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	recording(t, path, quiet())
}

// A damaged file is moved aside with a message, whether the damage shows at the
// start or later, and what was read of the machine meanwhile is not lost.
func TestDamage(t *testing.T) {
	garbage := []byte(strings.Repeat("not a database ", 1000))
	t.Run("at the start", func(t *testing.T) {
		path := file(t)
		for n := range 2 {
			if err := os.WriteFile(path, garbage, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); !IsKind(err, CodeDamaged) {
				t.Errorf("a program that only adds: %v", err)
			}
			var log strings.Builder
			r := recording(t, path, slog.New(slog.NewTextHandler(&log, nil)))
			aside := path + []string{".bad", ".bad2"}[n]
			if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(garbage) {
				t.Errorf("%s: %v", aside, err)
			}
			if !strings.Contains(log.String(), "moved aside") || !strings.Contains(log.String(), aside) {
				t.Errorf("said %s", log.String())
			}
			r.Close()
		}
	})
	t.Run("in the middle", func(t *testing.T) {
		path := file(t)
		r := recording(t, path, quiet())
		w := &writer{recorder: r}
		for i := range 3 {
			feed(t, w, snapshot(time.Duration(i)*time.Minute, nil))
		}
		if _, err := r.history.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		r.history.Close()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 200; i < len(data); i++ { // all pages, past the header that Open looks at
			data[i] = 0xA5
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r.history, err = connect(path, "rw"); err != nil {
			t.Fatal(err)
		}
		feed(t, w, snapshot(4*time.Minute, nil))
		all, err := r.History().Samples(t.Context(), noon, noon.Add(time.Hour))
		if err != nil || len(all) == 0 || !all[len(all)-1].Start.Equal(noon.Add(4*time.Minute)) {
			t.Errorf("after damage: %+v %v", all, err)
		}
		if _, err := os.Stat(path + ".bad"); err != nil {
			t.Error(err)
		}
	})
}

func TestEfficiencies(t *testing.T) {
	path := file(t)
	r := recording(t, path, quiet())
	w := &writer{recorder: r}
	learned := func(version string, runs int) fit.Learned {
		return fit.Learned{Engine: "ollama", Version: version, Class: fit.Dense, Runs: runs, Band: fit.Band{Low: 0.6, Centre: 0.65, High: 0.7}}
	}
	feed(t, w,
		snapshot(0, func(s *monitor.Snapshot) { s.Efficiencies = []fit.Learned{learned("0.17.4", 3)} }),
		snapshot(time.Minute, func(s *monitor.Snapshot) { s.Efficiencies = []fit.Learned{learned("0.17.4", 3)} }),
		snapshot(2*time.Minute, func(s *monitor.Snapshot) { s.Efficiencies = []fit.Learned{learned("0.17.4", 9), learned("0.18.0", 3)} }))
	r.Close()
	got, err := recording(t, path, quiet()).History().Efficiencies(t.Context())
	if want := []fit.Learned{learned("0.17.4", 9), learned("0.18.0", 3)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

func TestSwapDay(t *testing.T) {
	path := file(t)
	r := recording(t, path, quiet())
	if d, err := r.History().SwapDay(t.Context()); d != nil || err != nil {
		t.Errorf("a fresh history knows %+v, %v", d, err)
	}
	w := &writer{recorder: r}
	feed(t, w, snapshot(0, nil), snapshot(time.Minute, func(s *monitor.Snapshot) {
		s.Swap.Out, s.Swap.OutToday, s.Swap.OutSince = new(uint64(700)), new(uint64(500)), new(noon.Add(-time.Hour))
	}))
	r.Close()
	d, err := recording(t, path, quiet()).History().SwapDay(t.Context())
	want := monitor.SwapDay{Day: noon.Add(-12 * time.Hour), Since: noon.Add(-time.Hour), Bytes: 500, Counter: 700, At: noon.Add(time.Minute), Boot: "boot-1"}
	if err != nil || d == nil || !d.Day.Equal(want.Day) || !d.Since.Equal(want.Since) || !d.At.Equal(want.At) || d.Bytes != 500 || d.Counter != 700 || d.Boot != "boot-1" {
		t.Errorf("%+v, want %+v", d, want)
	}
}

func TestPrune(t *testing.T) {
	h, ctx := open(t, file(t)), t.Context()
	err := h.change(ctx, func(tx *sql.Tx) error {
		for i := range 3000 {
			s := Sample{Start: noon.Add(-time.Duration(i) * time.Hour), Snapshots: 1}
			if _, err := tx.Exec(writeSample, s.args()...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.AddBenchmark(ctx, Benchmark{Taken: noon.Add(-1000 * day), Result: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.prune(ctx, noon, sizeBound); err != nil {
		t.Fatal(err)
	}
	all, err := h.Samples(ctx, time.Unix(0, 0), noon.Add(time.Hour))
	if err != nil || len(all) != 90*24+1 {
		t.Errorf("%d minutes are left, %v; want those of 90 days", len(all), err)
	}
	const bound = 128 << 10
	if err := h.prune(ctx, noon, bound); err != nil {
		t.Fatal(err)
	}
	used, err := h.used(ctx)
	if err != nil || used > bound {
		t.Errorf("%d bytes, %v; want at most %d", used, err, bound)
	}
	if all, err = h.Samples(ctx, time.Unix(0, 0), noon.Add(time.Hour)); err != nil || len(all) == 0 || !all[len(all)-1].Start.Equal(noon) {
		t.Errorf("the newest minute is gone (%d left, %v)", len(all), err)
	}
	if b, err := h.Benchmark(ctx, id); b == nil || err != nil {
		t.Errorf("the benchmark is gone: %v", err)
	}
	if err := h.prune(ctx, noon, 0); err != nil { // as little as can be
		t.Fatal(err)
	}
}

// Run takes what the monitor delivers, writes the rest at the end, and ends with
// its context.
func TestRun(t *testing.T) {
	path := file(t)
	r := recording(t, path, quiet())
	m := monitor.New(monitor.Config{Local: machine{}, Clock: monitor.SystemClock(), Simulated: true})
	box := m.Subscribe(monitor.Options{Lossless: true})
	ctx, cancel := context.WithCancel(t.Context())
	ran, watched := make(chan error, 1), m.Subscribe(monitor.Options{})
	go m.Run(ctx)
	<-watched.Ready()
	go func() { ran <- r.Run(ctx, box) }()
	cancel()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	m2, err := r.History().Before(t.Context(), time.Now().Add(time.Hour))
	if err != nil || m2 == nil || !m2.Snapshot.Simulated {
		t.Errorf("%+v %v", m2, err)
	}
}

// machine tells nothing.
type machine struct{ metal.Reader }

func (machine) Machine() (*metal.Machine, error)    { return nil, metal.ErrUnsupported }
func (machine) Memory() (*metal.Memory, error)      { return nil, metal.ErrUnsupported }
func (machine) Swap() (*metal.Swap, error)          { return nil, metal.ErrUnsupported }
func (machine) GPU() (*metal.GPU, error)            { return nil, metal.ErrUnsupported }
func (machine) Thermal() (*metal.Thermal, error)    { return nil, metal.ErrUnsupported }
func (machine) Power() (*metal.Power, error)        { return nil, metal.ErrUnsupported }
func (machine) Processes() ([]metal.Process, error) { return nil, metal.ErrUnsupported }
func (machine) Process(int) (*metal.Process, error) { return nil, metal.ErrNoProcess }
