package metal

import (
	"encoding/binary"
	"strings"
	"time"
)

// osRelease makes the name of a Linux system of the text of /etc/os-release
// (os-release(5)): NAME and VERSION_ID, "Debian GNU/Linux 12".
func osRelease(text string) string {
	var name, version string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "NAME":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	return strings.TrimSpace(name + " " + version)
}

// decodeTimeval decodes struct timeval of a 64-bit Mac: seconds (long), then
// microseconds (int). False when the bytes are too few.
func decodeTimeval(b []byte) (time.Time, bool) {
	if len(b) < 12 {
		return time.Time{}, false
	}
	seconds := int64(binary.LittleEndian.Uint64(b))
	micros := int64(int32(binary.LittleEndian.Uint32(b[8:])))
	return time.Unix(seconds, micros*1000), true
}

// decodeInteger decodes an integer of sysctl, 4 or 8 bytes wide.
func decodeInteger(b []byte) *uint64 {
	switch len(b) {
	case 4:
		return new(uint64(binary.LittleEndian.Uint32(b)))
	case 8:
		return new(binary.LittleEndian.Uint64(b))
	}
	return nil
}

// decodeString decodes a C string.
func decodeString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return strings.ToValidUTF8(s, "\uFFFD")
}
