package objc

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// Library is a loaded C library. It is never unloaded.
type Library struct {
	path   string
	handle uintptr
}

// Load loads a library by its path.
func Load(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	return &Library{path: path, handle: handle}, nil
}

// Symbol is the address of a function or of data.
func (l *Library) Symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("finding %s in %s: %w", name, l.path, err)
	}
	return address, nil
}

// Func makes the Go function variable that f points to call a C function. The
// symbol is looked up first, so that a missing one is an error and no panic.
func (l *Library) Func(f any, name string) error {
	address, err := l.Symbol(name)
	if err != nil {
		return err
	}
	purego.RegisterFunc(f, address)
	return nil
}
