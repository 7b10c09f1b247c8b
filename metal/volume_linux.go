package metal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Volume says where a file lies.
func (*linux) Volume(path string) (*Volume, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return nil, fmt.Errorf("asking where %s lies: %w", path, err)
	}
	return kernelVolume(uint32(fs.Type)), nil
}
