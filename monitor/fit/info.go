package fit

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// limits of a reply: what is longer or deeper is no description of a model.
const mostReply = 64 << 20

// decode reads an object of JSON.
func decode(data []byte) (map[string]any, error) {
	if len(data) > mostReply {
		return nil, fmt.Errorf("it is longer than %d MiB", mostReply>>20)
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, fmt.Errorf("it is null")
	}
	return object, nil
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
