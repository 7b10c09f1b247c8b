//go:build !linux

package metal

import "fmt"

func systemOf(Reader) string { return "" }

func (c *Recording) systemFiles(map[string][]byte) (left int, err error) {
	return 0, fmt.Errorf("this is no machine that can be recorded: %w", ErrUnsupported)
}

func (c *Recording) openSystem(map[string][]byte) error {
	return fmt.Errorf("it was made on Linux, and can be decoded only there: %w", ErrUnsupported)
}
