package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/app/view"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// units are the ends of an amount of memory as people write it, in bytes. A number
// without one is MiB, as the system's own setting has it.
var units = []struct {
	suffix string
	bytes  float64
}{{"gib", 1 << 30}, {"gb", 1e9}, {"g", 1 << 30}, {"mib", 1 << 20}, {"mb", 1e6}, {"m", 1 << 20}, {"", 1 << 20}}

// limitAmount reads a limit: "26624", "24GiB", "75%" of the memory, "recommended" or
// "default", which is 0 as in the system's own setting. Parts of a MiB are cut off.
func (p *program) limitAmount(text string, u monitor.Update) (wired.MiB, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	switch word {
	case "default", "0":
		return 0, nil
	case "recommended":
		return p.recommended(u)
	}
	if number, ok := strings.CutSuffix(word, "%"); ok {
		share, err := strconv.ParseFloat(number, 64)
		ram := u.Snapshot.Machine
		if err != nil || !(share > 0 && share < 100) || ram == nil || ram.RAMBytes == nil {
			return 0, badAmount(text)
		}
		return wired.MiB(share / 100 * float64(*ram.RAMBytes) / (1 << 20)), nil
	}
	for _, unit := range units {
		number, ok := strings.CutSuffix(word, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		mib := n * unit.bytes / (1 << 20)
		if err != nil || math.IsNaN(n) || mib < 1 || mib > 1<<30 {
			break
		}
		return wired.MiB(mib), nil
	}
	return 0, badAmount(text)
}

func badAmount(text string) error {
	f := usage("cli.usage.limit", view.Args{"Value": text})
	f.hint = "plimsoll limit set --help"
	return f
}

// recommended is the limit that is recommended on a machine now.
func (p *program) recommended(u monitor.Update) (wired.MiB, error) {
	l := p.words.Render(u, p.now(u)).Limit
	i := slices.IndexFunc(l.Choices, func(c view.LimitChoice) bool { return c.Recommended })
	if i < 0 {
		p.complain(l.Nothing)
		return 0, told(exitFailed)
	}
	return wired.MiB(l.Choices[i].Bytes >> 20), nil
}
