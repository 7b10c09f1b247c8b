package fit

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// writer writes GGUF headers for tests.
type writer struct {
	bytes.Buffer
	order binary.AppendByteOrder
}

func (w *writer) u32(v uint32)  { w.Write(w.order.AppendUint32(nil, v)) }
func (w *writer) u64(v uint64)  { w.Write(w.order.AppendUint64(nil, v)) }
func (w *writer) text(s string) { w.u64(uint64(len(s))); w.WriteString(s) }

func (w *writer) pair(key string, value any) {
	w.text(key)
	switch v := value.(type) {
	case string:
		w.u32(ggufString)
		w.text(v)
	case uint32:
		w.u32(ggufUint32)
		w.u32(v)
	case bool:
		w.u32(ggufBool)
		w.WriteByte(map[bool]byte{true: 1}[v])
	case []uint32:
		w.u32(ggufArray)
		w.u32(ggufUint32)
		w.u64(uint64(len(v)))
		for _, n := range v {
			w.u32(n)
		}
	case []string:
		w.u32(ggufArray)
		w.u32(ggufString)
		w.u64(uint64(len(v)))
		for _, s := range v {
			w.text(s)
		}
	case []bool:
		w.u32(ggufArray)
		w.u32(ggufBool)
		w.u64(uint64(len(v)))
		for _, b := range v {
			w.WriteByte(map[bool]byte{true: 1}[b])
		}
	}
}

// sample is a small file: four layers, of which the second keeps nothing.
func sample(order binary.AppendByteOrder) []byte {
	w := &writer{order: order}
	w.WriteString("GGUF")
	w.u32(3)
	w.u64(3)
	w.u64(8)
	w.pair("general.architecture", "qwen3")
	w.pair("qwen3.block_count", uint32(4))
	w.pair("qwen3.attention.head_count", uint32(8))
	w.pair("qwen3.attention.head_count_kv", []uint32{2, 0, 2, 2})
	w.pair("qwen3.attention.key_length", uint32(64))
	w.pair("qwen3.embedding_length", uint32(512))
	w.pair("tokenizer.ggml.tokens", []string{"a", "bc", "def"})
	w.pair("tokenizer.ggml.add_bos_token", true)
	for _, t := range []struct {
		name  string
		shape []uint64
		kind  uint32
	}{{"token_embd.weight", []uint64{512, 1000}, 12}, {"blk.0.attn_q.weight", []uint64{512, 512}, 8}, {"v.patch.weight", []uint64{512, 4}, 1}} {
		w.text(t.name)
		w.u32(uint32(len(t.shape)))
		for _, side := range t.shape {
			w.u64(side)
		}
		w.u32(t.kind)
		w.u64(0)
	}
	return w.Bytes()
}

func TestReadGGUF(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		m, err := ReadGGUF(bytes.NewReader(append(sample(order), "weights"...)))
		if err != nil {
			t.Fatalf("%s endian: %v", name, err)
		}
		if m.Architecture != "qwen3" || m.Format != "gguf" || m.Blocks != 4 || m.Vocabulary != 1000 || !m.Vision {
			t.Errorf("%s endian: %+v", name, m)
		}
		wantBytes(t, "per token", m.Need(Options{}).PerToken, 3*2*128*2)
		wantBytes(t, "weights", m.Weights, 512*1000/256*144+512*512/32*34)
		wantBytes(t, "projector", m.Projector, 512*4*2)
	}
}

func TestReadGGUFRefuses(t *testing.T) {
	good := sample(binary.LittleEndian)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "unexpected EOF"},
		{"another file", []byte("PK\x03\x04abcdefgh"), "no GGUF"},
		{"a future version", append([]byte("GGUF"), 9, 0, 0, 0), "version 9"},
		{"more keys than any", append([]byte("GGUF\x03\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 16)...), "beyond"},
		{"a text without an end", append([]byte("GGUF\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"), "\xff\xff\xff\x00\x00\x00\x00\x00x"...), "unexpected EOF"},
	} {
		if _, err := ReadGGUF(bytes.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for cut := range good {
		if _, err := ReadGGUF(bytes.NewReader(good[:cut])); err == nil {
			t.Fatalf("a file that is cut at %d of %d is read", cut, len(good))
		}
	}
}

func FuzzReadGGUF(f *testing.F) {
	f.Add(sample(binary.LittleEndian))
	f.Add(sample(binary.BigEndian))
	f.Add([]byte("GGUF\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ReadGGUF(bytes.NewReader(data)); err == nil {
			sound(t, m, Options{Context: 8192})
		}
	})
}
