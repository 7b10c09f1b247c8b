package backend

import (
	"encoding/json"
	"strings"
)

// fromJSON5 makes JSON of what documentation prints instead: keys without quotes,
// texts in single quotes, comments, commas before a closing bracket. False when a
// text or a comment does not end. What else JSON5 has (numbers in other forms) is
// left for the decoder to refuse.
func fromJSON5(text string) (string, bool) {
	var out strings.Builder
	comma := false // one that is not written yet
	put := func(s string) {
		if comma {
			if s != "}" && s != "]" {
				out.WriteByte(',')
			}
			comma = false
		}
		out.WriteString(s)
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case strings.HasPrefix(text[i:], "//"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				end = len(text) - i
			}
			i += end
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return "", false
			}
			i += end + 4
		case c == '"' || c == '\'':
			n := endOfText(text[i:])
			if n < 0 {
				return "", false
			}
			put(inDoubleQuotes(text[i : i+n]))
			i += n
		case c == ',':
			if comma {
				return "", false
			}
			comma = true
			i++
		case letter(c):
			n := 1
			for i+n < len(text) && (letter(text[i+n]) || text[i+n] >= '0' && text[i+n] <= '9') {
				n++
			}
			word := text[i : i+n]
			if rest := strings.TrimLeft(text[i+n:], " \t\r\n"); strings.HasPrefix(rest, ":") {
				word = `"` + word + `"`
			}
			put(word)
			i += n
		default:
			n := 1
			if c == '-' || c >= '0' && c <= '9' { // a number, whose e is no key
				for i+n < len(text) && strings.IndexByte("0123456789+-.eE", text[i+n]) >= 0 {
					n++
				}
			}
			put(text[i : i+n])
			i += n
		}
	}
	return out.String(), !comma
}

func letter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// endOfText is the length of the quoted text at the start of s, −1 without an end.
func endOfText(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return -1
}

// inDoubleQuotes quotes a text as JSON does. Escapes stay; \' is none of JSON's.
func inDoubleQuotes(s string) string {
	if s[0] == '"' {
		return s
	}
	inner := s[1 : len(s)-1]
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\' && i+1 < len(inner):
			i++
			if inner[i] != '\'' {
				out.WriteByte('\\')
			}
			out.WriteByte(inner[i])
		case c == '"':
			out.WriteString(`\"`)
		case c < ' ':
			control, _ := json.Marshal(string(c))
			out.Write(control[1 : len(control)-1])
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
