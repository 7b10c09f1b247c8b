package fit

import (
	"fmt"
	"math"
)

// The types of values in a GGUF file.
const (
	ggufUint8 uint32 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufString
	ggufArray
	ggufUint64
	ggufInt64
	ggufFloat64
)

// widths are the bytes of the types with a fixed length.
var widths = map[uint32]int{
	ggufUint8: 1, ggufInt8: 1, ggufBool: 1, ggufUint16: 2, ggufInt16: 2, ggufUint32: 4, ggufInt32: 4, ggufFloat32: 4,
	ggufUint64: 8, ggufInt64: 8, ggufFloat64: 8,
}

// leftOutList stands for a list that is too long to be of layers: its length.
type leftOutList uint64

// value reads a value with its type before it.
func (h *header) value() (any, error) {
	kind, err := h.uint32()
	if err != nil {
		return nil, err
	}
	if kind == ggufArray {
		return h.array()
	}
	return h.one(kind)
}

// one reads a value of a type that is no list.
func (h *header) one(kind uint32) (any, error) {
	if kind == ggufString {
		return h.text()
	}
	width, known := widths[kind]
	if !known {
		return nil, fmt.Errorf("its type %d is not known", kind)
	}
	b, err := h.r.Peek(width)
	if err != nil {
		return nil, err
	}
	defer h.r.Discard(width) //nolint:errcheck // what was peeked at is there
	switch kind {
	case ggufUint8:
		return float64(b[0]), nil
	case ggufInt8:
		return float64(int8(b[0])), nil
	case ggufBool:
		return b[0] != 0, nil
	case ggufUint16:
		return float64(h.order.Uint16(b)), nil
	case ggufInt16:
		return float64(int16(h.order.Uint16(b))), nil
	case ggufUint32:
		return float64(h.order.Uint32(b)), nil
	case ggufInt32:
		return float64(int32(h.order.Uint32(b))), nil
	case ggufFloat32:
		return float64(math.Float32frombits(h.order.Uint32(b))), nil
	case ggufUint64:
		return float64(h.order.Uint64(b)), nil
	case ggufInt64:
		return float64(int64(h.order.Uint64(b))), nil
	}
	return math.Float64frombits(h.order.Uint64(b)), nil
}

// array reads a list. One that is too long, or of texts or lists, is passed over.
func (h *header) array() (any, error) {
	kind, err := h.uint32()
	if err != nil {
		return nil, err
	}
	n, err := h.size(mostHeader)
	if err != nil {
		return nil, err
	}
	width, fixed := widths[kind]
	switch {
	case fixed && n > mostKept:
		_, err := h.r.Discard(int(n) * width)
		return leftOutList(n), err
	case fixed:
		list := make([]any, 0, min(n, mostLayers))
		for range n {
			v, err := h.one(kind)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case kind == ggufString:
		for range n {
			length, err := h.size(mostHeader)
			if err != nil {
				return nil, err
			}
			if _, err := h.r.Discard(int(length)); err != nil {
				return nil, err
			}
		}
		return leftOutList(n), nil
	}
	return nil, fmt.Errorf("a list of type %d is not known", kind)
}
