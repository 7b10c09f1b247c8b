package fit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds of a GGUF header: beyond every model's, and small enough that a made-up
// file costs neither memory nor time.
const (
	mostHeader = 128 << 20 // bytes of header that are read
	mostPairs  = 1 << 16   // keys
	mostText   = 1 << 20   // bytes of a text that is kept
	mostKept   = 1 << 14   // values of a list that is kept; a token list is not
	mostSides  = 8         // dimensions of a tensor
)

// ReadGGUF makes a Model of a GGUF file's header: its keys and the sizes of its
// tensors. It reads no weights. (github.com/ggml-org/ggml/blob/master/docs/gguf.md,
// versions 1 to 3, either byte order.)
func ReadGGUF(r io.Reader) (Model, error) {
	h := &header{r: bufio.NewReaderSize(io.LimitReader(r, mostHeader), 1<<16), order: binary.LittleEndian}
	i, tensors, err := h.read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Model{}, fmt.Errorf("reading a GGUF header: %w", err)
	}
	m := i.model()
	m.Format = "gguf"
	if n := h.tokens; m.Vocabulary == 0 {
		m.Vocabulary = n
	}
	if parts, _ := i.number("split.count", mostLayers); parts > 1 {
		tensors = nil // the rest is in other files
	}
	m.finish(i, tensors)
	return m, nil
}

// header reads one header.
type header struct {
	r       *bufio.Reader
	order   binary.ByteOrder
	version uint32
	tokens  int // length of the token list, which is not kept
}

var (
	errNotGGUF = errors.New("this is no GGUF file")
	errBeyond  = errors.New("a number in it is beyond every model's")
)

func (h *header) read() (info, []tensor, error) {
	magic := make([]byte, 8)
	if _, err := io.ReadFull(h.r, magic); err != nil {
		return info{}, nil, err
	}
	if string(magic[:4]) != "GGUF" {
		return info{}, nil, errNotGGUF
	}
	h.version = h.order.Uint32(magic[4:])
	if h.version > math.MaxUint16 {
		h.order = binary.BigEndian
		h.version = h.order.Uint32(magic[4:])
	}
	if h.version < 1 || h.version > 3 {
		return info{}, nil, fmt.Errorf("its version %d is not known", h.version)
	}
	tensors, err := h.size(mostTensors)
	if err != nil {
		return info{}, nil, err
	}
	pairs, err := h.size(mostPairs)
	if err != nil {
		return info{}, nil, err
	}
	keys := map[string]any{}
	for range pairs {
		key, err := h.text()
		if err != nil {
			return info{}, nil, err
		}
		value, err := h.value()
		if err != nil {
			return info{}, nil, fmt.Errorf("key %.100q: %w", key, err)
		}
		if n, isLeftOut := value.(leftOutList); isLeftOut {
			if key == "tokenizer.ggml.tokens" {
				h.tokens = int(n)
			}
			continue
		}
		keys[key] = value
	}
	list := make([]tensor, 0, min(tensors, 1<<12))
	for range tensors {
		t, err := h.tensor()
		if err != nil {
			return info{}, nil, err
		}
		list = append(list, t)
	}
	return newInfo(keys), list, nil
}

// tensor reads what stands of one tensor in the header.
func (h *header) tensor() (tensor, error) {
	t := tensor{values: 1}
	var err error
	if t.name, err = h.text(); err != nil {
		return t, err
	}
	sides, err := h.uint32()
	if err != nil {
		return t, err
	}
	if sides > mostSides {
		return t, errBeyond
	}
	for range sides {
		n, err := h.size(mostContext)
		if err != nil {
			return t, err
		}
		t.values, t.rows = times(t.values, n), n
	}
	kind, err := h.uint32()
	if err != nil {
		return t, err
	}
	t.kind = tensorNumbers[kind]
	_, err = h.uint64() // where it begins
	return t, err
}

func (h *header) uint32() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(h.r, b[:])
	return h.order.Uint32(b[:]), err
}

func (h *header) uint64() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(h.r, b[:])
	return h.order.Uint64(b[:]), err
}

// size reads a count, which version 1 has in four bytes.
func (h *header) size(most uint64) (uint64, error) {
	var n uint64
	var err error
	if h.version == 1 {
		var short uint32
		short, err = h.uint32()
		n = uint64(short)
	} else {
		n, err = h.uint64()
	}
	if err == nil && n > most {
		err = errBeyond
	}
	return n, err
}

// text reads a text; a longer one than mostText is skipped and "".
func (h *header) text() (string, error) {
	n, err := h.size(mostHeader)
	if err != nil {
		return "", err
	}
	if n > mostText {
		_, err := h.r.Discard(int(n))
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(h.r, b)
	return string(b), err
}
