package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Benchmark is one result of a benchmark. What Result says is package bench's.
type Benchmark struct {
	ID      int64 // given by AddBenchmark, from 1 on
	Taken   time.Time
	Backend string
	Model   string
	Digest  string
	Engine  string
	Version string
	Result  json.RawMessage
}

// AddBenchmark keeps a result and tells its ID.
func (h *History) AddBenchmark(ctx context.Context, b Benchmark) (int64, error) {
	result, err := h.db.ExecContext(ctx, `INSERT INTO benchmarks (taken, backend, model, digest, engine, version, result) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		b.Taken.UnixMilli(), b.Backend, b.Model, b.Digest, b.Engine, b.Version, string(b.Result))
	if err != nil {
		return 0, judge(h.path, err)
	}
	return result.LastInsertId()
}

const benchmarkColumns = "SELECT id, taken, backend, model, digest, engine, version, result FROM benchmarks "

// Benchmark is the result with an ID, nil when there is none.
func (h *History) Benchmark(ctx context.Context, id int64) (*Benchmark, error) {
	b, err := scanBenchmark(h.db.QueryRowContext(ctx, benchmarkColumns+"WHERE id = ?", id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return b, judge(h.path, err)
}

// Benchmarks are the results for a model ("" means all), newest first, at most
// that many if most is not 0. A name without a tag means the tag "latest".
func (h *History) Benchmarks(ctx context.Context, model string, most int) ([]Benchmark, error) {
	if most <= 0 {
		most = -1
	}
	tagged := model
	if !strings.Contains(model, ":") {
		tagged += ":latest"
	}
	var all []Benchmark
	err := h.each(ctx, func(scan scanner) error {
		b, err := scanBenchmark(scan)
		if err == nil {
			all = append(all, *b)
		}
		return err
	}, benchmarkColumns+"WHERE ?1 = '' OR model = ?1 COLLATE NOCASE OR model = ?2 COLLATE NOCASE ORDER BY id DESC LIMIT ?3", model, tagged, most)
	return all, judge(h.path, err)
}

func scanBenchmark(scan scanner) (*Benchmark, error) {
	var b Benchmark
	var taken int64
	var result string
	err := scan(&b.ID, &taken, &b.Backend, &b.Model, &b.Digest, &b.Engine, &b.Version, &result)
	b.Taken, b.Result = time.UnixMilli(taken), json.RawMessage(result)
	return &b, err
}
