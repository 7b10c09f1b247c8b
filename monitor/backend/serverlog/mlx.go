package serverlog

import "time"

// MLX's runner answers one request after another and numbers none: what comes
// between two looks into the cache belongs to the first. It prints no count of the
// tokens it made but for those of speculation, where iterations + accepted is the
// count; that line may come after the end.

// cacheMLX begins a request: msg="cache hit" total=633 matched=68 cached=68 left=565.
func (p *Parser) cacheMLX(l *line) {
	if l.count("total") == nil || l.count("left") == nil {
		return
	}
	if w := p.workMLX(); w != nil {
		p.conclude(w, l)
	}
	p.mlx++
	w := p.open(&Work{Engine: engineMLX, Task: p.mlx, Began: p.moment(l), Prompt: l.count("total"), Cached: l.count("cached"), Read: new(0)})
	p.lastWork = nil
	p.told(w, l)
}

// progressMLX is how far it read: msg="Prompt processing progress" processed=336 total=337.
func (p *Parser) progressMLX(l *line) {
	w, read := p.workMLX(), l.count("processed")
	if w == nil || read == nil {
		return
	}
	w.Read, w.ReadSeconds = read, new(p.moment(l).Sub(w.Began).Seconds())
	p.told(w, l)
}

// servedMLX ends a request: msg=ServeHTTP method=POST path=/v1/completions took=7.298789917s.
func (p *Parser) servedMLX(l *line) {
	took, err := time.ParseDuration(l.attribute("took"))
	w := p.workMLX()
	if err != nil || w == nil || l.attribute("method") != "POST" || l.attribute("path") != "/v1/completions" {
		return
	}
	w.Seconds = new(took.Seconds())
	p.timeMLX(w)
	p.lastWork = w
	p.conclude(w, l)
}

// speculatedMLX counts the tokens made.
func (p *Parser) speculatedMLX(l *line) {
	iterations, accepted := l.count("iterations"), l.count("accepted")
	if iterations == nil || accepted == nil {
		return
	}
	w := p.workMLX()
	if w == nil {
		w = p.lastWork
	}
	if w == nil {
		return
	}
	w.Output = new(*iterations + *accepted)
	p.timeMLX(w)
	if w.Done {
		p.lastWork = nil
		p.told(w, l)
	}
}

// timeMLX is the time that was left for the answer.
func (p *Parser) timeMLX(w *Work) {
	if w.Seconds != nil && w.ReadSeconds != nil && *w.Seconds > *w.ReadSeconds {
		w.OutputSeconds = new(*w.Seconds - *w.ReadSeconds)
	}
}

// workMLX is the request that MLX works on, nil without one.
func (p *Parser) workMLX() *Work {
	for _, w := range p.works {
		if w.Engine == engineMLX {
			return w
		}
	}
	return nil
}

// moment is the time of a line, or else now.
func (p *Parser) moment(l *line) time.Time {
	if at := l.time(); !at.IsZero() {
		return at
	}
	return p.now
}
