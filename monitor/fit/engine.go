package fit

import (
	"strconv"
	"strings"
)

// ownEngine are the families that Ollama runs with its own engine
// (OllamaEngineRequired in fs/ggml), up to v0.30.
var ownEngine = set("bert", "deepseek2", "deepseekocr", "gemma3", "gemma3n", "gptoss", "llama4", "mistral3", "mllama",
	"nemotronh", "nemotronhmoe", "nomicbert", "olmo3", "qwen25vl", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "qwen3next",
	"qwen3vl", "qwen3vlmoe", "glm4moelite", "glmocr", "lfm2", "lfm2moe")

// llamaServerSince is the version of Ollama from which on llama-server runs its
// GGUF models: 0.30.
const llamaServerSince = 30

// EngineOf is what runs a model on a server of a kind and version, both as
// backend.Status has them. EngineUnknown where that is not known.
func (m Model) EngineOf(kind, version string) Engine {
	if m.Format == "safetensors" || kind == "mlx" {
		return EngineMLX
	}
	switch kind {
	case "llama-server", "lmstudio":
		return EngineLlama
	case "ollama":
		parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
		if len(parts) < 2 {
			return EngineUnknown
		}
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		switch {
		case err1 != nil || err2 != nil:
			return EngineUnknown
		case major > 0 || minor >= llamaServerSince, !ownEngine[m.family()]:
			return EngineLlama
		}
		return EngineOllama
	}
	return EngineUnknown
}
