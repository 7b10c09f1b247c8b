package view

import "plimsoll/monitor"

// limitRow is the GPU's limit where nobody told it: what is worked out in its place is
// said to be an estimate.
func (r *Renderer) limitRow(p monitor.Plan) Row {
	row := Row{Label: r.Text("fit.row.limit"), Share: -1, Level: Normal}
	if p.Place.Estimated && p.Place.GPU != nil {
		row.Text = r.Text("fit.limit", Args{"Size": size(*p.Place.GPU)})
	}
	return row
}

// raiseRow says what another limit changes.
func (r *Renderer) raiseRow(p monitor.Plan) Row {
	row := Row{Label: r.Text("fit.row.raise"), Share: -1, Level: Normal}
	c := p.Raise
	if c == nil || p.Place.Before == nil || p.Place.GPU == nil {
		return row
	}
	if size(*p.Place.Before) == size(*p.Place.GPU) && c.BeforeContext == c.AfterContext {
		return row // it is the limit that is in force
	}
	args := Args{"From": size(*p.Place.Before), "To": size(*p.Place.GPU), "Before": r.FitVerdict(&c.Before)}
	if c.BeforeContext != c.AfterContext {
		args["OldContext"], args["NewContext"] = grouped(c.BeforeContext), grouped(c.AfterContext)
		args["OldKV"], args["NewKV"] = optional(c.BeforeKV), optional(c.AfterKV)
	}
	row.Text = r.Text("fit.raise", args)
	if c.Eaten {
		row.Level = Warning
		row.Text += between + r.Text("fit.eaten", Args{"Gain": size(c.Gain)})
	}
	return row
}
