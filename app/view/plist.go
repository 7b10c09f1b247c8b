package view

import (
	"encoding/binary"
	"unicode/utf16"
)

// firstOf returns the first text of the list under a key of the dictionary that
// a binary property list holds, "" when there is none or the file is damaged.
// The format is described in Apple's CFBinaryPList.c ("bplist00").
func firstOf(data []byte, key string) string {
	p, ok := openPlist(data)
	if !ok {
		return ""
	}
	return p.text(p.first(p.value(p.root, key)))
}

// plist is an opened property list. Objects are known by their number; −1 is
// none, and every read of what is not there gives nothing.
type plist struct {
	data            []byte
	offsets         []byte
	root            int
	offsetW, referW int
}

func openPlist(data []byte) (*plist, bool) {
	const header, trailer = 8, 32
	if len(data) < header+trailer || string(data[:header]) != "bplist00" {
		return nil, false
	}
	t := data[len(data)-trailer:]
	p := &plist{data: data[:len(data)-trailer], offsetW: int(t[6]), referW: int(t[7])}
	count, root, table := number(t[8:16]), number(t[16:24]), number(t[24:32])
	if p.offsetW == 0 || p.referW == 0 || count > uint64(len(p.data)) || root >= count || table > uint64(len(p.data)) {
		return nil, false
	}
	p.offsets, p.root = p.data[table:], int(root)
	return p, true
}

// number is a big-endian number of at most eight bytes.
func number(b []byte) uint64 {
	var wide [8]byte
	if len(b) > len(wide) {
		return 0
	}
	copy(wide[len(wide)-len(b):], b)
	return binary.BigEndian.Uint64(wide[:])
}

// object returns kind, count and content of an object.
func (p *plist) object(n int) (kind byte, count int, content []byte) {
	if n < 0 || (n+1)*p.offsetW > len(p.offsets) {
		return 0, 0, nil
	}
	at := number(p.offsets[n*p.offsetW : (n+1)*p.offsetW])
	if at >= uint64(len(p.data)) {
		return 0, 0, nil
	}
	b := p.data[at:]
	kind, count, b = b[0]>>4, int(b[0]&15), b[1:]
	if count == 15 && len(b) > 0 { // a longer count follows as an integer object
		width := 1 << (b[0] & 3)
		if len(b) < 1+width {
			return 0, 0, nil
		}
		long := number(b[1 : 1+width])
		if long > uint64(len(p.data)) {
			return 0, 0, nil
		}
		count, b = int(long), b[1+width:]
	}
	return kind, count, b
}

// refer is the n-th object number in a content, −1 when there is none.
func (p *plist) refer(content []byte, n int) int {
	if (n+1)*p.referW > len(content) {
		return -1
	}
	refer := number(content[n*p.referW : (n+1)*p.referW])
	if refer > uint64(len(p.data)) {
		return -1
	}
	return int(refer)
}

// value is what a dictionary holds under a key.
func (p *plist) value(dictionary int, key string) int {
	kind, count, content := p.object(dictionary)
	if kind != 0xD {
		return -1
	}
	for i := range count {
		if refer := p.refer(content, i); refer >= 0 && p.text(refer) == key {
			return p.refer(content, count+i)
		}
	}
	return -1
}

// first is the first object of a list.
func (p *plist) first(list int) int {
	kind, count, content := p.object(list)
	if kind != 0xA || count == 0 {
		return -1
	}
	return p.refer(content, 0)
}

// text is a string object, "" for any other.
func (p *plist) text(n int) string {
	kind, count, content := p.object(n)
	switch {
	case kind == 0x5 && count <= len(content): // ASCII
		return string(content[:count])
	case kind == 0x6 && 2*count <= len(content): // UTF-16
		units := make([]uint16, count)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(content[2*i:])
		}
		return string(utf16.Decode(units))
	}
	return ""
}
