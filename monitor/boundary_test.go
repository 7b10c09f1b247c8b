package monitor

import (
	"slices"
	"testing"

	"plimsoll/monitor/request"
)

func TestRequestsOverTheBoundaryAreMarked(t *testing.T) {
	own := &request.Boundary{Context: new(1000)}
	list := []request.Request{
		{ID: "1", Phase: request.PhaseDecode, PromptTokens: new(8192)},
		{ID: "2", Phase: request.PhasePrefill, PromptTokens: new(8193)},
		{ID: "3", Phase: request.PhaseQueued},
		{ID: "4", Phase: request.PhaseDone, PromptTokens: new(2000), Boundary: own}, // the meter's marks are its own
		{ID: "5", Phase: request.PhaseDone},
	}
	markBoundary(list)
	for i, want := range [][]request.Note{nil, {request.NoteOverContext}, {request.NoteOverQueue}, nil, nil} {
		if !slices.Equal(list[i].Notes, want) {
			t.Errorf("request %s: %v, want %v", list[i].ID, list[i].Notes, want)
		}
	}
	if list[3].Boundary != own || *list[0].Boundary.Context != 8192 || *list[0].Boundary.Queue != 2 {
		t.Errorf("boundaries %+v and %+v", list[3].Boundary, list[0].Boundary)
	}
}
