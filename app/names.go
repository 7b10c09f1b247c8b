package main

import (
	"strings"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// pick finds the resident model of a name as people write it: a name without a
// tag means the tag "latest", as Ollama has it. When there is none, the failure
// says which there are.
func (p *program) pick(update monitor.Update, name string) (*monitor.Resident, error) {
	residents := update.Snapshot.Residents
	for _, wanted := range []string{name, name + ":latest"} {
		for i, r := range residents {
			if strings.EqualFold(r.Model, wanted) {
				return &residents[i], nil
			}
		}
	}
	if len(residents) == 0 {
		if err := p.serverTrouble(update); err != nil {
			return nil, err
		}
		return nil, &failure{code: exitNoModel, id: "cli.model.none_resident", args: view.Args{"Name": name}}
	}
	var names []string
	for _, r := range residents {
		names = append(names, r.Model)
	}
	args := view.Args{"Name": name, "Models": strings.Join(names, ", ")}
	if near := nearest(name, names); near != "" {
		args["Near"] = near
		return nil, &failure{code: exitNoModel, id: "cli.model.near", args: args}
	}
	return nil, &failure{code: exitNoModel, id: "cli.model.unknown", args: args}
}

// serverTrouble is why no model is known, if that is because no server runs.
func (p *program) serverTrouble(update monitor.Update) error {
	for _, b := range update.Snapshot.Backends {
		if b.State == backend.Running {
			return nil
		}
	}
	for _, s := range p.words.Render(update, p.now(update)).Servers {
		return failed("cli.model.no_server", view.Args{"Server": s.Name, "State": s.Text, "Next": s.Next})
	}
	return nil
}

// nearest is the name that differs least from a misspelt one, "" when none is
// near: at most a third of its letters differ, or one begins with the other.
func nearest(name string, names []string) string {
	best, least := "", len(name)/3+1
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if name != "" && strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)) {
			d = 0
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is Levenshtein's: insertions, deletions and changes from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
