package assets

import _ "embed"

// HanRegular and HanBold are OpenType fonts of the common Chinese characters
// and of all that the translations use; fonts/subset.py makes them. They hold
// no letters or digits. A program that does not draw text links neither.
var (
	//go:embed fonts/han-regular.otf
	HanRegular []byte
	//go:embed fonts/han-bold.otf
	HanBold []byte
)
