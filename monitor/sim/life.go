package sim

import (
	"slices"
	"time"
)

// event is something that a user or an app does at a moment.
type event struct {
	at time.Duration
	do func()
}

// in plans do for the moment that lies wait from now; the sooner of two goes first,
// and of two at once the one planned first.
func (m *Mac) in(wait time.Duration, do func()) {
	e := event{m.now + wait, do}
	i := len(m.life)
	for i > 0 && m.life[i-1].at > e.at {
		i--
	}
	m.life = slices.Insert(m.life, i, e)
}

// live is the part of a step that the machine's own life has.
func (m *Mac) live() {
	for len(m.life) > 0 && m.life[0].at <= m.now {
		do := m.life[0].do
		m.life = m.life[1:]
		do()
	}
}

// between is a random time.
func (m *Mac) between(from, to time.Duration) time.Duration {
	return from + time.Duration(m.random.Float64()*float64(to-from))
}

// beginLife plans the day. Three people use this Mac: one chats with the 7B model
// all the time, one asks the 14B model now and then, and one tries the 32B model,
// which does not fit beside another: within 20 s of the clock the machine is over
// its limit. It stays there until somebody unloads a model or the big one's
// keep-alive ends. Then people go to lunch and close what they have open, which
// leaves room for a higher limit of the GPU. Some minutes later a long job on the
// small model heats the GPU.
func (m *Mac) beginLife() {
	m.in(0, func() { m.user(Model7B, 10*time.Minute, 0, 0) })
	m.in(2*time.Second, m.chat)
	m.in(3*time.Second, func() { m.user(Model14B, 2*time.Minute, 60, 6) })
	m.in(4*time.Second, func() { m.want("Google Chrome", 5.6*gb) })
	m.in(6*time.Second, func() { m.want("Xcode", 4.8*gb) })
	m.in(9*time.Second, m.bigModel)
	m.in(4*time.Minute, m.lunch)
	m.in(8*time.Minute, m.longJob)
	m.in(time.Minute, m.browse)
	m.in(90*time.Second, m.build)
	m.in(20*time.Minute, m.secondModel)
}

const (
	// patience is how long a person goes on reading an answer of a model that
	// somebody has unloaded, and manners how long nobody asks for that model again.
	patience = 6 * time.Second
	manners  = 4 * time.Minute
)

// user is a person's request; without tokens it only loads. A full queue and a
// model that was unloaded a short while ago make the person do something else.
func (m *Mac) user(name string, keep time.Duration, prompt, tokens int) {
	model := find(name)
	if m.now < m.quiet[model] {
		return
	}
	r := &request{model: model, context: m.defaultContext(), keep: &keep, prompt: prompt, want: tokens, natural: true,
		loadOnly: tokens == 0, internal: true, person: true}
	_ = m.submit(r)
}

// respect is what people here do when a model is unloaded: they let it go.
func (m *Mac) respect(model *model) {
	m.quiet[model] = m.now + manners
	m.in(patience, func() {
		for _, r := range m.open() {
			if r.model == model && r.person {
				m.finish(r, m.now, &fault{499, "client closed the request"})
			}
		}
	})
}

// chat is the one who chats: a question, the answer, some time to read it.
func (m *Mac) chat() {
	tokens := 80 + m.random.IntN(220)
	if m.inFlightOf(Model7B) == 0 {
		m.user(Model7B, 10*time.Minute, 120+m.random.IntN(900), tokens)
	}
	m.in(m.between(20*time.Second, 45*time.Second), m.chat)
}

// secondModel is a question to the middle model, every quarter of an hour or so.
func (m *Mac) secondModel() {
	m.user(Model14B, 4*time.Minute, 300+m.random.IntN(600), 100+m.random.IntN(200))
	m.in(m.between(9*time.Minute, 18*time.Minute), m.secondModel)
}

// bigModel is the one who wants the best answer there is.
func (m *Mac) bigModel() {
	m.user(Model32B, 3*time.Minute, 240, 80+m.random.IntN(40))
	m.in(m.between(35*time.Minute, 50*time.Minute), m.bigModel)
}

// longJob lets the small model summarise for a quarter of an hour without a break.
func (m *Mac) longJob() {
	end := m.now + 16*time.Minute
	var next func()
	next = func() {
		if m.now >= end {
			m.in(m.between(25*time.Minute, 40*time.Minute), m.longJob)
			return
		}
		if m.inFlightOf(Model7B) < 2 {
			m.user(Model7B, 10*time.Minute, 1500, 600)
		}
		m.in(time.Second, next)
	}
	next()
}

// lunch closes the big apps for some minutes.
func (m *Mac) lunch() {
	var closed []app
	for _, kind := range usualApps[:3] {
		if m.app(kind.name) != nil {
			m.closeApp(kind.name)
			closed = append(closed, kind)
		}
	}
	m.in(4*time.Minute, func() {
		for _, kind := range closed {
			if m.app(kind.name) == nil {
				m.openApp(kind, 0)
			}
		}
		m.in(40*time.Minute, m.lunch)
	})
}

// browse opens and closes tabs.
func (m *Mac) browse() {
	m.want("Google Chrome", (3.6+2.6*m.random.Float64())*gb)
	m.in(m.between(40*time.Second, 3*time.Minute), m.browse)
}

// build is Xcode at work: it takes memory and gives it back.
func (m *Mac) build() {
	m.want("Xcode", (4+1.2*m.random.Float64())*gb)
	m.in(m.between(50*time.Second, 2*time.Minute), func() {
		m.want("Xcode", 2.9*gb)
		m.in(m.between(3*time.Minute, 8*time.Minute), m.build)
	})
}

func (m *Mac) want(name string, bytes float64) {
	if a := m.app(name); a != nil {
		a.goal = bytes
	}
}

func (m *Mac) inFlightOf(name string) int {
	n := 0
	for _, r := range m.inFlight {
		if r.model.name == name {
			n++
		}
	}
	return n
}
