package main

import (
	"bytes"
	"testing"
)

// Amounts as other tools write them, with a point or an exponent, are whole
// numbers; what is none is refused where it stands.
func TestNumbersThatAreWhole(t *testing.T) {
	for line, want := range map[string]uint64{
		`{"swap":{"used_bytes":40e9}}`:                                     40e9,
		`{"swap":{"used_bytes":40.9E+9}}`:                                  40900000000,
		`{"swap":{"used_bytes":40000000000.0}}`:                            40e9,
		`{"snapshot":{"swap":{"used_bytes":1.8446744073709551615e19}}}`:    18446744073709551615,
		`{"swap":{"used_bytes":0.0},"backends":[{"name":"1.5e3 \" 2.0"}]}`: 0,
	} {
		u, unknown, bad := parseLine([]byte(line), false)
		if bad != nil || unknown != "" {
			t.Errorf("%s: %+v, unknown %q", line, bad, unknown)
			continue
		}
		if s := u.Snapshot; *s.Swap.Used != want || len(s.Backends) > 0 && s.Backends[0].Name != `1.5e3 " 2.0` {
			t.Errorf("%s: used %d, want %d, and texts as they are: %v", line, *s.Swap.Used, want, s.Backends)
		}
	}
	for line, column := range map[string]int{
		`{"swap":{"used_bytes":1.5}}`:                     25,
		`{"swap":{"used_bytes":1e300}}`:                   27,
		`{"swap":{"used_bytes":-1e3}}`:                    26,
		`{"swap":{"total_bytes":1e3,"used_bytes":"1e3"}}`: 46,
	} {
		if _, _, bad := parseLine([]byte(line), false); bad == nil || bad.id != "cli.replay.bad_line" || bad.column != column {
			t.Errorf("%s: %+v, want a mistake at column %d", line, bad, column)
		}
	}
	if line := []byte(`{"a":"1e3","b":12,"c":-0.5,"d":[true,null]}`); !bytes.Equal(wholeNumbers(line), line) {
		t.Errorf("%s became %s", line, wholeNumbers(line))
	}
}
