package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// dict is the dictionary of a property list, in the order in which it is written.
type dict []pair

// pair is one entry: a string, a bool or a list of strings.
type pair struct {
	key   string
	value any
}

// plist writes the dictionary as an XML property list. A value of another type
// is a mistake of this program, so it panics.
// Source of the format: man 5 plist, and its DTD, named in the second line.
func (d dict) plist() []byte {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	out.WriteString("<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n")
	out.WriteString("<plist version=\"1.0\">\n<dict>\n")
	for _, p := range d {
		element(&out, "key", p.key)
		switch value := p.value.(type) {
		case string:
			element(&out, "string", value)
		case bool:
			fmt.Fprintf(&out, "\t<%t/>\n", value)
		case []string:
			out.WriteString("\t<array>\n")
			for _, s := range value {
				element(&out, "string", s)
			}
			out.WriteString("\t</array>\n")
		default:
			panic(fmt.Sprintf("a property list of ours has no %T", value))
		}
	}
	out.WriteString("</dict>\n</plist>\n")
	return out.Bytes()
}

func element(out *bytes.Buffer, name, text string) {
	fmt.Fprintf(out, "\t<%s>", name)
	// Writing to a buffer cannot fail.
	_ = xml.EscapeText(out, []byte(text))
	fmt.Fprintf(out, "</%s>\n", name)
}
