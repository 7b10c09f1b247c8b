package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"plimsoll/monitor"
)

func TestAdviceOverTheSocket(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	client, ctx := Dial(path), context.Background()
	advice, err := client.Advise(ctx, monitor.Task{Private: true, Context: new(20000)})
	if err != nil || advice.Choice != monitor.ChooseLocal || len(advice.Vetoes) < 3 || advice.Vetoes[0].Reason != monitor.VetoPrivate {
		t.Errorf("%+v, %v", advice, err)
	}
	if advice, err = client.Advise(ctx, monitor.Task{}); err != nil || advice.Choice != monitor.ChooseCloud {
		t.Errorf("without a model server: %+v, %v", advice, err)
	}
	answer, err := client.send(ctx, http.MethodPost, "/v1/advice", strings.Repeat("x", 10))
	if err == nil {
		answer.Body.Close()
		t.Error("a task that is no object was taken")
	}
}
