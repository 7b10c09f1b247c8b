package api

import (
	"io"
	"log"
)

// quietLog takes net/http's lines on broken connections, which say nothing that
// a person could act on.
var quietLog = log.New(io.Discard, "", 0)
