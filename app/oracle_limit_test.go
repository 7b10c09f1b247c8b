//go:build linux && !race

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
)

// limitCourse is an agent with its tray on a simulated Mac whose clock the test
// steps, so that a busy machine changes nothing.
type limitCourse struct {
	*course
	t     *testing.T
	clock *sim.Clock
	mac   *sim.Mac
	end   func() // ends the agent
}

// trayTest is set in the process of a test that has a tray to itself.
const trayTest = "PLIMSOLL_TRAY_TEST"

// alone runs a test in a process of its own, as a tray is shown once in a process,
// and tells whether this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(trayTest) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), trayTest+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func limitOnBus(t *testing.T) *limitCourse {
	t.Helper()
	clock := sim.NewClock(time.Now(), 0)
	mac := sim.New(sim.Config{Clock: clock, Seed: 1})
	for _, app := range []string{"Google Chrome", "Xcode", "Slack"} { // so that a higher limit leaves others what they need
		mac.QuitApp(app)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go mac.Serve(t.Context(), l)
	c := &limitCourse{t: t, clock: clock, mac: mac}
	c.course, c.end = agentToEnd(t, traytest.New(t), agentConfig{
		local: mac, clock: clock, simulated: true, endProcess: mac.EndProcess, limiter: newDemoLimit(mac),
		server: func(api.Settings) (backend.Backend, error) { return backend.NewOllama(l.Addr().String()) },
	})
	go api.Dial(c.socket).Watch(t.Context(), monitor.Options{Watch: true}, func(monitor.Update) error { return nil })
	return c
}

// step lets a second pass, and waits until the agent, which looks once in a second
// while it is watched, has looked since. An agent that waits for longer still gets
// more time to pass.
func (c *limitCourse) step() monitor.Update {
	c.t.Helper()
	c.clock.Advance(time.Second)
	now := c.clock.Awake()
	for deadline := time.After(time.Minute); ; {
		c.mu.Lock()
		u := c.latest
		c.mu.Unlock()
		if u.Snapshot != nil && time.Duration(*u.Snapshot.Awake*float64(time.Second)) > now-1500*time.Millisecond {
			return u
		}
		select {
		case <-c.nudge:
		case <-time.After(200 * time.Millisecond):
			c.clock.Advance(500 * time.Millisecond)
		case <-deadline:
			c.t.Fatalf("the agent does not look; newest %+v", u.Snapshot)
		}
	}
}

// stepUntil steps until it is so, and tells how long that took.
func (c *limitCourse) stepUntil(most time.Duration, what string, ok func(monitor.Update) bool) (monitor.Update, time.Duration) {
	c.t.Helper()
	began := c.clock.Awake()
	for {
		u := c.step()
		if ok(u) {
			return u, c.clock.Awake() - began
		}
		if c.clock.Awake()-began > most {
			c.t.Fatalf("within %v it was not seen that %s: %+v, events %v, audit %q", most, what, u.Snapshot.Limit, c.kinds(), c.mac.LimitAudit())
		}
	}
}

// raise sets the limit that is recommended by a click in the tray, and returns it.
func (c *limitCourse) raise() (to uint64) {
	c.t.Helper()
	words := view.In("en")
	var label string
	u, _ := c.stepUntil(time.Minute, "a limit is recommended", func(u monitor.Update) bool {
		if u.Snapshot.Limit == nil || u.Snapshot.Limit.Helper != monitor.HelperInstalled || len(u.Snapshot.Backends) == 0 || u.Snapshot.Backends[0].State != backend.Running {
			return false
		}
		for _, choice := range words.Render(u, u.Snapshot.Taken).Limit.Choices {
			if choice.Recommended {
				to, label = choice.Bytes, choice.Label
			}
		}
		return label != ""
	})
	if u.Snapshot.Limit.Set != 0 || *u.Snapshot.Limit.Effective != 21845<<20 {
		c.t.Fatalf("an untouched Mac has %+v", u.Snapshot.Limit)
	}
	row := c.row(c.t, true, "GPU limit: 21.3 GiB, system default", label)
	if err := row.Click("GPU limit: 21.3 GiB, system default", label); err != nil {
		c.t.Fatal(err)
	}
	c.stepUntil(20*time.Second, "Metal shows the new limit, on trial", func(u monitor.Update) bool {
		l := u.Snapshot.Limit
		return l.Set == to && l.Effective != nil && *l.Effective == to && l.Lease != nil && l.Lease.Previous == 0
	})
	if got := c.mac.Truth().GPULimit; got != to {
		c.t.Errorf("the simulated Mac has %d, want %d", got, to)
	}
	c.row(c.t, true, "GPU limit: "+words.Size(to)+" set · on trial", "Keep this limit")
	return to
}

func (c *limitCourse) notice(summary, button string) {
	c.t.Helper()
	c.host.Wait(c.t, "the notification "+summary, func() bool {
		for _, n := range c.host.Notifications() {
			if strings.Contains(n.Summary, summary) && (button == "" || len(n.Actions) == 2 && n.Actions[1] == button) {
				return true
			}
		}
		return false
	})
}

// One click in the tray raises the limit; Metal follows; after a minute of normal
// pressure it is kept without a person, and the server, which does not see it, is
// restarted by another click.
func TestALimitIsRaisedAndKeptByItself(t *testing.T) {
	if !alone(t) {
		return
	}
	c := limitOnBus(t)
	to := c.raise()
	c.notice("on trial", "Keep this limit")
	u, took := c.stepUntil(2*time.Minute, "it is kept", func(u monitor.Update) bool {
		l := u.Snapshot.Limit
		return l.Lease == nil && l.Remembered != nil && *l.Remembered == to && l.Set == to
	})
	if took < 55*time.Second || took > 75*time.Second {
		t.Errorf("kept after %v, want a minute", took)
	}
	c.notice("kept", "")
	if got := u.Snapshot.Limit.Stale; len(got) != 1 || got[0] != "ollama" {
		t.Fatalf("servers to restart %q", got)
	}
	set := "GPU limit: " + view.In("en").Size(to) + " set"
	if err := c.row(t, true, set, "Restart Ollama").Click(set, "Restart Ollama"); err != nil {
		t.Fatal(err)
	}
	c.stepUntil(30*time.Second, "the server sees the limit", func(u monitor.Update) bool { return len(u.Snapshot.Limit.Stale) == 0 })
	c.row(t, false, set, "Restart Ollama")
	if err := c.row(t, true, set, "Back to default").Click(set, "Back to default"); err != nil {
		t.Fatal(err)
	}
	u, _ = c.stepUntil(30*time.Second, "the default is back", func(u monitor.Update) bool {
		return u.Snapshot.Limit.Set == 0 && *u.Snapshot.Limit.Effective == 21845<<20
	})
	if u.Snapshot.Limit.Remembered != nil || c.mac.Truth().GPULimit != 21845<<20 {
		t.Errorf("%+v, truth %d", u.Snapshot.Limit, c.mac.Truth().GPULimit)
	}
}

// Under critical pressure nothing is confirmed: an alert offers the default, and
// without a click the limit before comes back when the trial is over.
func TestPressureEndsATrial(t *testing.T) {
	if !alone(t) {
		return
	}
	c := limitOnBus(t)
	to := c.raise()
	if _, err := c.mac.Load(sim.Model32B); err != nil {
		t.Fatal(err)
	}
	for i := range 9 { // many at once fill memory faster than it can be compressed
		c.mac.StartApp(fmt.Sprintf("App %d", i), 3<<30)
	}
	u, _ := c.stepUntil(time.Minute, "pressure is critical under the raised limit", func(u monitor.Update) bool { return alertOf(u, "limit_pressure") != nil })
	if a := alertOf(u, "limit_pressure"); a.Action == nil || a.Action.Kind != monitor.CommandResetLimit || *a.Evidence.Bytes != to || u.Snapshot.Limit.Lease == nil {
		t.Errorf("alert %+v, limit %+v", a, u.Snapshot.Limit)
	}
	c.notice("Memory pressure critical under a raised GPU limit", "Back to default")
	u, _ = c.stepUntil(3*time.Minute, "the trial is over", func(u monitor.Update) bool { return u.Snapshot.Limit.Lease == nil })
	if l := u.Snapshot.Limit; l.Set != 0 || l.Remembered != nil || u.Snapshot.Memory.Pressure == metal.PressureNormal {
		t.Errorf("after the trial %+v at pressure %s", l, u.Snapshot.Memory.Pressure)
	}
	if audit := strings.Join(c.mac.LimitAudit(), "\n"); strings.Contains(audit, "MiB confirmed") || !strings.Contains(audit, "not confirmed") {
		t.Errorf("audit:\n%s", audit)
	}
	c.notice("The trial of the GPU limit is over", "")
}

// An agent that is gone confirms nothing: the helper takes the limit back alone.
func TestATrialOutlivesItsAgent(t *testing.T) {
	if !alone(t) {
		return
	}
	c := limitOnBus(t)
	to := c.raise()
	c.end()
	c.clock.Advance(wired.LeaseDefault - 20*time.Second)
	if got := c.mac.Truth().GPULimit; got != to {
		t.Errorf("before the trial is over %d, want %d", got, to)
	}
	c.clock.Advance(22 * time.Second)
	state, err := c.mac.LimitState()
	if err != nil || state.Set != 0 || state.Lease != nil || state.Remembered != nil || c.mac.Truth().GPULimit != 21845<<20 {
		t.Errorf("%+v, %v, truth %d", state, err, c.mac.Truth().GPULimit)
	}
}
