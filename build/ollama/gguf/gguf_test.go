package gguf

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func file(t *testing.T, m Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read is what a reader of the format finds in a file's head.
type read struct {
	keys    map[string]any
	tensors map[string]uint64 // values of each
	ends    map[string]uint64 // offset behind each, in bytes
	data    int               // where tensor data begins
}

// reader decodes a GGUF file by the format's description, apart from the writer.
type reader struct {
	t *testing.T
	b *bytes.Reader
}

func number[T any](r reader) (v T) {
	r.t.Helper()
	if err := binary.Read(r.b, binary.LittleEndian, &v); err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r reader) string() string {
	s := make([]byte, number[uint64](r))
	if _, err := r.b.Read(s); err != nil {
		r.t.Fatal(err)
	}
	return string(s)
}

func (r reader) value(kind uint32) any {
	switch kind {
	case 4:
		return number[uint32](r)
	case 5:
		return number[int32](r)
	case 6:
		return number[float32](r)
	case 7:
		return number[uint8](r) == 1
	case 8:
		return r.string()
	case 9:
		kind, n := number[uint32](r), number[uint64](r)
		all := make([]any, n)
		for i := range all {
			all[i] = r.value(kind)
		}
		return all
	case 10:
		return number[uint64](r)
	}
	r.t.Fatalf("value of kind %d", kind)
	return nil
}

func parse(t *testing.T, data []byte) read {
	t.Helper()
	r := reader{t, bytes.NewReader(data)}
	if magic := number[[4]byte](r); string(magic[:]) != "GGUF" {
		t.Fatalf("it begins with %q", magic)
	}
	if version := number[uint32](r); version != 3 {
		t.Fatalf("version %d", version)
	}
	tensors, keys := number[uint64](r), number[uint64](r)
	f := read{map[string]any{}, map[string]uint64{}, map[string]uint64{}, 0}
	for range keys {
		key := r.string()
		f.keys[key] = r.value(number[uint32](r))
	}
	for range tensors {
		name, n := r.string(), uint64(1)
		for range number[uint32](r) {
			n *= number[uint64](r)
		}
		if kind := number[uint32](r); kind != 0 {
			t.Errorf("%s is of type %d, want F32", name, kind)
		}
		offset := number[uint64](r)
		if offset%32 != 0 {
			t.Errorf("%s starts at %d", name, offset)
		}
		f.tensors[name], f.ends[name] = n, offset+n*4
	}
	f.data = (len(data) - r.b.Len() + 31) / 32 * 32
	return f
}

func TestFileIsReadable(t *testing.T) {
	data := file(t, Model{Name: "probe", Trained: 2048, Size: Size{Layers: 3}})
	f := parse(t, data)
	for key, want := range map[string]any{
		"general.architecture": "llama", "general.name": "probe",
		"llama.context_length": uint32(2048), "llama.block_count": uint32(3),
		"llama.embedding_length": uint32(64), "llama.attention.head_count_kv": uint32(2),
		"tokenizer.ggml.add_bos_token": true,
	} {
		if got := f.keys[key]; got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if len(f.tensors) != 3+9*3 {
		t.Errorf("%d tensors, want 30", len(f.tensors))
	}
	var sum, end uint64
	for name, n := range f.tensors {
		sum += n
		end = max(end, f.ends[name])
	}
	if got := f.keys["general.parameter_count"]; got != sum {
		t.Errorf("it says %v parameters and holds %d", got, sum)
	}
	if want := f.data + int(end+31)/32*32; len(data) != want {
		t.Errorf("%d bytes, want %d", len(data), want)
	}
	if len(data) > 1<<20 {
		t.Errorf("the default model takes %d bytes", len(data))
	}
}

func TestSameModelSameBytes(t *testing.T) {
	m := Model{Says: Speech{Text: "the same words"}, Seed: 7}
	if !bytes.Equal(file(t, m), file(t, m)) {
		t.Error("two files of one model differ")
	}
	other := m
	other.Seed = 8
	if bytes.Equal(file(t, m), file(t, other)) {
		t.Error("another seed gives the same file")
	}
}

func TestVocabularyHasNoTwins(t *testing.T) {
	for _, says := range []Speech{
		{}, {Split: true}, {Count: 2000},
		{Text: "aa"}, {Text: "abcabcabcabcabcabc"}, {Text: "aaaaaaaaaaaaaaaaaaaaaaaa"}, {Text: " z z z z z z"},
		{Text: "混合 text with 🙂🙂🙂 and the the the the"}, {Text: `{"name": "f", "arguments": {}}`},
	} {
		v, err := newVocabulary(says)
		if err != nil {
			t.Errorf("%+v: %v", says, err)
			continue
		}
		sorted := slices.Sorted(slices.Values(v.tokens))
		if twins := len(sorted) - len(slices.Compact(sorted)); twins > 0 {
			t.Errorf("%+v: %d tokens occur twice", says, twins)
		}
		if len(v.tokens) != len(v.kinds) {
			t.Errorf("%+v: %d tokens of %d kinds", says, len(v.tokens), len(v.kinds))
		}
	}
}

func TestChainSpellsTheText(t *testing.T) {
	for _, text := range []string{"Hello, world.", "ab", "<think>混合🙂</think>done", "the the the the the the", strings.Repeat("xyz ", 40)} {
		v, err := newVocabulary(Speech{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		steps := 0
		for token := v.first; token != v.end; token = v.next[token] {
			said.WriteString(v.tokens[token])
			if steps++; steps > len(text) {
				t.Fatalf("%q: the chain has no end", text)
			}
		}
		if said.String() != spell(text) {
			t.Errorf("it says %q, want %q", said.String(), spell(text))
		}
	}
}

func TestImpossibleModels(t *testing.T) {
	for _, m := range []Model{
		{Says: Speech{Text: "x"}},
		{Size: Size{Width: 100, Heads: 3}},
		{Size: Size{Heads: 4, KVHeads: 3}},
		{Size: Size{Width: 12, Heads: 4}},
	} {
		if err := Write(new(bytes.Buffer), m); err == nil {
			t.Errorf("%+v was written", m)
		}
	}
}
