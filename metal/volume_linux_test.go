package metal

import (
	"path/filepath"
	"testing"
)

func TestVolumeOfAFile(t *testing.T) {
	reader, err := NewAt(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := reader.(Volumes).Volume(t.TempDir()); err != nil || v.Kind == "" {
		t.Errorf("a folder here: %+v, %v", v, err)
	}
	if v, err := reader.(Volumes).Volume(filepath.Join(t.TempDir(), "no")); err == nil {
		t.Errorf("no such file: %+v, want an error", v)
	}
}
