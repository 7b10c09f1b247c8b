package gguf

import (
	"fmt"
	"io"
	"slices"
)

// WriteHeader writes a file of a header alone: keys, and tensors by their names and
// shapes, innermost dimension first, whose values are not there. A parser that
// reads no weights takes it for the whole model's. Values are string, bool, int (a
// count), []string, []int or []bool. It returns the length that the whole file would
// have: some parsers want to see it, and a hole will do.
func WriteHeader(w io.Writer, keys map[string]any, tensors map[string][]uint64) (int64, error) {
	var metadata []pair
	for _, key := range sorted(keys) {
		value := keys[key]
		switch v := value.(type) {
		case int:
			value = uint32(v)
		case []int:
			list := make([]int32, len(v))
			for i, n := range v {
				list[i] = int32(n)
			}
			value = list
		}
		metadata = append(metadata, pair{key, value})
	}
	e := newEncoder(w)
	e.header(len(tensors), metadata)
	var offset uint64
	for _, name := range sorted(tensors) {
		offset = e.entry(tensor{name: name, shape: tensors[name]}, offset)
	}
	e.pad()
	if err := e.flush(); err != nil {
		return 0, fmt.Errorf("writing a header: %w", err)
	}
	return e.written + int64(offset), nil
}

// sorted are the names in a map, so that the same header gives the same bytes.
func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
