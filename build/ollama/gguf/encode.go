package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// pair is one entry of the metadata.
type pair struct {
	key   string
	value any
}

// Types of metadata values: gguf_metadata_value_type in ggml's docs/gguf.md.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
	typeUint64  = 10
)

// alignment is general.alignment's default: every tensor starts at a multiple.
const alignment = 32

// encoder writes little-endian values and remembers the first error.
type encoder struct {
	w       *bufio.Writer
	written int64
	buffer  []byte
	err     error
}

func newEncoder(w io.Writer) *encoder {
	return &encoder{w: bufio.NewWriterSize(w, 1<<20)}
}

func (e *encoder) bytes(b []byte) {
	if e.err == nil {
		var n int
		n, e.err = e.w.Write(b)
		e.written += int64(n)
	}
}

func (e *encoder) uint32(v uint32) { e.bytes(binary.LittleEndian.AppendUint32(e.buffer[:0], v)) }
func (e *encoder) uint64(v uint64) { e.bytes(binary.LittleEndian.AppendUint64(e.buffer[:0], v)) }

func (e *encoder) string(s string) {
	e.uint64(uint64(len(s)))
	e.bytes([]byte(s))
}

func (e *encoder) header(tensors int, metadata []pair) {
	e.bytes([]byte("GGUF"))
	e.uint32(3) // version
	e.uint64(uint64(tensors))
	e.uint64(uint64(len(metadata)))
	for _, p := range metadata {
		e.string(p.key)
		e.value(p.value)
	}
}

func (e *encoder) value(value any) {
	switch v := value.(type) {
	case uint32:
		e.uint32(typeUint32)
		e.uint32(v)
	case uint64:
		e.uint32(typeUint64)
		e.uint64(v)
	case float32:
		e.uint32(typeFloat32)
		e.uint32(math.Float32bits(v))
	case bool:
		e.uint32(typeBool)
		e.bytes([]byte{map[bool]byte{true: 1}[v]})
	case string:
		e.uint32(typeString)
		e.string(v)
	case []string:
		e.uint32(typeArray)
		e.uint32(typeString)
		e.uint64(uint64(len(v)))
		for _, s := range v {
			e.string(s)
		}
	case []bool:
		e.uint32(typeArray)
		e.uint32(typeBool)
		e.uint64(uint64(len(v)))
		for _, b := range v {
			e.bytes([]byte{map[bool]byte{true: 1}[b]})
		}
	case []int32:
		e.uint32(typeArray)
		e.uint32(typeInt32)
		e.uint64(uint64(len(v)))
		for _, n := range v {
			e.uint32(uint32(n))
		}
	default:
		panic(fmt.Sprintf("metadata of type %T", value))
	}
}

// tensors writes the table of tensors, then their values.
func (e *encoder) tensors(all []tensor) {
	var offset uint64
	for _, t := range all {
		offset = e.entry(t, offset)
	}
	e.pad()
	for _, t := range all {
		for i := range t.rows() {
			e.buffer = e.buffer[:0]
			for _, f := range t.row(i) {
				e.buffer = binary.LittleEndian.AppendUint32(e.buffer, math.Float32bits(f))
			}
			e.bytes(e.buffer)
		}
		e.pad()
	}
}

// entry writes a tensor's place in the table and tells where the next one begins.
func (e *encoder) entry(t tensor, offset uint64) uint64 {
	e.string(t.name)
	e.uint32(uint32(len(t.shape)))
	for _, d := range t.shape {
		e.uint64(d)
	}
	e.uint32(0) // GGML_TYPE_F32
	e.uint64(offset)
	return offset + (t.values()*4+alignment-1)/alignment*alignment
}

func (e *encoder) pad() {
	if over := e.written % alignment; over != 0 {
		e.bytes(make([]byte, alignment-over))
	}
}

func (e *encoder) flush() error {
	if e.err == nil {
		e.err = e.w.Flush()
	}
	return e.err
}
