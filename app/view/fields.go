package view

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

// Field is one value of a Snapshot, for people and programs that read its JSON.
type Field struct {
	// Name is the JSON name with its sections, "residents[].size_bytes"; "*"
	// stands for any section.
	Name string
	// Unit is the unit in the Renderer's language.
	Unit string
	// Meaning says what it is, where it comes from and when it is absent.
	Meaning string
}

// Fields are all values that a Snapshot can have, in its order.
func (r *Renderer) Fields() []Field {
	var fields []Field
	walk(reflect.TypeFor[monitor.Snapshot](), "", func(name string, leaf reflect.StructField) {
		fields = append(fields, Field{Name: name, Unit: r.Text("field.unit." + unit(name, leaf.Type)), Meaning: r.Text(fieldID(name))})
	})
	return fields
}

// fieldID is the message on a field: its name without the marks of lists.
func fieldID(name string) string {
	return "field." + strings.NewReplacer("[]", "", ".*", "").Replace(name)
}

// wholes are the structs that count as one value: a number with its source and
// age is explained once, and so are the numbers of an alert, which stand in a
// diagnosis too.
var wholes = []reflect.Type{
	reflect.TypeFor[time.Time](), reflect.TypeFor[request.Number](), reflect.TypeFor[monitor.Evidence](), reflect.TypeFor[monitor.Command](),
	reflect.TypeFor[fit.Expected](), reflect.TypeFor[fit.Learned](),
}

// walk visits every leaf of a struct under its JSON name.
func walk(t reflect.Type, prefix string, visit func(name string, leaf reflect.StructField)) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			walk(f.Type, prefix, visit)
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		name, inner := prefix+tag, f.Type
	unwrap:
		for {
			switch inner.Kind() {
			case reflect.Pointer:
				inner = inner.Elem()
			case reflect.Slice:
				name, inner = name+"[]", inner.Elem()
			case reflect.Map:
				name, inner = name+".*", inner.Elem()
			default:
				break unwrap
			}
		}
		if inner.Kind() == reflect.Struct && !slices.Contains(wholes, inner) {
			walk(inner, name+".", visit)
			continue
		}
		visit(name, f)
	}
}

// units are told by the end of a name. The longer end stands first.
var units = []struct{ suffix, unit string }{
	{"bytes_per_second", "bytes_per_second"},
	{"tokens_per_second", "tokens_per_second"},
	{"bytes", "bytes"},
	{"celsius", "celsius"},
	{"seconds", "seconds"},
	{"mhz", "mhz"},
	{"watts", "watts"},
	{"ratio", "ratio"},
	{"tokens", "tokens"},
}

// unit is the message part of a field's unit: by its name, else by its type.
func unit(name string, t reflect.Type) string {
	for _, u := range units {
		if strings.HasSuffix(name, "_"+u.suffix) || strings.HasSuffix(name, "."+u.suffix) {
			return u.unit
		}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[monitor.Evidence](), t == reflect.TypeFor[monitor.Command](),
		t == reflect.TypeFor[fit.Expected](), t == reflect.TypeFor[fit.Learned]():
		return "object"
	case t.Kind() == reflect.Bool:
		return "truth"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "count"
}

// Example is one complete line of Updates, as replay reads it.
func Example() string {
	line, err := json.Marshal(example())
	if err != nil {
		panic(err) // a literal of plain values, which a test marshals
	}
	return string(line)
}
