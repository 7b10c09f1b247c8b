package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// modelsCommand lists the models on disk and in memory.
func (p *program) modelsCommand() *cobra.Command {
	var asJSON bool
	cmd := p.command("models", "models", groupSee, func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		s, end, err := p.source(ctx)
		if err != nil {
			return err
		}
		defer end()
		update, err := firstAnswered(ctx, s)
		if err != nil {
			return err
		}
		installed, err := s.Models(ctx)
		if err != nil {
			return err
		}
		list := joined(installed, update.Snapshot.Residents)
		if asJSON {
			return json.NewEncoder(p.out).Encode(list)
		}
		return p.printModels(update, list)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("cli.models.json"))
	cmd.Args = takes()
	return cmd
}

// listedModel is a model on disk and, if it is in memory, how.
type listedModel struct {
	backend.Model
	Resident *monitor.Resident `json:"resident,omitempty"`
}

// joined joins what is on disk with what is in memory. A resident model that is
// not on disk (it was removed meanwhile) is listed too.
func joined(installed []backend.Model, residents []monitor.Resident) []listedModel {
	list := []listedModel{}
	at := map[string]int{}
	for _, m := range installed {
		at[m.Backend+"/"+m.Model] = len(list)
		list = append(list, listedModel{Model: m})
	}
	for _, r := range residents {
		i, ok := at[r.Backend+"/"+r.Model]
		if !ok {
			i = len(list)
			list = append(list, listedModel{Model: backend.Model{
				Backend: r.Backend, Model: r.Model, Quantization: r.Quantization, Parameters: r.Parameters,
				Family: r.Family, Capabilities: r.Capabilities, Cloud: r.Cloud,
			}})
		}
		list[i].Resident = &r
	}
	return list
}

func firstAnswered(ctx context.Context, s source) (monitor.Update, error) {
	var update monitor.Update
	err := s.Watch(ctx, monitor.Options{}, func(u monitor.Update) error {
		if !answered(s, u) {
			return nil
		}
		update = u
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return update, err
}

func (p *program) printModels(update monitor.Update, list []listedModel) error {
	v := p.words.Render(update, p.now(update))
	if len(list) == 0 {
		if err := p.serverTrouble(update); err != nil {
			return err
		}
		p.say(p.out, "cli.models.none")
		return nil
	}
	states := map[string]view.Model{}
	for _, m := range v.Models {
		states[m.Key] = m
	}
	var rows [][]string
	heading := []string{"model", "parameters", "quantization", "size", "memory", "context", "state"}
	for i, name := range heading {
		heading[i] = p.words.Text("cli.models." + name)
	}
	rows = append(rows, heading)
	for _, m := range list {
		row := []string{m.Model.Model, m.Parameters, m.Quantization, "", "", "", ""}
		if m.Cloud {
			row[6] = p.words.Text("cli.models.cloud")
		} else {
			row[3] = p.optionalSize(m.Size)
		}
		if r := m.Resident; r != nil {
			row[4], row[6] = p.optionalSize(r.Size), states[m.Backend+"/"+m.Model.Model].State
			if r.Context != nil {
				row[5] = strconv.Itoa(*r.Context)
			}
		}
		rows = append(rows, row)
	}
	page := p.page()
	if !p.terminal(p.out) {
		page.Width = 0 // a file or a program has no margin
	}
	_, err := p.out.Write([]byte(page.Table(rows)))
	return err
}

// optionalSize is "" for a size that nobody told.
func (p *program) optionalSize(bytes *uint64) string {
	if bytes == nil {
		return ""
	}
	return p.words.Size(*bytes)
}
