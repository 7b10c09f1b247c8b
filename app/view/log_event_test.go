package view

import (
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/backend/serverlog"
)

// What a server's log tells is one sentence each, whatever part of it is known.
func TestEventsOfALog(t *testing.T) {
	full := monitor.Evidence{Backend: "ollama", Model: "qwen3:14b", Tokens: new(83886), KeptTokens: new(32770)}
	system := full
	system.Cause = serverlog.CauseSystem
	for _, c := range []struct {
		kind     monitor.EventKind
		evidence monitor.Evidence
		en, zh   string
	}{
		{monitor.EventOutOfMemory, full, "The GPU ran out of memory with qwen3:14b", "GPU 内存耗尽（qwen3:14b）"},
		{monitor.EventOutOfMemory, monitor.Evidence{}, "The GPU ran out of memory", "GPU 内存耗尽"},
		{monitor.EventOutOfMemory, system, "There was too little memory to load qwen3:14b", "内存不足，无法加载 qwen3:14b"},
		{monitor.EventTruncated, full, "qwen3:14b: A prompt of 83,886 tokens was longer than the context; 32,770 were read, the rest was dropped",
			"qwen3:14b：提示词有 83,886 个 token，超出上下文长度，只读取了 32,770 个，其余被丢弃"},
		{monitor.EventTruncated, monitor.Evidence{}, "A prompt was longer than the context and lost a part", "提示词超出上下文长度，有一部分被丢弃"},
		{monitor.EventCacheRefused, full, "Ollama cannot use the quantised cache it was set to with qwen3:14b: that needs flash attention",
			"Ollama 无法使用所设的量化缓存（qwen3:14b）：量化缓存需要 flash attention"},
		{monitor.EventEvicted, full, "Ollama drops qwen3:14b to make room for another", "Ollama 要腾出空间，将卸载 qwen3:14b"},
		{monitor.EventEvicted, monitor.Evidence{}, "The model server drops a model to make room for another", "模型服务器要腾出空间，将卸载一个模型"},
	} {
		e := monitor.Event{Kind: c.kind, Evidence: c.evidence}
		if got := In("en").Event(e); got != c.en {
			t.Errorf("%s: %q, want %q", c.kind, got, c.en)
		}
		if got := In("zh").Event(e); got != c.zh {
			t.Errorf("%s: %q, want %q", c.kind, got, c.zh)
		}
		notices := In("en").Notices(monitor.Update{Events: []monitor.Event{e}})
		if (len(notices) == 1) != (c.kind == monitor.EventOutOfMemory) || len(notices) == 1 && (notices[0].Title != c.en || notices[0].Text == "") {
			t.Errorf("%s: notices %+v", c.kind, notices)
		}
	}
}
