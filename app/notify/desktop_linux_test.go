package notify

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// scene is a Notifier on a private desktop.
type scene struct {
	t     *testing.T
	host  *traytest.Host
	n     *desktop
	log   *text
	acted chan monitor.Command
}

func newScene(t *testing.T) *scene {
	h := traytest.New(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", h.Address)
	s := &scene{t: t, host: h, log: &text{}, acted: make(chan monitor.Command, 10)}
	icon := image.NewNRGBA(image.Rect(0, 0, 128, 128))
	for i := range icon.Pix {
		icon.Pix[i] = 0xff
	}
	icon.Set(0, 0, color.White)
	var file bytes.Buffer
	if err := png.Encode(&file, icon); err != nil {
		t.Fatal(err)
	}
	s.n = New("Plimsoll", file.Bytes(), func(c monitor.Command) { s.acted <- c }, logTo(s.log), In(view.In("en"))).(*desktop)
	t.Cleanup(func() { s.n.Close() })
	return s
}

func (s *scene) show(n view.Notice) {
	s.t.Helper()
	if err := s.n.Show(n); err != nil {
		s.t.Fatal(err)
	}
}

// last is the newest notification that the service was sent.
func (s *scene) last() traytest.Notification {
	s.t.Helper()
	all := s.host.Notifications()
	if len(all) == 0 {
		s.t.Fatal("the service got nothing")
	}
	return all[len(all)-1]
}

func (s *scene) hint(name string) any { return s.last().Hints[name].Value() }

func (s *scene) command() monitor.Command {
	s.t.Helper()
	select {
	case c := <-s.acted:
		return c
	case <-time.After(20 * time.Second):
		s.t.Fatal("the button sent nothing")
		return monitor.Command{}
	}
}

func TestDesktopShows(t *testing.T) {
	s := newScene(t)
	n := swapping()
	n.Title = `5 < 6 & "seven"`
	n.Text = `a <b>bold</b> model & 'quotes' "too"` + "\xff\x00\nsecond line"
	s.show(n)
	got := s.last()
	if got.App != "Plimsoll" || got.Summary != `5 < 6 & "seven"` ||
		got.Body != "a &lt;b&gt;bold&lt;/b&gt; model &amp; 'quotes' \"too\"\uFFFD \nsecond line" {
		t.Errorf("shown as %q, %q, %q", got.App, got.Summary, got.Body)
	}
	if got.Timeout != -1 || s.hint("urgency") != byte(2) || s.hint("transient") != nil || s.hint("desktop-entry") != "dev.plimsoll.agent" {
		t.Errorf("timeout %d, hints %v", got.Timeout, got.Hints)
	}
	if !slices.Equal(got.Actions, []string{"act", "Unload qwen3:14b"}) {
		t.Errorf("actions %q", got.Actions)
	}
	picture, _ := s.hint("image-data").([]any)
	if len(picture) != 7 || picture[0] != int32(64) || picture[2] != int32(256) || len(picture[6].([]byte)) != 64*64*4 || picture[6].([]byte)[5000] != 0xff {
		t.Errorf("the picture is wrong: %d fields", len(picture))
	}
	s.show(view.Notice{ID: "freed", Title: "Unloaded", Severity: monitor.SeverityInfo})
	if s.hint("urgency") != byte(1) || s.hint("transient") != true || len(s.last().Actions) != 0 {
		t.Errorf("information: hints %v", s.last().Hints)
	}
	s.show(view.Notice{ID: "pressure", Title: "Pressure", Severity: monitor.SeverityWarning, Action: &view.Action{Label: "Unload"}})
	if s.hint("urgency") != byte(1) || s.hint("transient") != nil || len(s.last().Actions) != 0 {
		t.Errorf("warning with a disabled action: %+v", s.last())
	}
}

func TestDesktopReplacesActsAndTakesBack(t *testing.T) {
	s := newScene(t)
	s.show(swapping())
	first := s.last().ID
	s.show(view.Notice{ID: "other", Title: "Other"})
	s.show(swapping())
	if got := s.last(); got.Replaces != first || got.ID != first {
		t.Errorf("the second notice replaces %d, want %d", got.Replaces, first)
	}
	s.host.Press(first+100, "act") // another program's
	s.host.Press(first, "default") // not our button; it closes the notice
	s.show(swapping())
	again := s.last()
	if again.Replaces == first && again.ID == first {
		t.Error("a notification that was closed is replaced")
	}
	if err := s.host.Press(again.ID, "act"); err != nil {
		t.Fatal(err)
	}
	if got := s.command(); got.Kind != monitor.CommandUnload || got.Model != "qwen3:14b" {
		t.Errorf("the button sent %+v", got)
	}
	s.show(swapping())
	shown := s.last().ID
	s.show(view.Notice{ID: "swapping", Withdraw: true})
	s.show(view.Notice{ID: "swapping", Withdraw: true}) // gone already
	s.show(view.Notice{ID: "never", Withdraw: true})
	if got := s.host.Withdrawn(); !slices.Equal(got, []uint32{shown}) {
		t.Errorf("took back %v, want %d once", got, shown)
	}
	s.show(swapping())
	shown = s.last().ID
	if err := s.n.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.host.Withdrawn(); len(got) != 2 || got[1] != shown {
		t.Errorf("at the end %v were taken back: what has a button goes, the rest stays", got)
	}
	if len(s.acted) != 0 {
		t.Errorf("%d commands too many", len(s.acted))
	}
}

func TestDesktopKnowsWhatTheServiceCan(t *testing.T) {
	s := newScene(t)
	n := swapping()
	n.Text = "5 < 6"
	for _, test := range []struct {
		capabilities  []string
		summary, body string
		actions       int
	}{
		{[]string{"body"}, "Swapping 45 MB/s", "5 < 6\nUnload qwen3:14b: in the tray menu or in the window.", 0},
		{[]string{"body", "actions"}, "Swapping 45 MB/s", "5 < 6", 2},
		{[]string{"actions"}, "Swapping 45 MB/s – 5 < 6", "", 2},
	} {
		s.host.StopNotifications()
		if err := s.host.StartNotifications(test.capabilities...); err != nil {
			t.Fatal(err)
		}
		// The news of another service may come after the notice was made for
		// the one before; a notice that comes later is made for the new one.
		s.host.Wait(t, "a notice for "+strings.Join(test.capabilities, ","), func() bool {
			s.show(n)
			got := s.last()
			return got.Summary == test.summary && got.Body == test.body && len(got.Actions) == test.actions
		})
	}
}

func TestDesktopOutlivesServiceAndBus(t *testing.T) {
	s := newScene(t)
	s.show(swapping())
	s.host.StopNotifications()
	waitFor(t, "the news that the service is gone", func() bool {
		s.n.mutex.Lock()
		defer s.n.mutex.Unlock()
		return len(s.n.shown) == 0
	})
	for range 3 {
		s.show(swapping()) // a line in the log instead
	}
	s.host.StopBus()
	s.show(swapping())
	s.show(view.Notice{ID: "swapping", Withdraw: true})
	if warned := strings.Count(s.log.String(), "No notification service"); warned != 1 {
		t.Errorf("said %d times that there is no service:\n%s", warned, s.log)
	}
	if lines := strings.Count(s.log.String(), `msg="Swapping 45 MB/s"`); lines != 4 {
		t.Errorf("%d of 4 notices are in the log:\n%s", lines, s.log)
	}
	if err := s.host.RestartBus(); err != nil {
		t.Fatal(err)
	}
	if err := s.host.StartNotifications(); err != nil {
		t.Fatal(err)
	}
	s.show(swapping())
	if got := s.last(); got.Replaces != 0 {
		t.Errorf("a notice on a new bus replaces number %d of the old one", got.Replaces)
	}
	s.host.Press(s.last().ID, "act")
	if got := s.command(); got.Model != "qwen3:14b" {
		t.Errorf("the button sent %+v", got)
	}
}

func TestDesktopWithoutABus(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("PATH", "") // nothing is started to get one
	log := &text{}
	n := New("Plimsoll", nil, nil, logTo(log), In(view.In("zh")))
	if err := n.Show(swapping()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "通知服务") || !strings.Contains(log.String(), "Swapping 45 MB/s") {
		t.Errorf("log:\n%s", log)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
