package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"plimsoll/app/view"
	"plimsoll/metal"
)

// chipFacts prints what the table of chips knows of a name.
func (p *program) chipFacts(f *doctorFlags) error {
	var cores *int
	var ram *uint64
	if f.hasGPUCores {
		cores = &f.gpuCores
	}
	if f.hasRAM {
		ram = new(uint64(f.ramGiB) << 30)
	}
	chip, ok := metal.LookupChip(f.chip, cores, ram)
	if !ok {
		return &failure{code: exitNoChip, id: "doctor.chip.unknown", args: view.Args{"Name": f.chip}}
	}
	if f.json {
		return json.NewEncoder(p.out).Encode(chip)
	}
	var b strings.Builder
	line := func(id string, args view.Args) { fmt.Fprintln(&b, p.words.Text(id, args)) }
	line("doctor.chip.name", view.Args{"Name": chip.Name, "Generation": chip.Generation})
	if chip.Virtual {
		line("doctor.chip.virtual", nil)
	}
	if len(chip.GPUCores) > 0 {
		line("doctor.chip.gpu_cores", view.Args{"Cores": oneOf(chip.GPUCores), "Given": given(cores, chip.GPUCores)})
	}
	if len(chip.RAM) > 0 {
		var gib *int
		if f.hasRAM {
			gib = &f.ramGiB
		}
		line("doctor.chip.ram", view.Args{"Sizes": oneOf(chip.RAM), "Given": given(gib, chip.RAM)})
	}
	if chip.Bandwidth != nil {
		line("doctor.chip.bandwidth", view.Args{"Rate": strconv.FormatFloat(*chip.Bandwidth/1e9, 'f', -1, 64), "Certain": chip.Certain,
			"Rough": !chip.Certain && len(chip.GPUCores) <= 1 && len(chip.RAM) <= 1})
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// oneOf is "8, 10".
func oneOf(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}

// given is a number that was given and that the chip is not sold with, else "".
func given(n *int, known []int) string {
	if n == nil {
		return ""
	}
	for _, k := range known {
		if k == *n {
			return ""
		}
	}
	return strconv.Itoa(*n)
}
