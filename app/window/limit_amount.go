package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/monitor/api"
)

// limitUnits are the ends of an amount of memory as people write it, in bytes.
var limitUnits = []struct {
	suffix string
	bytes  float64
}{{"gib", 1 << 30}, {"gb", 1e9}, {"g", 1 << 30}, {"mib", 1 << 20}, {"mb", 1e6}, {"m", 1 << 20}}

// bareGiB is the number below which one without a unit means GiB, as memory is
// shown here; from it on it is MiB, as the system's own setting counts.
const bareGiB = 2048

// readLimit reads a limit, "25.5", "25,5 GiB" or "26000 MiB", in bytes of whole
// MiB. Whether it is safe is said elsewhere.
func readLimit(text string) (uint64, error) {
	number, unit := strings.ToLower(strings.TrimSpace(text)), 0.0
	for _, u := range limitUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.Replace(number, ",", ".", 1), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, api.Failure("bad_limit", fmt.Sprintf("%q is no amount of memory", text), err)
	}
	switch {
	case unit > 0:
	case n < bareGiB:
		unit = 1 << 30
	default:
		unit = 1 << 20
	}
	mib := n * unit / (1 << 20)
	if mib < 1 || mib > 1<<30 {
		return 0, api.Failure("bad_limit", fmt.Sprintf("%q is no limit", text), nil)
	}
	return uint64(mib) << 20, nil
}
