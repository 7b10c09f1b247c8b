//go:build !headless && !race

package tray

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
)

// BenchmarkUpdate is what an update costs the whole program: processor time of
// a process with a tray on a bus, of which the menu is the only work.
func BenchmarkUpdate(b *testing.B) {
	for _, kind := range []struct {
		name   string
		change func(v *view.View, n int)
	}{
		{"nothing changed", func(*view.View, int) {}},
		{"one row changed", func(v *view.View, n int) { v.Memory.Text = fmt.Sprint(n) }},
		{"three rows changed", func(v *view.View, n int) {
			v.Memory.Text, v.Swap.Text, v.Models[0].Text = fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n)
		}},
		{"icon changed", func(v *view.View, n int) { v.Badge = strconv.Itoa(n % 30) }},
	} {
		for _, reading := range []bool{false, true} {
			name := kind.name
			if reading {
				name += ", read by a panel"
			}
			b.Run(name, func(b *testing.B) {
				h := traytest.New(b)
				p := run(b, h, "bench")
				v := models("qwen3:14b", "llama3.2:3b")
				v.Memory = view.Row{Label: "Memory", Text: "20 of 32 GiB"}
				v.Swap = view.Row{Label: "Swap", Text: "none"}
				p.show(v)
				item := p.item("bench")
				h.Wait(b, "the models", func() bool { return item.Has("llama3.2:3b", "Pin") })
				if err := item.Open(); err != nil { // else numbers wait
					b.Fatal(err)
				}
				before := processorTime(b, p.cmd.Process.Pid)
				for n := range b.N {
					kind.change(&v, n)
					p.show(v)
					p.expect("shown")
					if reading { // libdbusmenu reads the menu after each LayoutUpdated
						item.Read()
					}
				}
				used := processorTime(b, p.cmd.Process.Pid) - before
				b.ReportMetric(used*1e6/float64(b.N), "cpu-µs/update")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// processorTime is what a process has used, in seconds; one tick is 10 ms.
func processorTime(b *testing.B, pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}
