package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plimsoll/metal"
)

const (
	// saverCap is what the low power mode leaves of the GPU's clock, saverWatts of its
	// watts.
	saverCap, saverWatts = 0.6, 0.45
	// batteryShare is the part of its pace that a model keeps on battery here: this
	// machine then holds its memory back, which no sensor tells.
	batteryShare = 0.7
	// workerShare is how much of a model's time each core of other work costs: both
	// read the same memory.
	workerShare = 0.2
	// grownShare is the same for each part that a runner has grown by.
	grownShare = 1.2
	// processorSlow is how many times longer the processor takes for the layers that
	// are not on the GPU.
	processorSlow = 4.0
)

// trouble is what slows models beside memory and heat. Its zero value is none.
type trouble struct {
	onBattery bool
	workers   []*worker
	users     []*worker // of the GPU
	engine    float64   // the part of its pace that the server lost
	spill     map[*model]float64
	grown     map[*model]float64 // bytes that its runner gathers
	volume    metal.Volume
	readRate  float64 // bytes per second from it; 0: diskRate
}

// worker is a program that works: on so many cores, or for that share of the GPU's
// time.
type worker struct {
	name    string
	pid     int
	started time.Time
	share   float64
	done    float64 // s so far
}

// set changes trouble from now on.
func (m *Mac) set(change func(*trouble)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	change(&m.trouble)
}

// SetBattery takes the mains away, without which models are slower here, or brings
// them back.
func (m *Mac) SetBattery(on bool) { m.set(func(t *trouble) { t.onBattery = on }) }

// SetLowPower turns the low power mode on or off. It holds the GPU's clock down.
func (m *Mac) SetLowPower(on bool) { m.set(func(*trouble) { m.heat.saving = on }) }

// SetTemperature makes the machine as hot as it would be in the sun; from there heat
// takes its course.
func (m *Mac) SetTemperature(celsius float64) {
	m.set(func(*trouble) { m.heat.temperature = celsius })
}

// SetWork lets a program work on so many processor cores; 0 ends it. The system's own
// are called mds_stores, mdworker_shared or backupd. On a real Mac the processor time
// of those that belong to root is not told.
func (m *Mac) SetWork(name string, cores float64) {
	m.set(func(t *trouble) { t.workers = m.put(t.workers, name, cores) })
}

// SetGPUWork lets a program take that share of the GPU's time, 0 to 0.95; 0 ends it.
func (m *Mac) SetGPUWork(name string, share float64) {
	m.set(func(t *trouble) { t.users = m.put(t.users, name, min(share, 0.95)) })
}

// put sets what a program does.
func (m *Mac) put(list []*worker, name string, share float64) []*worker {
	list = slices.DeleteFunc(slices.Clone(list), func(w *worker) bool { return w.name == name })
	if share > 0 {
		list = append(list, &worker{name: name, pid: m.nextPID, started: m.wall(), share: share})
		m.nextPID++
	}
	return list
}

// SetEngine is an update of the server after which models keep that part of their
// pace, 0 to 1, while the GPU waits the rest of the time.
func (m *Mac) SetEngine(share float64) {
	m.set(func(t *trouble) { t.engine = 1 - min(max(share, 0.01), 1) })
}

// SetGPUShare makes the next load of a model keep that part of it on the GPU, and the
// rest on the processor, as num_gpu does.
func (m *Mac) SetGPUShare(name string, share float64) {
	m.set(func(t *trouble) {
		if model := find(name); model != nil {
			t.spill[model] = 1 - min(max(share, 0), 1)
		}
	})
}

// SetGrown lets the runner of a model gather that many bytes beside it, by a quarter
// of a GB each second: prompts it keeps, or a leak. Its next load starts without.
func (m *Mac) SetGrown(name string, bytes uint64) {
	m.set(func(t *trouble) {
		if model := find(name); model != nil {
			t.grown[model] = float64(bytes)
		}
	})
}

// SetVolume puts the models' files on another volume, read with that many bytes per
// second at most; 0 is as fast as the internal disk.
func (m *Mac) SetVolume(v metal.Volume, bytesPerSecond float64) {
	m.set(func(t *trouble) { t.volume, t.readRate = v, bytesPerSecond })
}

// LosePrompts makes every runner forget the prompts it has read.
func (m *Mac) LosePrompts() {
	m.set(func(*trouble) {
		for _, r := range m.runners {
			for _, s := range r.slots {
				s.last = ""
			}
		}
	})
}

// Volume says where a model's file lies. It makes the simulated Mac a metal.Volumes.
func (m *Mac) Volume(path string) (*metal.Volume, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(store, func(o *model) bool { return o.remoteModel == "" && o.blob() == path }) {
		return nil, fmt.Errorf("asking where %s lies: no such file", path)
	}
	v := m.trouble.volume
	v.Kind = cmp.Or(v.Kind, metal.VolumeInternal)
	return &v, nil
}

// fileRate is how fast a model is read, in bytes per second.
func (t *trouble) fileRate() float64 {
	if t.readRate > 0 {
		return min(t.readRate, diskRate)
	}
	return diskRate
}

// add lets a token take longer for what else goes on: time in which the GPU does
// nothing for it.
func (m *Mac) add(c costs, r *runner) costs {
	t, alone := &m.trouble, c.compute
	for _, w := range t.users {
		c.idle += alone * w.share / (1 - w.share)
	}
	if t.onBattery {
		c.idle += alone * (1/batteryShare - 1)
	}
	for _, w := range t.workers {
		c.idle += alone * workerShare * w.share
	}
	c.idle += alone * grownShare * r.grown / r.bytes
	c.idle += alone * t.engine / (1 - t.engine)
	if r.spilled > 0 { // those layers wait for the processor, the others for them
		c.compute -= alone * r.spilled
		c.idle += alone * r.spilled * processorSlow
	}
	return c
}

// worry is the part of a step that trouble has: others work, runners grow.
func (m *Mac) worry(dt float64) (gpu float64) {
	for _, w := range m.trouble.workers {
		w.done += w.share * dt
	}
	for _, w := range m.trouble.users {
		w.done += w.share * dt
		gpu += w.share
	}
	for _, r := range m.runners {
		if goal := m.trouble.grown[r.model]; !r.dead && !r.unlisted && r.loaded >= r.bytes && r.grown < goal {
			r.grown += m.memory.grant(min(goal-r.grown, growRate/4*dt))
		}
	}
	return gpu
}

// beside is the memory that runners have outside the GPU, in bytes.
func (m *Mac) beside() (sum float64) {
	for _, r := range m.runners {
		if !r.dead && !r.unlisted {
			sum += r.grown
		}
		sum += r.loaded * r.spilled
	}
	return sum
}

// working lists the programs that work beside models.
func (t *trouble) working() (list []metal.Process) {
	for _, w := range t.workers {
		list = append(list, metal.Process{PID: w.pid, Parent: 1, Name: w.name, App: w.name, Started: micros(w.started), Footprint: new(uint64(60 << 20)), CPU: new(w.done)})
	}
	for _, w := range t.users {
		list = append(list, metal.Process{PID: w.pid, Parent: 1, Name: w.name, App: w.name, Started: micros(w.started), Footprint: new(uint64(700 << 20)),
			CPU: new(0.1 * w.done), GPU: new(w.done)})
	}
	return list
}

// Prompt is a request of somebody who says how long it is to be.
type Prompt struct {
	Model string
	// Context is the context to run with, in tokens; 0 is the server's default.
	Context int
	// Tokens are those of the prompt, Output those of the answer.
	Tokens, Output int
	// Chat names the conversation that it goes on with: what its last prompt and this
	// one share is in the cache, unless another came between. "" shares nothing.
	Chat string
}

// Send asks for an answer, as Ask does.
func (m *Mac) Send(p Prompt) (*Job, error) {
	r := &request{prompt: max(p.Tokens, 1), want: max(p.Output, 1), context: p.Context}
	if p.Chat != "" {
		r.text = chatText(p.Chat, r.prompt)
	}
	return m.ask(r, p.Model)
}

// chatText stands for that many tokens of a conversation: a longer one begins with
// all of a shorter.
func chatText(chat string, tokens int) string {
	const most = 1 << 17
	text := make([]byte, min(tokens, most))
	seed := hash(chat)
	for i := range text {
		text[i] = 'a' + byte((seed>>(i%48))%26)
	}
	return string(text)
}
