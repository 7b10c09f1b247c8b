// Command benchmark measures what Plimsoll itself costs.
//
//	build/bench           lists the measurements
//	build/bench idle      the agent with a tray, when nothing happens
//	build/bench hung      the agent beside a model server that stands still
//	build/bench fit       the planner's caches against those that engines logged
//	build/bench meter     answers that pass the meter, against the same ones asked directly
//	build/bench polls     what the agent's questions cost the model servers
//	build/bench agree     two benchmarks of one model on a real Ollama
//	build/bench soak      the agent of a fast demo, looked at for nine minutes
//
// Each prints its numbers beside their bounds; the status is 1 when one is over.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// measurements are what can be measured.
var measurements = []struct {
	name, what string
	run        func(context.Context) (report, error)
}{
	{"idle", "the agent with a tray, no window and no model, from second 10 to 70: processor, memory, child processes", idle},
	{"hung", "a real Ollama that is stopped and let go on, five times: how soon the agent says so, and whether it ticks meanwhile", hung},
	{"fit", "what the planner makes of real models' caches, against what engines logged, was published or follows by hand", measureFit},
	{"meter", "answers that pass the meter, in turn with the same ones asked directly: first token, throughput, cancels, memory, live rate", measureMeter},
	{"polls", "a thousand questions each to a stand-in, a real Ollama and the llama-server that PLIMSOLL_LLAMA_SERVER names: the server's own time", measurePolls},
	{"agree", "plimsoll bench on a real Ollama: two runs of one model agree, and a second client voids the figures", agree},
	{"soak", "the agent of a fast demo for nine minutes, with clients coming and going: what grows", soak},
}

func main() {
	if len(os.Args) != 2 {
		list()
		return
	}
	if os.Args[1] == standIn {
		fmt.Fprintln(os.Stderr, standInServer())
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, m := range measurements {
		if m.name != os.Args[1] {
			continue
		}
		result, err := m.run(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", m.name, err)
		} else {
			result.print(os.Stdout)
		}
		if err != nil || !result.good() {
			stop()
			os.Exit(1)
		}
		return
	}
	list()
	os.Exit(2)
}

func list() {
	for _, m := range measurements {
		fmt.Printf("build/bench %-8s %s\n", m.name, m.what)
	}
}
