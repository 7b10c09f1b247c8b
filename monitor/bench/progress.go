package bench

// Progress is how far a benchmark is.
type Progress struct {
	Step Step
	// Kind and Depth are those of a run, Run its number, of Runs that count. Dropped
	// is the one before them.
	Kind    Kind
	Depth   int
	Run     int
	Runs    int
	Dropped bool
	// Tokens of Output have come.
	Tokens, Output int
	// Void is why the run before this one did not count.
	Void []Reason
	// Minute, Rate and Share are of a sustained run: its minute, from 1 on, tokens
	// per second of late, and how much of it is behind.
	Minute int
	Rate   float64
	Share  float64
	// Done is how much of the whole is behind, 0 to 1.
	Done float64
}

// Step is what it is doing.
type Step string

const (
	StepPrepare   Step = "prepare"
	StepLoad      Step = "load"
	StepRun       Step = "run"
	StepCached    Step = "cached"
	StepSustained Step = "sustained"
)

// weightOf is how long a run takes, in runs behind a short prompt: prompts are
// read some ten times as fast as answers are written.
func weightOf(depth int) float64 { return 1 + float64(depth)/8192 }

// sustainedWeight is the same of a minute of sustained decoding.
const sustainedWeight = 2

// parts is the weight of all there is to do.
func (b *bench) parts(depths []Test) float64 {
	runs := float64(b.Plan.Runs + 1)
	all := 1 + sustainedWeight*b.Plan.Sustained.Minutes()
	if b.Plan.SustainedOnly {
		return all
	}
	all += float64(len(texts)) * runs
	for i, t := range depths {
		if t.Skipped == nil {
			all += runs * weightOf(t.Depth)
			if i == 0 {
				all++
			}
		}
	}
	return all
}

// tell says how far it is.
func (b *bench) tell(p Progress) {
	if b.Progress == nil {
		return
	}
	done := b.done
	if p.Step == StepRun && p.Output > 0 {
		done += weightOf(p.Depth) * min(1, float64(p.Tokens)/float64(p.Output))
	}
	done += sustainedWeight * b.Plan.Sustained.Minutes() * min(1, p.Share)
	if b.all > 0 {
		p.Done = min(1, done/b.all)
	}
	b.Progress(p)
}
