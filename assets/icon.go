package assets

import _ "embed"

// Icon is the program's icon, a PNG of 1024 pixels, drawn by build/icons.
//
//go:embed icon.png
var Icon []byte
