package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
	"plimsoll/monitor/store"
)

// benchCompare holds two results against each other. Each is a number of the
// history, a file that --save wrote, or a model: its newest result, or else one
// that is measured now.
func (p *program) benchCompare(ctx context.Context, f benchFlags, first, second string) error {
	a, err := p.resultOf(ctx, f, first)
	if err != nil {
		return err
	}
	b, err := p.resultOf(ctx, f, second)
	if err != nil {
		return err
	}
	c := bench.Compare(a, b, f.force)
	if f.json {
		return json.NewEncoder(p.out).Encode(c)
	}
	p.printComparison(c)
	if len(c.Rows) == 0 {
		return told(exitFailed)
	}
	return nil
}

func (p *program) resultOf(ctx context.Context, f benchFlags, name string) (*bench.Result, error) {
	if strings.HasSuffix(name, ".json") {
		return readResult(name)
	}
	h, err := p.readHistory()
	if err == nil {
		defer h.Close()
		var kept *store.Benchmark
		if kept, err = keptResult(ctx, h, name); err == nil && kept != nil {
			return decodeResult(*kept)
		}
	}
	if err != nil && !store.IsKind(err, store.CodeNone) {
		return nil, err
	}
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return nil, failed("bench.no_result", view.Args{"Name": name})
	}
	p.say(p.errs, "bench.measuring", view.Args{"Model": name})
	r, err := p.measured(ctx, f, name)
	return r, err
}

// keptResult finds a result by its number or its model, nil when there is none.
func keptResult(ctx context.Context, h *store.History, name string) (*store.Benchmark, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return h.Benchmark(ctx, id)
	}
	list, err := h.Benchmarks(ctx, name, 1)
	if len(list) == 0 {
		return nil, err
	}
	return &list[0], err
}

// resultMost is the longest file of a result that is read, in bytes: a day of
// sustained decoding has 0.3 MB.
const resultMost = 4 << 20

func readResult(name string) (*bench.Result, error) {
	bad := func(reason string) error {
		return failed("bench.unreadable", view.Args{"File": name, "Reason": reason})
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, bad(reason(err))
	case !info.Mode().IsRegular() || info.Size() > resultMost:
		return nil, failed("bench.no_result", view.Args{"File": name})
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, bad(reason(err))
	}
	var r bench.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, bad(err.Error())
	}
	if r.Model.Name == "" {
		return nil, bad(errors.New("it names no model").Error())
	}
	return &r, nil
}

// obstacleIDs are the messages of obstacles.
var obstacleIDs = map[bench.ObstacleKind]string{
	bench.ObstaclePower: "bench.obstacle.power", bench.ObstacleLowPower: "bench.obstacle.low_power", bench.ObstacleEngine: "bench.obstacle.engine",
	bench.ObstacleVersion: "bench.obstacle.version", bench.ObstacleMachine: "bench.obstacle.machine", bench.ObstacleContext: "bench.obstacle.context",
	bench.ObstacleOutput: "bench.obstacle.output", bench.ObstacleSeed: "bench.obstacle.seed", bench.ObstaclePrompts: "bench.obstacle.prompts",
	bench.ObstacleSimulated: "bench.obstacle.simulated",
}

var metricIDs = map[bench.Metric]string{
	bench.MetricDecode: "bench.head.decode", bench.MetricPrefill: "bench.head.prefill", bench.MetricTTFT: "bench.head.ttft", bench.MetricSession: "bench.head.session",
}

var verdictIDs = map[bench.Verdict]string{
	bench.Better: "bench.verdict.better", bench.Worse: "bench.verdict.worse", bench.NoDifference: "bench.verdict.none", bench.TooFew: "bench.verdict.few",
}

func (p *program) printComparison(c bench.Comparison) {
	p.say(p.out, "bench.comparison", view.Args{"A": p.heading(c.A), "B": p.heading(c.B)})
	for _, o := range c.Obstacles {
		p.say(p.out, obstacleIDs[o.Kind], view.Args{"A": o.A, "B": o.B})
	}
	switch {
	case len(c.Rows) == 0 && len(c.Obstacles) > 0:
		p.say(p.out, "bench.not_comparable")
		return
	case len(c.Rows) == 0:
		p.say(p.out, "bench.nothing_common")
		return
	}
	rows := [][]string{{p.words.Text("bench.head.what"), p.words.Text("bench.head.metric"), "A", "B", p.words.Text("bench.head.verdict"), p.words.Text("bench.head.change")}}
	for _, r := range c.Rows {
		rows = append(rows, []string{p.kind(r.Kind, r.Depth), p.words.Text(metricIDs[r.Metric]), spreadText(&r.A), spreadText(&r.B),
			p.words.Text(verdictIDs[r.Verdict]), fmt.Sprintf("%s (%s … %s)", percent(r.Change), percent(r.Low), percent(r.High))})
	}
	fmt.Fprint(p.out, "\n"+p.table(rows))
}

// heading says which result it is.
func (p *program) heading(r *bench.Result) string {
	text := r.Model.Name + ", " + r.Taken.Local().Format("2006-01-02 15:04")
	if r.ID > 0 {
		text = fmt.Sprintf("%d: %s", r.ID, text)
	}
	return text
}
