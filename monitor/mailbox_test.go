package monitor

import (
	"strconv"
	"testing"
	"time"
)

func mailbox(lossless bool) *Mailbox {
	return &Mailbox{ready: make(chan struct{}, 1), lossless: lossless}
}

func updateAt(i int) Update {
	return Update{
		Snapshot: &Snapshot{Taken: time.Unix(int64(i), 0)},
		Events:   []Event{{Kind: EventModelLoaded, Evidence: Evidence{Model: strconv.Itoa(i)}}},
	}
}

func TestMailboxReplacesTheSnapshotAndKeepsEvents(t *testing.T) {
	m := mailbox(false)
	for i := range 3 {
		m.put(updateAt(i))
	}
	u, ok := m.Take()
	if !ok || u.Snapshot.Taken.Unix() != 2 {
		t.Fatalf("snapshot %v, want the newest", u.Snapshot)
	}
	if len(u.Events) != 3 || u.Events[0].Evidence.Model != "0" {
		t.Errorf("events %v, want all three in order", u.Events)
	}
	if _, again := m.Take(); again {
		t.Error("there was a second update")
	}
}

// Two mailboxes get the same update; what one appends must not show in the other.
func TestMailboxesShareNothing(t *testing.T) {
	a, b := mailbox(false), mailbox(false)
	shared := updateAt(1)
	shared.Events = append(make([]Event, 0, 8), shared.Events...)
	a.put(shared)
	b.put(shared)
	a.put(updateAt(2))
	b.put(updateAt(3))
	ua, _ := a.Take()
	ub, _ := b.Take()
	if ua.Events[1].Evidence.Model != "2" || ub.Events[1].Evidence.Model != "3" {
		t.Errorf("events %v and %v", ua.Events, ub.Events)
	}
}

func TestMailboxTellsWhatIsMissing(t *testing.T) {
	m := mailbox(true)
	for i := range losslessBound + 5 {
		m.put(updateAt(i))
	}
	for i := range losslessBound {
		u, ok := m.Take()
		if !ok || u.Snapshot.Taken.Unix() != int64(i) {
			t.Fatalf("update %d is %v", i, u.Snapshot)
		}
		gap := event(u, EventGap)
		if i == 0 && (gap == nil || *gap.Evidence.Count != 5) {
			t.Errorf("the gap says %+v, want 5 missing", gap)
		}
		if i > 0 && gap != nil {
			t.Errorf("update %d tells the gap again", i)
		}
	}
	events := mailbox(false)
	for i := range eventBound + 7 {
		events.put(updateAt(i))
	}
	u, _ := events.Take()
	if gap := event(u, EventGap); gap == nil || *gap.Evidence.Count != 7 || len(u.Events) != eventBound+1 {
		t.Errorf("%d events and the gap %+v, want the newest %d and 7 missing", len(u.Events), gap, eventBound)
	}
}
