package term

import "plimsoll/app/view"

// limit is the row of the GPU's limit, empty where there is none to adjust.
func limit(v view.View) view.Row {
	if v.Limit == nil {
		return view.Row{}
	}
	return v.Limit.Row
}
