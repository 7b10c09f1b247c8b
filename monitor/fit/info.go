package fit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// info is what a file or a server tells of a model's build: GGUF's keys and
// values. Values are string, bool, float64 or []any of them; a list that the
// server left out is nil.
type info struct {
	architecture string
	keys         map[string]any
}

// find looks a key up without its architecture: "block_count". A source that goes
// without the architecture in its keys is understood too. A key with no value is found.
func (i info) find(name string) (any, bool) {
	if v, ok := i.keys[i.architecture+"."+name]; ok {
		return v, true
	}
	v, ok := i.keys[name]
	return v, ok
}

// number is a count of at most most. A value of another kind is absent.
func (i info) number(name string, most uint64) (int, bool) {
	v, _ := i.find(name)
	f, ok := v.(float64)
	if !ok {
		return 0, false
	}
	n, ok := whole(f, most)
	return int(n), ok
}

// list is a value for each layer: numbers, or truths as 1 and 0.
func (i info) list(name string, most uint64) ([]int, bool) {
	v, _ := i.find(name)
	all, ok := v.([]any)
	if !ok || len(all) == 0 {
		return nil, false
	}
	numbers := make([]int, len(all))
	for at, v := range all {
		switch v := v.(type) {
		case bool:
			if v {
				numbers[at] = 1
			}
		case float64:
			n, ok := whole(v, most)
			if !ok {
				return nil, false
			}
			numbers[at] = int(n)
		default:
			return nil, false
		}
	}
	return numbers, true
}

// words is a list of words.
func (i info) words(name string) []string {
	v, _ := i.find(name)
	all, _ := v.([]any)
	list := make([]string, 0, len(all))
	for _, v := range all {
		word, ok := v.(string)
		if !ok {
			return nil
		}
		list = append(list, word)
	}
	return list
}

// text is a word.
func (i info) text(name string) string {
	v, _ := i.find(name)
	s, _ := v.(string)
	return s
}

// leftOut tells whether a key is there with its value missing, as servers before
// v0.6.7 left out every list with more than five values.
func (i info) leftOut(name string) bool {
	v, ok := i.find(name)
	list, isList := v.([]any)
	return ok && (v == nil || isList && len(list) == 0)
}

// unreadable tells whether a key has a value that is neither a count of at most most
// nor a list of such: a text, a negative number, more than any model has.
func (i info) unreadable(name string, most uint64) bool {
	v, _ := i.find(name)
	if v == nil || i.leftOut(name) {
		return false
	}
	_, number := i.number(name, most)
	_, list := i.list(name, most)
	return !number && !list
}

// limits of a reply: what is longer or deeper is no description of a model.
const mostReply = 64 << 20

// decode reads an object of JSON. Python's writer puts NaN and Infinity into it, which
// published configurations have ("time_step_limit": [0.0, Infinity] in Nemotron-H and
// Mamba 2): they are read as no value. A number beyond a float64 is an infinite one,
// which no count lets pass.
func decode(data []byte) (map[string]any, error) {
	if len(data) > mostReply {
		return nil, fmt.Errorf("it is longer than %d MiB", mostReply>>20)
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(withoutNaN(data)))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, fmt.Errorf("it is null")
	}
	floats(object)
	return object, nil
}

// floats makes float64 of the numbers in a value.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // infinite where it does not fit
		return f
	case map[string]any:
		for key, one := range v {
			v[key] = floats(one)
		}
	case []any:
		for at, one := range v {
			v[at] = floats(one)
		}
	}
	return v
}

// notNumbers are the words that Python's writer of JSON has for what is no number.
var notNumbers = []string{"-Infinity", "Infinity", "NaN"}

// withoutNaN puts null in place of notNumbers outside of texts.
func withoutNaN(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data))
	inText := false
next:
	for at := 0; at < len(data); at++ {
		switch c := data[at]; {
		case inText && c == '\\' && at+1 < len(data):
			out = append(out, c)
			at++
		case c == '"':
			inText = !inText
		case !inText:
			for _, word := range notNumbers {
				if bytes.HasPrefix(data[at:], []byte(word)) {
					out = append(out, "null"...)
					at += len(word) - 1
					continue next
				}
			}
		}
		out = append(out, data[at])
	}
	return out
}

// object is a member that is an object, nil otherwise.
func object(of map[string]any, name string) map[string]any {
	o, _ := of[name].(map[string]any)
	return o
}

// newInfo makes an info of model_info: the architecture is told by
// general.architecture, or else by what all keys begin with.
func newInfo(keys map[string]any) info {
	architecture, _ := keys["general.architecture"].(string)
	if architecture == "" {
		for key := range keys {
			if before, found := strings.CutSuffix(key, ".block_count"); found && !strings.Contains(before, ".") {
				architecture = before
			}
		}
	}
	return info{architecture, keys}
}
