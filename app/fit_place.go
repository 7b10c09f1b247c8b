package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// fitPlace finds the machine: the one that --machine describes, else this one as the
// agent or this process reads it. No model server is waited for.
func (p *program) fitPlace(ctx context.Context, f fitFlags) (monitor.Place, error) {
	if f.machine != "" {
		return describedPlace(f)
	}
	s, end, err := p.source(ctx)
	if err != nil {
		return monitor.Place{}, err
	}
	defer end()
	var place monitor.Place
	err = s.Watch(ctx, monitor.Options{}, func(u monitor.Update) error {
		if u.Snapshot == nil {
			return nil
		}
		place = f.under(u.Snapshot.Place())
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		return place, err
	}
	return place, nil
}

// under is a place with the limit of --limit.
func (f *fitFlags) under(place monitor.Place) monitor.Place {
	if f.limit == 0 {
		return place
	}
	return place.WithLimit(wired.MiB(f.limit).Bytes())
}

var (
	gigabytes = regexp.MustCompile(`(?i)(\d{1,5})\s*(?:GB|GiB|G)\b`)
	cores     = regexp.MustCompile(`(?i)(\d{1,3})[-\s]*((?:gpu|cpu|图形处理器|中央处理器)?)[-\s]*(?:cores?\b|核)(?:\s*(gpu|cpu|图形处理器|中央处理器))?`)
	chipName  = regexp.MustCompile(`(?i)(?:\bApple\s+)?\bM\d{1,2}(?:\s+(?:Pro|Max|Ultra))?\b`)
)

// gpuCores is how many cores of a GPU a person's words name, and the words without
// any cores: "16-core CPU, 40-core GPU" has 40. nil where none are named.
func gpuCores(words string) (*int, string) {
	var found *int
	for _, c := range cores.FindAllStringSubmatch(words, -1) {
		kind := strings.ToLower(c[2] + c[3])
		if kind == "cpu" || kind == "中央处理器" {
			continue
		}
		if n, err := strconv.Atoi(c[1]); err == nil && (found == nil || kind != "") {
			found = &n
		}
	}
	return found, cores.ReplaceAllString(words, " ")
}

// errMachine says that a person's words do not name a chip and its memory.
var errMachine = errors.New("no chip and memory")

// describedPlace is a Mac in a person's words, "M4 Pro 48GB" or "M4 Max 32-core
// 36GB". Of a chip that is not known, memory and --limit are planned with and no
// speed is told.
func describedPlace(f fitFlags) (monitor.Place, error) {
	rest := f.machine
	ram := gigabytes.FindStringSubmatch(rest)
	if ram == nil {
		return monitor.Place{}, errMachine
	}
	gib, _ := strconv.ParseUint(ram[1], 10, 32) // digits alone
	bytes := gib << 30
	cores, rest := gpuCores(strings.Replace(rest, ram[0], " ", 1))
	name := strings.Trim(strings.Join(strings.Fields(rest), " "), ",，;()（） ")
	if chip := chipName.FindString(rest); chip != "" { // "MacBook Pro, M3 Max (…)"
		name = chip
	}
	if bytes == 0 || name == "" {
		return monitor.Place{}, errMachine
	}
	place := monitor.DescribedPlace(name, bytes, nil, nil)
	if chip, known := metal.LookupChip(name, cores, &bytes); known {
		limit := metal.DefaultLimit(chip.Name, systemOf(chip.Generation), bytes)
		place = monitor.DescribedPlace(chip.Name, bytes, limit, chip.Bandwidth)
		place.Estimated, place.Certain = limit != nil, chip.Certain
	}
	return f.under(place), nil
}

// systemOf is the macOS to plan with where nobody told: the older rule gives less
// to the GPU, so what fits by it fits anyway. M5 and later chips never ran it.
func systemOf(generation string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(generation, "M")); err == nil && n >= 5 {
		return "26"
	}
	return "15"
}
