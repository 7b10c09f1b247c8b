package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/backend/serverlog"
)

// recordingDecoders are those of every source that --decode takes.
func recordingDecoders() map[string]metal.Decoder {
	all := metal.Decoders()
	all["ollama_api"] = backend.DecodeRecorded
	all["ollama_log"] = serverlog.DecodeRecorded
	all["lmstudio"] = backend.DecodeLMStudio
	all["llama_server"] = backend.DecodeLlamaServer
	return all
}

func decodeSources() []string { return slices.Sorted(maps.Keys(recordingDecoders())) }

// decodeRecording prints one recording as a JSON object. It is exit code 0 with a
// value and exitUnusable when the recording is seen to be none that can be used;
// the object's field "error" says of which kind.
func (p *program) decodeRecording(source string, args []string) error {
	decoder := recordingDecoders()[source] // the arguments were checked
	in, name := p.in, "-"
	if len(args) > 0 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return failed("doctor.decode.unreadable", view.Args{"File": args[0], "Reason": reason(err)})
		}
		defer file.Close()
		in, name = file, args[0]
	}
	data, err := io.ReadAll(io.LimitReader(in, metal.MaxRecording+1))
	if err != nil {
		return failed("doctor.decode.unreadable", view.Args{"File": name, "Reason": reason(err)})
	}
	var value any = struct{}{}
	if len(data) > metal.MaxRecording {
		err = &metal.TextError{Kind: metal.TooLarge, Tool: source}
	} else {
		value, err = decoder(data)
	}
	text, encoding := metal.MarshalDecoded(value, err)
	if encoding != nil {
		return encoding
	}
	if _, err := fmt.Fprintf(p.out, "%s\n", text); err != nil {
		return err
	}
	usable, says := errors.AsType[interface {
		error
		Usable() bool
	}](err)
	if err != nil && !(says && usable.Usable()) {
		return told(exitUnusable)
	}
	return nil
}
