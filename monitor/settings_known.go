package monitor

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/backend/serverlog"
)

// ServerSettings is how a model server of this machine was set up, as far as
// anybody told, and what its runners were started with. Each value has its source
// in Sources; what nobody told and cannot be assumed is absent.
type ServerSettings struct {
	Backend string `json:"backend"`
	// Log is how the server's log can be followed, File where it is.
	Log  LogState `json:"log_state,omitzero"`
	File string   `json:"log_file,omitzero"`
	// Started is when the server told its settings: when it started.
	Started *time.Time `json:"started,omitempty"`
	// Parallel is the number of requests that a model answers at once
	// (OLLAMA_NUM_PARALLEL). Absent where the server decides.
	Parallel *int `json:"parallel_requests,omitempty"`
	// Context is the context length of a request that asks for none, in tokens
	// (OLLAMA_CONTEXT_LENGTH, or what the server made of the GPU's memory).
	Context *int `json:"context_tokens,omitempty"`
	// ContextSet says that a person set it.
	ContextSet bool `json:"context_set,omitzero"`
	// CacheType is the type of the cache that was asked for (OLLAMA_KV_CACHE_TYPE). A
	// model may have another, see Models.
	CacheType string `json:"kv_cache_type,omitzero"`
	// FlashAttention was asked for (OLLAMA_FLASH_ATTENTION). Absent: the server decides
	// by the model.
	FlashAttention *bool `json:"flash_attention,omitempty"`
	// MaxLoaded is how many models are kept in memory at once, MaxQueue how many
	// requests may wait.
	MaxLoaded *int `json:"max_loaded_models,omitempty"`
	MaxQueue  *int `json:"max_queued_requests,omitempty"`
	// KeepAlive is how long a model stays after a request, in seconds; −1 is for ever.
	KeepAlive *float64 `json:"keep_alive_seconds,omitempty"`
	// Folder is where the models are (OLLAMA_MODELS).
	Folder string `json:"models_folder,omitzero"`
	// Sources tells where each value came from, by its JSON name.
	Sources map[string]SettingSource `json:"sources,omitempty"`
	// Models are those in memory of whose load something was told, in the order of
	// Snapshot.Residents.
	Models []ModelSettings `json:"models,omitempty"`
}

// ModelSettings is how a model in memory was loaded.
type ModelSettings struct {
	Model string `json:"model"`
	// Context is the length that each of Parallel requests may have, in tokens.
	Context  *int `json:"context_tokens,omitempty"`
	Parallel *int `json:"parallel_requests,omitempty"`
	// CacheType is the type that the cache has.
	CacheType      string `json:"kv_cache_type,omitzero"`
	FlashAttention *bool  `json:"flash_attention,omitempty"`
	// Weights, Cache and Compute are what the runner told of its memory, in bytes, each
	// the sum over all devices. Estimated marks figures that the server worked out,
	// rounded, where no buffer was told.
	Weights   *uint64 `json:"weights_bytes,omitempty"`
	Cache     *uint64 `json:"kv_cache_bytes,omitempty"`
	Compute   *uint64 `json:"compute_bytes,omitempty"`
	Estimated bool    `json:"estimated,omitzero"`
	// Layers is the number of layers, of which GPULayers are on the GPU.
	Layers    *int `json:"layers,omitempty"`
	GPULayers *int `json:"gpu_layers,omitempty"`
	// LoadTime is how long the load took, in seconds, as the server told.
	LoadTime *float64                 `json:"load_seconds,omitempty"`
	Sources  map[string]SettingSource `json:"sources,omitempty"`
}

// SettingSource is where a setting came from.
type SettingSource string

const (
	// SettingLog: the server or its runner wrote it into the log.
	SettingLog SettingSource = "log"
	// SettingArguments: the runner's process was started with it.
	SettingArguments SettingSource = "arguments"
	// SettingAssumed: nobody told, and this is what the server does without being told.
	SettingAssumed SettingSource = "assumed"
)

// LogState is how a server's log can be followed.
type LogState string

// The states of a log. LogForeign: it is another server's, by its version or its port.
const (
	LogFollowing    = LogState(serverlog.Following)
	LogMissing      = LogState(serverlog.Missing)
	LogJournal      = LogState(serverlog.Journal)
	LogNotPermitted = LogState(serverlog.NotPermitted)
	LogUnreadable   = LogState(serverlog.Unreadable)
	LogForeign      = LogState("foreign")
)

// What Ollama does without being told (envconfig/config.go, server/sched.go).
const (
	assumedKeepAlive = 5 * time.Minute
	assumedLoaded    = 3 // for one GPU, and without any
	assumedCache     = "f16"
)

// readLogs takes what the logs of this machine's servers told since the last tick.
func (m *Monitor) readLogs(s *Snapshot) {
	m.news = nil
	m.mu.Lock()
	pollers := m.pollers
	m.mu.Unlock()
	for _, p := range pollers {
		teller, ok := p.backend.(backend.LogTeller)
		if !ok || !onThisMachine(s, p.backend.Name()) {
			continue
		}
		status := find(s.Backends, func(b *backend.Status) bool { return b.Name == p.backend.Name() })
		if status.Kind != "ollama" {
			continue
		}
		log := teller.Log()
		if log == nil {
			s.ServerSettings = append(s.ServerSettings, m.knownSettings(s, status.Name, serverlog.Known{}))
			continue
		}
		known, events := log.Known(), log.Take()
		if known.Settings != nil && !m.writes(s, status, known.Settings) {
			known = serverlog.Known{Status: known.Status}
			known.Status.State, events = serverlog.FileState(LogForeign), nil
		}
		s.ServerSettings = append(s.ServerSettings, m.knownSettings(s, status.Name, known))
		m.takeNews(s, status.Name, known, events)
	}
}

// writes reports that a log is the server's: it has its version, and its port or a
// model that runs here. A meter in front of a server has another port.
func (m *Monitor) writes(s *Snapshot, b *backend.Status, told *serverlog.Settings) bool {
	if told.Version != "" && b.Version != "" && told.Version != b.Version {
		return false
	}
	u, err := url.Parse(b.Address)
	if err != nil || told.Port == 0 || u.Port() == "" || u.Port() == strconv.Itoa(told.Port) {
		return true
	}
	return find(s.Residents, func(r *Resident) bool {
		_, here := m.runners.found[residentKey(r)]
		return here && r.Backend == b.Name
	}) != nil
}

// knownSettings puts together what is known of one server.
func (m *Monitor) knownSettings(s *Snapshot, name string, known serverlog.Known) ServerSettings {
	k := ServerSettings{Backend: name, Log: LogState(known.Status.State), File: known.Status.Path, Sources: map[string]SettingSource{}}
	if t := known.Settings; t != nil {
		k.tell(t)
	}
	k.assume()
	for i := range s.Residents {
		r := &s.Residents[i]
		if r.Backend != name || r.Cloud {
			continue
		}
		var args *serverlog.Arguments
		if p, ok := m.runners.found[residentKey(r)]; ok && len(p.Args) > 0 {
			args = new(serverlog.ParseArguments(p.Args))
		}
		if model, ok := modelSettings(r, args, loadOf(r, known.Loads), &k); ok {
			k.Models = append(k.Models, model)
		}
	}
	return k
}

// tell takes what the server's log says.
func (k *ServerSettings) tell(t *serverlog.Settings) {
	if !t.At.IsZero() {
		k.Started = &t.At
	}
	note := func(name string, there bool) {
		if there {
			k.Sources[name] = SettingLog
		}
	}
	k.Parallel, k.Context, k.CacheType, k.Folder = t.Parallel, t.Context, t.CacheType, t.Models
	k.MaxLoaded, k.MaxQueue, k.ContextSet = t.MaxLoaded, t.MaxQueue, t.ContextSet
	if t.FlashAttention {
		k.FlashAttention = new(true)
	}
	if t.KeepAlive != nil {
		k.KeepAlive = new(max(t.KeepAlive.Seconds(), -1))
	}
	note("parallel_requests", k.Parallel != nil)
	note("context_tokens", k.Context != nil)
	note("kv_cache_type", k.CacheType != "")
	note("flash_attention", k.FlashAttention != nil)
	note("max_loaded_models", k.MaxLoaded != nil)
	note("max_queued_requests", k.MaxQueue != nil)
	note("keep_alive_seconds", k.KeepAlive != nil)
	note("models_folder", k.Folder != "")
}

// assume fills in what the server does by itself.
func (k *ServerSettings) assume() {
	if k.CacheType == "" {
		k.CacheType, k.Sources["kv_cache_type"] = assumedCache, SettingAssumed
	}
	if k.MaxLoaded == nil {
		k.MaxLoaded, k.Sources["max_loaded_models"] = new(assumedLoaded), SettingAssumed
	}
	if k.KeepAlive == nil {
		k.KeepAlive, k.Sources["keep_alive_seconds"] = new(assumedKeepAlive.Seconds()), SettingAssumed
	}
}

// loadOf is the newest load of a resident model: by its file, or by its name.
func loadOf(r *Resident, loads []serverlog.Load) *serverlog.Load {
	for i := range loads {
		l := &loads[len(loads)-1-i]
		switch {
		case l.Failed:
		case l.Weights != "" && r.Weights != "" && (l.Weights == r.Weights || filepath.Base(l.Weights) == filepath.Base(r.Weights)),
			l.Model != "" && strings.TrimSuffix(l.Model, ":latest") == strings.TrimSuffix(r.Model, ":latest"):
			return l
		}
	}
	return nil
}

// modelSettings puts together what is known of a model in memory: the arguments of
// its process count before the log. It reports false where nobody told anything.
func modelSettings(r *Resident, args *serverlog.Arguments, load *serverlog.Load, server *ServerSettings) (ModelSettings, bool) {
	m := ModelSettings{Model: r.Model, Sources: map[string]SettingSource{}}
	if args == nil && load == nil {
		return m, false
	}
	if args != nil {
		m.take(SettingArguments, args.Context(), args.Slots, args.CacheType, args.FlashAttention)
	}
	if load != nil {
		m.take(SettingLog, load.Context(), load.Slots, load.CacheType, load.FlashAttention)
		m.Weights, m.Cache, m.Compute, m.Estimated = load.WeightsBytes, load.CacheBytes, load.ComputeBytes, load.Estimated
		m.Layers, m.GPULayers, m.LoadTime = load.Layers, load.GPULayers, load.Ready
		for name, there := range map[string]bool{"weights_bytes": m.Weights != nil, "kv_cache_bytes": m.Cache != nil, "compute_bytes": m.Compute != nil,
			"layers": m.Layers != nil, "gpu_layers": m.GPULayers != nil, "load_seconds": m.LoadTime != nil} {
			if there {
				m.Sources[name] = SettingLog
			}
		}
	}
	flash := m.FlashAttention != nil && *m.FlashAttention || m.FlashAttention == nil && server.FlashAttention != nil
	switch {
	case m.CacheType != "":
	case flash && server.Sources["kv_cache_type"] == SettingLog:
		m.CacheType, m.Sources["kv_cache_type"] = server.CacheType, SettingLog
	default: // without flash attention a server leaves a quantised cache out
		m.CacheType, m.Sources["kv_cache_type"] = assumedCache, SettingAssumed
	}
	return m, true
}

// take fills in what is not known yet.
func (m *ModelSettings) take(source SettingSource, context, parallel *int, cache string, flash *bool) {
	note := func(name string, fill bool) bool {
		if fill {
			m.Sources[name] = source
		}
		return fill
	}
	if note("context_tokens", m.Context == nil && context != nil) {
		m.Context = context
	}
	if note("parallel_requests", m.Parallel == nil && parallel != nil) {
		m.Parallel = parallel
	}
	if note("kv_cache_type", m.CacheType == "" && cache != "") {
		m.CacheType = cache
	}
	if note("flash_attention", m.FlashAttention == nil && flash != nil) {
		m.FlashAttention = flash
	}
}
