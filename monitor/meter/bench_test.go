package meter

import (
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
)

// BenchmarkOneChunk is an answer of one chunk: asked directly, through a plain
// reverse proxy and through the meter. The differences are what each adds.
func BenchmarkOneChunk(b *testing.B) {
	server := listen(b, says(ndjson, `{"model":"m","response":"x","done":true,"eval_count":1}`+"\n"), io.Discard)
	plain := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(server) }}
	for _, way := range []struct {
		name string
		url  string
	}{
		{"direct", server.String()},
		{"plain", listen(b, plain, io.Discard).String()},
		{"meter", listen(b, New(Config{Upstream: server}), io.Discard).String()},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				answer, err := client.Post(way.url+"/api/generate", "", strings.NewReader(asks))
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
}

// BenchmarkScan is what a long line costs.
func BenchmarkScan(b *testing.B) {
	line := []byte(`{"model":"m","response":"` + strings.Repeat(`word \"quoted\" `, 4096) + `","done":true}`)
	var s scan
	s.value = func([]byte, byte, []byte, int) {}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s.reset()
		s.feed(line)
	}
}

// BenchmarkRecord is what a line of one token costs.
func BenchmarkRecord(b *testing.B) {
	r := reply{metered: true, streamed: true}
	r.records = newRecords(framingLines, func(path []byte, kind byte, text []byte, size int) { r.record.value(path, kind, text, size) })
	r.records.whole, r.records.broken = func() { r.record = record{} }, func() {}
	line := []byte(`{"model":"m","created_at":"2026-11-30T07:26:37.145424086Z","response":" word","done":false}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		r.records.feed(line)
	}
}
