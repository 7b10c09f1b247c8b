package bench

import (
	"fmt"
	"strconv"
)

// Comparison holds two results against each other, kind by kind.
type Comparison struct {
	A, B *Result `json:"-"`
	// Obstacles are what makes a comparison say nothing. With any of them there are
	// no Rows, but by force.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	Rows      []Row      `json:"rows,omitempty"`
}

// Obstacle is a difference that is not the model's.
type Obstacle struct {
	Kind ObstacleKind `json:"obstacle"`
	A    string       `json:"a"`
	B    string       `json:"b"`
}

// ObstacleKind names an Obstacle.
type ObstacleKind string

// The obstacles.
const (
	ObstaclePower     ObstacleKind = "power_source" // mains against battery
	ObstacleLowPower  ObstacleKind = "low_power_mode"
	ObstacleEngine    ObstacleKind = "engine"
	ObstacleVersion   ObstacleKind = "engine_version"
	ObstacleMachine   ObstacleKind = "machine"
	ObstacleContext   ObstacleKind = "context_tokens"
	ObstacleOutput    ObstacleKind = "output_tokens"
	ObstacleSeed      ObstacleKind = "seed"
	ObstaclePrompts   ObstacleKind = "prompts"
	ObstacleSimulated ObstacleKind = "simulated"
)

// Metric is what a Row compares.
type Metric string

// The metrics. Of TTFT less is better.
const (
	MetricDecode  Metric = "decode_tokens_per_second"
	MetricPrefill Metric = "prefill_tokens_per_second"
	MetricSession Metric = "session_tokens_per_second"
	MetricTTFT    Metric = "ttft_seconds"
)

// Verdict is what a Row comes to.
type Verdict string

// The verdicts on B against A.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// NoDifference: the intervals of the runs overlap, so the change may be chance.
	NoDifference Verdict = "no_difference"
	// TooFew: fewer than LeastRuns runs on one side say nothing.
	TooFew Verdict = "too_few_runs"
)

// LeastRuns is how many runs a figure must rest on to be held against another: two
// passes of one and the same were −3.4 % and +1.7 % apart
// (github.com/sudoingX/qwen38-mtp/pull/40).
const LeastRuns = 3

// Row compares one metric of one kind.
type Row struct {
	Kind   Kind   `json:"kind"`
	Depth  int    `json:"depth_tokens,omitzero"`
	Metric Metric `json:"metric"`
	A      Spread `json:"a"`
	B      Spread `json:"b"`
	// Change is B's median ÷ A's − 1; Low and High are the least and the most that
	// the runs allow.
	Change  float64 `json:"change_ratio"`
	Low     float64 `json:"change_low_ratio"`
	High    float64 `json:"change_high_ratio"`
	Verdict Verdict `json:"verdict"`
}

// Compare holds B against A. What makes that meaningless is an obstacle, unless
// force is set.
func Compare(a, b *Result, force bool) Comparison {
	c := Comparison{A: a, B: b, Obstacles: obstacles(a, b)}
	if len(c.Obstacles) > 0 && !force {
		return c
	}
	for _, ta := range a.Tests {
		for _, tb := range b.Tests {
			if ta.Kind == tb.Kind && ta.Depth == tb.Depth {
				c.rows(ta, tb)
			}
		}
	}
	return c
}

func (c *Comparison) rows(a, b Test) {
	for _, m := range []struct {
		metric Metric
		a, b   *Spread
	}{{MetricDecode, a.Decode, b.Decode}, {MetricPrefill, a.Prefill, b.Prefill}, {MetricTTFT, a.TTFT, b.TTFT}, {MetricSession, a.Session, b.Session}} {
		if m.a == nil || m.b == nil || m.a.Low <= 0 || m.b.Low <= 0 {
			continue
		}
		c.Rows = append(c.Rows, row(a, m.metric, *m.a, *m.b))
	}
}

func row(t Test, metric Metric, a, b Spread) Row {
	r := Row{Kind: t.Kind, Depth: t.Depth, Metric: metric, A: a, B: b,
		Change: b.Median/a.Median - 1, Low: b.Low/a.High - 1, High: b.High/a.Low - 1}
	more := Better
	less := Worse
	if metric == MetricTTFT {
		more, less = less, more
	}
	switch {
	case min(a.Runs, b.Runs) < LeastRuns:
		r.Verdict = TooFew
	case r.Low > 0:
		r.Verdict = more
	case r.High < 0:
		r.Verdict = less
	default:
		r.Verdict = NoDifference
	}
	return r
}

// obstacles are the differences that are not the model's. What one side does not
// tell is none.
func obstacles(a, b *Result) (found []Obstacle) {
	differ := func(kind ObstacleKind, a, b string) {
		if a != b && a != "" && b != "" {
			found = append(found, Obstacle{kind, a, b})
		}
	}
	differ(ObstaclePower, truth(a.Before.OnBattery, "battery", "mains"), truth(b.Before.OnBattery, "battery", "mains"))
	differ(ObstacleLowPower, truth(a.Before.LowPower, "on", "off"), truth(b.Before.LowPower, "on", "off"))
	differ(ObstacleEngine, a.Server.Engine, b.Server.Engine)
	differ(ObstacleVersion, a.Server.Version, b.Server.Version)
	differ(ObstacleMachine, a.Machine.name(), b.Machine.name())
	differ(ObstacleContext, positive(a.Options.Context), positive(b.Options.Context))
	differ(ObstacleOutput, positive(a.Options.Output), positive(b.Options.Output))
	differ(ObstacleSeed, strconv.Itoa(a.Options.Seed), strconv.Itoa(b.Options.Seed))
	differ(ObstaclePrompts, a.Prompts, b.Prompts)
	differ(ObstacleSimulated, strconv.FormatBool(a.Simulated), strconv.FormatBool(b.Simulated))
	return found
}

func truth(b *bool, yes, no string) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return yes
	}
	return no
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// name is the machine as far as speed goes.
func (m Machine) name() string {
	if m.Chip == "" || m.RAMBytes == nil {
		return m.Chip
	}
	return fmt.Sprintf("%s, %.0f GiB", m.Chip, float64(*m.RAMBytes)/(1<<30))
}
