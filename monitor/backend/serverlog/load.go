package serverlog

import (
	"slices"
	"strings"
)

// starting begins a load: a runner's process is started for a model.
//
//	msg="starting llama-server" cmd="…/llama-server --model …/blobs/sha256-… --port 53443 -c 8192 -np 2 …"
//
// A runner without a model only looks for GPUs.
func (p *Parser) starting(l *line) {
	args := parseCommand(l.attribute("cmd"))
	if args.Weights == "" {
		return
	}
	engine := engineOwn
	if strings.HasSuffix(l.msg, "llama-server") {
		engine = engineLlama
	}
	p.begin(&Load{Engine: engine, Weights: args.Weights, Arguments: args, Slots: args.Slots, Cells: args.Cells,
		CacheType: args.CacheType, FlashAttention: args.FlashAttention}, l)
}

// startingMLX begins the load of a model that MLX runs.
func (p *Parser) startingMLX(l *line) {
	p.begin(&Load{Engine: engineMLX, Model: shortName(l.attribute("model")), Arguments: Arguments{Port: l.count("port")}}, l)
}

func (p *Parser) begin(load *Load, l *line) {
	if load.Began = l.time(); load.Began.IsZero() {
		load.Began = p.now
	}
	p.load, p.computing = load, nil
	p.loads = slices.DeleteFunc(p.loads, func(o *Load) bool { return o.Weights == load.Weights && (load.Weights != "" || o.Model == load.Model) })
	if len(p.loads) == mostLoads {
		p.loads = p.loads[1:]
	}
	p.loads = append(p.loads, load)
	p.emit(Event{Kind: Loading, Load: new(*load), Model: load.Model}, l)
}

// started ends a load: "llama-server started in 7.30 seconds". The line comes
// twice, the last counts.
func (p *Parser) started(l *line) {
	_, text, _ := strings.Cut(l.msg, " started in ")
	seconds := decimal(strings.TrimSuffix(text, " seconds"))
	if seconds == nil || p.load == nil {
		return
	}
	first := p.load.Ready == nil
	if p.load.Ready = seconds; first {
		p.emit(Event{Kind: Loaded, Load: new(*p.load), Model: p.load.Model}, l)
	}
}

// readyMLX ends a load of MLX, of which only the two moments are told.
func (p *Parser) readyMLX(l *line) {
	at := l.time()
	if p.load == nil || p.load.Engine != engineMLX || at.IsZero() || at.Before(p.load.Began) {
		return
	}
	p.load.Ready = new(at.Sub(p.load.Began).Seconds())
	p.emit(Event{Kind: Loaded, Load: new(*p.load), Model: p.load.Model}, l)
}

// current is the load that a line is about. A runner that stands alone, or whose
// beginning was not read, has one all the same.
func (p *Parser) current() *Load {
	if p.load == nil {
		p.load = &Load{Engine: engineLlama, Began: p.now}
		p.loads = append(p.loads, p.load)
	}
	return p.load
}

// estimated reads what the server worked out for one device of a load that is new:
// msg="kv cache" device=Metal size="1.2 GiB". The parts of one load add up.
func (p *Parser) estimated(l *line) {
	bytes := size(l.attribute("size"))
	if bytes == nil {
		return
	}
	load := p.current()
	if !load.Estimated && load.measured() {
		return // buffers were allocated, which are known better
	}
	load.Estimated = true
	add(map[string]**uint64{"model weights": &load.WeightsBytes, "kv cache": &load.CacheBytes, "compute graph": &load.ComputeBytes}[l.msg], *bytes)
}

// Context is the length that one request may have, in tokens: Cells ÷ Slots.
func (l *Load) Context() *int { return perSlot(l.Cells, l.Slots) }

// measured tells whether anything is known of what the load occupies.
func (l *Load) measured() bool {
	return l.WeightsBytes != nil || l.CacheBytes != nil || l.ComputeBytes != nil
}

// forget makes room for better figures.
func (l *Load) forget() {
	l.WeightsBytes, l.CacheBytes, l.ComputeBytes, l.Estimated = nil, nil, nil, false
}

func add(to **uint64, bytes uint64) {
	if *to != nil {
		bytes += **to
	}
	*to = &bytes
}

// asked reads what a runner of Ollama's own is told to load. KvSize is the whole
// cache, for all requests together:
//
//	msg=load request="{Operation:commit … Parallel:1 BatchSize:512 FlashAttention:Auto KvSize:32768 KvCacheType: … GPULayers:41[…] …}"
//
// Operations before the last are tries, whose memory is not what it will be.
func (p *Parser) asked(l *line) {
	request := l.attribute("request")
	field := func(name string) string {
		value, _ := between(request, name+":", " ")
		return value
	}
	if !strings.Contains(request, "Operation:") || field("{Operation") == "close" {
		return
	}
	load := p.current()
	load.Cells, load.Slots = positive(field("KvSize")), positive(field("Parallel"))
	load.CacheType = field("KvCacheType")
	switch field("FlashAttention") {
	case "Enabled", "true":
		load.FlashAttention = new(true)
	case "Disabled", "false":
		load.FlashAttention = new(false)
	}
	if n, ok := cutBefore(field("GPULayers"), "["); ok {
		if n == "" {
			n = "0"
		}
		p.layers(nil, count(n))
	}
	if operation := field("{Operation"); operation == "fit" || operation == "alloc" {
		load.forget()
	}
}

// layers notes a number of layers where it is told.
func (p *Parser) layers(all, gpu *int) {
	load := p.current()
	if all != nil {
		load.Layers = all
	}
	if gpu != nil {
		load.GPULayers = gpu
	}
}

// offloaded reads "offloaded 29/29 layers to GPU".
func (p *Parser) offloaded(text string) {
	text, ok := between(text, "offloaded ", " layers to GPU")
	gpu, all, _ := strings.Cut(text, "/")
	if n, m := count(gpu), count(all); ok && n != nil && m != nil {
		p.layers(m, n)
	}
}

// The engines.
const (
	engineLlama = "llama-server"
	engineMLX   = "mlx"
	engineOwn   = "runner"
)
