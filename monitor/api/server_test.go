package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

func TestClientAndServerAgree(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	client, ctx := Dial(path), context.Background()

	if health, err := client.Health(ctx); err != nil || health != (Health{Version: "1.2.3", PID: os.Getpid(), Uptime: 4}) {
		t.Errorf("Health: %+v, %v", health, err)
	}
	// What a planner needs of the models on disk crosses the socket whole.
	builds, err := client.Builds(ctx)
	if err != nil || len(builds) != 1 {
		t.Fatalf("%+v, %v", builds, err)
	}
	if got, want := builds[0].Build.Need(fit.Options{Context: 1000}), a.Builds()[0].Build.Need(fit.Options{Context: 1000}); got.Total == nil || *got.Total != *want.Total {
		t.Errorf("it is planned as %+v, want %+v", got, want)
	}
	if models, err := client.Models(ctx); err != nil || len(models) != 1 || models[0].Model != "a" || *models[0].Size != 5 {
		t.Errorf("Models: %+v, %v", models, err)
	}
	must(t, client.SetSettings(ctx, Settings{Language: "zh", Quiet: true}))
	must(t, client.SetSettings(ctx, Settings{HotCelsius: new(95.5)}))
	if settings, err := client.Settings(ctx); err != nil || !settings.Same(Settings{HotCelsius: new(95.5)}) {
		t.Errorf("settings are %+v, %v, want the temperature", settings, err)
	}
	must(t, client.SetSettings(ctx, Settings{Language: "zh", Quiet: true}))
	if settings, err := client.Settings(ctx); err != nil || settings != (Settings{Language: "zh", Quiet: true}) {
		t.Errorf("Settings: %+v, %v", settings, err)
	}
	if err := client.SetSettings(ctx, Settings{Language: "xx"}); code(err) != "bad_settings" {
		t.Errorf("bad settings: %v (code %q)", err, code(err))
	}
	must(t, client.OpenWindow(ctx, "settings"))
	if len(a.pages) != 1 || a.pages[0] != "settings" {
		t.Errorf("pages opened: %q", a.pages)
	}
	command := monitor.Command{Kind: monitor.CommandKeep, Backend: "ollama", Model: "m", Keep: new(-1.0)}
	must(t, client.Do(ctx, command))
	if len(a.did) != 1 || a.did[0].Kind != command.Kind || *a.did[0].Keep != -1 {
		t.Errorf("commands done: %+v", a.did)
	}
}

func TestErrorsKeepTheirMeaningOverTheWire(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	for _, c := range []struct {
		err  error
		is   error
		code string
	}{
		{fmt.Errorf("unloading x: %w", monitor.ErrNoModel), monitor.ErrNoModel, "no_model"},
		{errors.Join(errors.New("a"), fmt.Errorf("b: %w", monitor.ErrCloud)), monitor.ErrCloud, "cloud"},
		{backend.ErrCloud, monitor.ErrCloud, "cloud"},
		{monitor.ErrNoBackend, monitor.ErrNoBackend, "no_backend"},
		{monitor.ErrBadCommand, monitor.ErrBadCommand, "bad_command"},
		{monitor.ErrInFlight, monitor.ErrInFlight, "in_flight"},
		{Failure("no_window", "there is none", nil), Failure("no_window", "", nil), "no_window"},
		{errors.New("plain"), nil, "failed"},
	} {
		a.fail(c.err)
		err := Dial(path).Do(context.Background(), monitor.Command{Kind: monitor.CommandUnload})
		if code(err) != c.code || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v came as %v (code %q), want code %q", c.err, err, code(err), c.code)
		}
		if !strings.Contains(err.Error(), c.err.Error()) {
			t.Errorf("%v came as %q: the text is lost", c.err, err)
		}
	}
}

// raw sends a request as no client of ours would.
func raw(t *testing.T, path, method, target, body string, header map[string]string) (int, refusal) {
	t.Helper()
	web := http.Client{Timeout: deadline, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer web.CloseIdleConnections()
	request, err := http.NewRequest(method, "http://plimsoll"+target, strings.NewReader(body))
	must(t, err)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		request.Host = host
	}
	answer, err := web.Do(request)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	var refused refusal
	if err := json.Unmarshal(text, &refused); err != nil {
		t.Errorf("%s %s: the answer %q is not JSON", method, target, text)
	}
	return answer.StatusCode, refused
}

func TestBadInputIsRefusedInJSON(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	for _, c := range []struct {
		name, method, target, body string
		header                     map[string]string
		status                     int
		code                       string
	}{
		{"another host", "GET", "/v1/health", "", map[string]string{"Host": "localhost"}, 403, "forbidden"},
		{"a browser", "GET", "/v1/health", "", map[string]string{"Origin": "http://plimsoll"}, 403, "forbidden"},
		{"a browser's navigation", "POST", "/v1/command", "{}", map[string]string{"Sec-Fetch-Site": "none"}, 403, "forbidden"},
		{"no such path", "GET", "/v2/health", "", nil, 404, "not_found"},
		{"no such method", "DELETE", "/v1/settings", "", nil, 405, "bad_method"},
		{"posted updates", "POST", "/v1/updates", "{}", nil, 405, "bad_method"},
		{"bad option", "GET", "/v1/updates?watch=maybe", "", nil, 400, "bad_request"},
		{"no JSON", "POST", "/v1/command", "unload", nil, 400, "bad_request"},
		{"no body", "POST", "/v1/command", "", nil, 400, "bad_request"},
		{"misspelt field", "POST", "/v1/command", `{"kind":"unload","modell":"x"}`, nil, 400, "bad_request"},
		{"wrong type", "POST", "/v1/command", `{"kind":5}`, nil, 400, "bad_request"},
		{"two values", "POST", "/v1/command", `{"kind":"unload"}{"kind":"unload_all"}`, nil, 400, "bad_request"},
		{"too long", "POST", "/v1/command", `{"model":"` + long(bodyLimit) + `"}`, nil, 413, "too_large"},
		{"settings of another kind", "PUT", "/v1/settings", `[]`, nil, 400, "bad_request"},
	} {
		status, refused := raw(t, path, c.method, c.target, c.body, c.header)
		if status != c.status || refused.Code != c.code || refused.Error == "" {
			t.Errorf("%s: %d %+v, want %d with code %q", c.name, status, refused, c.status, c.code)
		}
	}
	if len(a.did) != 0 {
		t.Errorf("a refused request did %+v", a.did)
	}
}
