package wired

import (
	"strconv"
	"strings"
	"time"
)

// Protocol is the version of the protocol. The request "version" and the fields
// protocol and version of its answer stay the same in all versions.
//
// A connection carries one request, a line of at most 64 bytes, and one answer,
// a line of JSON:
//
//	set N lease SECONDS   N in MiB, SECONDS from 30 to 600
//	set N                 the same where the limit is lowered
//	confirm               what is on trial
//	confirm N             the same where that is N, and nothing else
//	reset
//	version
const Protocol = 1

const (
	requestMost = 64      // bytes, the end of the line included
	answerMost  = 4 << 10 // bytes, likewise
	limitDigits = 8       // of N: up to 95 TiB
	leaseDigits = 6
)

// answer is the helper's answer. Code is "" when it did what was asked.
type answer struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version,omitzero"`
	Code     string `json:"code,omitzero"`
	Text     string `json:"text,omitzero"`
}

// request is one request as it was parsed.
type request struct {
	verb  string        // "set", "confirm", "reset" or "version"
	limit MiB           // of set; of confirm the one that is meant, 0 for any
	lease time.Duration // 0: none was named
}

// parse reads a line without its end. There is one way to write each request:
// one space between words, numbers in decimal without sign or leading zeros.
func parse(line string) (request, bool) {
	words := strings.Split(line, " ")
	r := request{verb: words[0]}
	switch {
	case len(words) == 1:
		return r, r.verb == "confirm" || r.verb == "reset" || r.verb == "version"
	case r.verb == "confirm" && len(words) == 2 && words[1] != "0":
	case r.verb != "set" || len(words) != 2 && (len(words) != 4 || words[2] != "lease"):
		return request{}, false
	}
	limit, ok := number(words[1], limitDigits)
	if !ok {
		return request{}, false
	}
	r.limit = MiB(limit)
	if len(words) == 4 {
		seconds, ok := number(words[3], leaseDigits)
		if !ok {
			return request{}, false
		}
		r.lease = time.Duration(seconds) * time.Second
	}
	return r, true
}

// number reads decimal digits, at most so many.
func number(s string, digits int) (uint64, bool) {
	if len(s) == 0 || len(s) > digits || s[0] == '0' && len(s) > 1 || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}
