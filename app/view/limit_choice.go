package view

import (
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// limitMachine is what the arithmetic of package wired needs of a snapshot.
func limitMachine(s *monitor.Snapshot) wired.Machine {
	m := wired.Machine{NonModel: monitor.NonModelUse(s)}
	switch {
	case s.Machine != nil && s.Machine.RAMBytes != nil:
		m.RAM = *s.Machine.RAMBytes
	case s.Memory != nil && s.Memory.Total != nil:
		m.RAM = *s.Memory.Total
	}
	if l := s.Limit; l != nil {
		if l.Default != nil {
			m.Default = *l.Default
		}
		if l.Effective != nil {
			m.Now = *l.Effective
		} else {
			m.Now = l.Set
		}
	}
	return m
}

// limitChoices are the default and the steps that are worth setting here, and why
// none of them is recommended.
func (sc *scene) limitChoices(l *monitor.Limit) ([]LimitChoice, string) {
	m := limitMachine(sc.s)
	advice := wired.Advise(m)
	id := "wired.choice.default"
	if l.Set > 0 {
		id = "wired.choice.back"
	}
	choices := []LimitChoice{{
		Label:  sc.Text(id, Args{"Size": sc.byDefault(l)}),
		Chosen: l.Set == 0,
		Action: Action{Command: monitor.Command{Kind: monitor.CommandResetLimit}, Enabled: l.Set > 0},
	}}
	for _, step := range advice.Steps {
		recommended := advice.Recommended != nil && *advice.Recommended == step.Limit
		choices = append(choices, sc.limitChoice(l, step, recommended, m.NonModel))
	}
	for i := range choices {
		choices[i].Action.Label = choices[i].Label
	}
	nothing := ""
	if advice.Why != "" {
		nothing = sc.Text("wired.nothing." + advice.Why)
	}
	return choices, nothing
}

func (sc *scene) limitChoice(l *monitor.Limit, step wired.Step, recommended bool, use *uint64) LimitChoice {
	bytes := step.Limit.Bytes()
	c := LimitChoice{
		Bytes: bytes, Label: size(bytes), Detail: sc.Text("wired.choice.keeps", Args{"Size": size(step.Keeps)}),
		Recommended: recommended, Chosen: l.Set == bytes, Forbidden: step.Short > 0 && step.Gain() > 0,
	}
	if recommended {
		c.Label = sc.Text("wired.choice.recommended", Args{"Size": size(bytes)})
	}
	if c.Forbidden {
		c.Short = sc.Text("wired.choice.short", Args{"Size": optional(use)})
		c.Detail = line(c.Detail, c.Short)
	} else if step.ContextAfter != step.ContextBefore && sc.ollama() {
		c.Detail = line(c.Detail, sc.Text("wired.choice.context", Args{"Tokens": tokens(step.ContextAfter)}))
	}
	c.Action = Action{Command: monitor.Command{Kind: monitor.CommandSetLimit, Bytes: &bytes}, Enabled: !c.Chosen && !c.Forbidden}
	return c
}
