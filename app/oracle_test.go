//go:build linux && !race

package main

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
)

// course is what an agent told, in order, and its newest update.
type course struct {
	mu     sync.Mutex
	events []monitor.Event
	latest monitor.Update
	host   *traytest.Host
	socket string
	nudge  chan struct{}
}

// watch follows the agent until ctx ends or the agent does.
func (c *course) watch(ctx context.Context) error {
	return api.Dial(c.socket).Watch(ctx, monitor.Options{Lossless: true}, c.add)
}

func (c *course) add(u monitor.Update) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, u.Events...)
	c.latest = u
	select {
	case c.nudge <- struct{}{}:
	default:
	}
	return nil
}

// until waits until the newest update is as ok says.
func (c *course) until(t *testing.T, what string, ok func(monitor.Update) bool) monitor.Update {
	t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		c.mu.Lock()
		u := c.latest
		c.mu.Unlock()
		if u.Snapshot != nil && ok(u) {
			return u
		}
		select {
		case <-c.nudge:
		case <-deadline:
			t.Fatalf("after a minute it was not seen that %s; newest: %+v, events %v", what, u, c.kinds())
		}
	}
}

// kinds lists what happened, for messages and for order.
func (c *course) kinds() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var kinds []string
	for _, e := range c.events {
		kind := string(e.Kind)
		if e.Alert != nil {
			kind += ":" + e.Alert.Rule
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// agentOnBus runs an agent with its tray on a test's session bus and follows it.
func agentOnBus(t *testing.T, host *traytest.Host, c agentConfig) *course {
	t.Helper()
	follow, _ := agentToEnd(t, host, c)
	return follow
}

// agentToEnd is agentOnBus for a test that ends the agent itself, once or not.
func agentToEnd(t *testing.T, host *traytest.Host, c agentConfig) (follow *course, end func()) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", host.Address)
	var out, log output
	p := &program{
		out: &out, errs: &log, getenv: func(string) string { return "" }, home: t.TempDir(), goos: "linux",
		terminal: func(any) bool { return false }, size: func() (int, int) { return 0, 0 },
		clock: c.clock, words: view.In("en"),
	}
	listening := make(chan struct{})
	c.socket, c.tray = filepath.Join(shortFolder(t), "agent.sock"), true
	c.settings = &settingsFile{path: filepath.Join(t.TempDir(), "settings.json")}
	c.listening = func(*agent) { close(listening) }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- p.runAgent(ctx, c) }()
	<-listening
	follow = &course{nudge: make(chan struct{}, 1), host: host, socket: c.socket}
	go func() { ended <- follow.watch(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		<-ended
		<-ended
	})
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Logf("the agent's log:\n%s", log.String())
		}
	})
	return follow, end
}

// row waits for a row of the tray's menu.
func (c *course) row(t *testing.T, there bool, path ...string) *traytest.Item {
	t.Helper()
	var item *traytest.Item
	what := "the tray shows " + strings.Join(path, " → ")
	if !there {
		what = "the tray no longer shows " + strings.Join(path, " → ")
	}
	c.host.Wait(t, what, func() bool {
		items := c.host.Items()
		if len(items) == 0 {
			return false
		}
		item = items[0]
		return item.Has(path...) == there
	})
	return item
}

// A second model is loaded beside the first, memory runs out, the machine swaps
// and the model falls to about a token a second; the alert comes, one click in
// the tray unloads the model, memory comes back and the alert clears. The whole
// real pipeline runs on the simulated Mac, whose Truth is the judge.
func TestSecondModelSwapAlertUnloadRelief(t *testing.T) {
	host := traytest.New(t)
	clock := sim.NewClock(time.Now(), 10)
	mac := sim.New(sim.Config{Clock: clock, Seed: 1, Slots: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go mac.Serve(t.Context(), l)
	follow := agentOnBus(t, host, agentConfig{
		local: mac, clock: clock, simulated: true, endProcess: mac.EndProcess,
		server: func(api.Settings) (backend.Backend, error) { return backend.NewOllama(l.Addr().String()) },
	})
	follow.until(t, "the server runs", func(u monitor.Update) bool {
		return len(u.Snapshot.Backends) == 1 && u.Snapshot.Backends[0].State == backend.Running
	})
	ask := func(model string, tokens int) *sim.Job {
		job, err := mac.Ask(model, 200, tokens)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}

	<-ask(sim.Model7B, 20).Done()
	follow.row(t, true, sim.Model7B, "Unload")
	calm := follow.until(t, "the first model is resident", func(u monitor.Update) bool { return len(u.Snapshot.Residents) == 1 })
	if len(calm.Alerts) != 0 {
		t.Errorf("one model alone raised %+v", calm.Alerts)
	}

	long := ask(sim.Model32B, 4000)
	swapping := follow.until(t, "it swaps and says so", func(u monitor.Update) bool { return alertOf(u, "swapping") != nil })
	alert := alertOf(swapping, "swapping")
	if !alert.Evidence.ConsumerIsModel || alert.Evidence.Consumer != sim.Model32B {
		t.Errorf("the alert names %+v, want the 32B model", alert.Evidence)
	}
	if truth := mac.Truth(); !truth.Paging && !truth.Swapping && truth.SwapOutRate == 0 && truth.SwapInRate == 0 {
		t.Errorf("the alert stands and the simulated Mac does not swap: %+v", truth)
	}
	host.Wait(t, "the notification with its button", func() bool {
		for _, n := range host.Notifications() {
			if strings.Contains(n.Summary, "wapping") && len(n.Actions) == 2 && strings.Contains(n.Actions[1], "Unload") {
				return true
			}
		}
		return false
	})
	follow.row(t, true, sim.Model32B)
	for _, r := range mac.Truth().Requests {
		if r.Phase == "decode" && (r.Rate < 0.3 || r.Rate > 2) {
			t.Errorf("over the limit it decodes %.2f token/s, want about 1", r.Rate)
		}
	}

	before := follow.until(t, "headroom is known", func(u monitor.Update) bool { return u.Snapshot.Headroom != nil })
	if err := follow.row(t, true, sim.Model7B, "Unload").Click(sim.Model7B, "Unload"); err != nil {
		t.Fatal(err)
	}
	if err := follow.row(t, true, sim.Model32B, "Unload").Click(sim.Model32B, "Unload"); err != nil {
		t.Fatal(err)
	}
	follow.until(t, "the busy model waits for its answer", func(u monitor.Update) bool {
		return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].Unloading
	})
	long.Cancel() // its user gives up
	follow.row(t, false, sim.Model32B)
	after := follow.until(t, "memory is back and the alerts are gone", func(u monitor.Update) bool {
		return len(u.Alerts) == 0 && len(u.Snapshot.Residents) == 0 && u.Snapshot.Memory.Pressure == metal.PressureNormal
	})
	if gained := int64(after.Snapshot.Headroom.Bytes) - int64(before.Snapshot.Headroom.Bytes); gained < 15e9 {
		t.Errorf("headroom rose by %.1f GB, want the models' worth", float64(gained)/1e9)
	}
	if truth := mac.Truth(); truth.ResidentBytes != 0 {
		t.Errorf("the simulated Mac still holds %d bytes of models", truth.ResidentBytes)
	}
	order := strings.Join(follow.kinds(), " ")
	for _, kind := range []string{"model_loaded", "alert_raised:swapping", "unload_asked", "unloaded", "alert_cleared:swapping"} {
		_, rest, found := strings.Cut(order, kind)
		if !found {
			t.Fatalf("no %s after what came before it, in: %s", kind, strings.Join(follow.kinds(), " "))
		}
		order = rest
	}
	// The tray speaks another language as soon as a person has chosen it.
	follow.row(t, true, "Quit")
	if err := api.Dial(follow.socket).SetSettings(t.Context(), api.Settings{Language: "zh"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"tray.open", "tray.settings", "tray.quit", "tray.no_models", "tray.no_alerts"} {
		follow.row(t, true, view.In("zh").Text(id))
	}
	follow.row(t, false, "Quit")
}

func alertOf(u monitor.Update, rule string) *monitor.Alert {
	for i := range u.Alerts {
		if u.Alerts[i].Rule == rule {
			return &u.Alerts[i]
		}
	}
	return nil
}
