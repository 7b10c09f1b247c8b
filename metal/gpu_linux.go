package metal

import (
	"fmt"
	"os"
	"time"
)

// linuxGPU finds the GPU once and reads it again and again. A machine without one
// is looked at only now and then.
type linuxGPU struct {
	sys     string // "/sys"
	library string // NVIDIA's
	now     func() time.Time

	nvidia *nvml
	card   *drmCard
	looked time.Time
}

// gpuAgain is the time between two looks for a GPU: drivers are loaded late and
// cards plugged in, and a look costs some files.
const gpuAgain = time.Minute

// GPU reads NVIDIA's library where its driver is loaded, else what the kernel
// tells of the card with the most memory.
func (l *linux) GPU() (*GPU, error) {
	g, err := l.gpu.read()
	if err != nil {
		return nil, fmt.Errorf("reading the GPU: %w", err)
	}
	return g, nil
}

func (l *linuxGPU) read() (*GPU, error) {
	if l.nvidia == nil && l.card == nil {
		now := l.now()
		if age := now.Sub(l.looked); !l.looked.IsZero() && age >= 0 && age < gpuAgain {
			return nil, errNoGPU
		}
		l.looked = now
		l.find()
	}
	var g *GPU
	err := errNoGPU
	switch {
	case l.nvidia != nil:
		if g, err = l.nvidia.read(); err != nil {
			l.nvidia, l.looked = nil, l.now() // the driver was unloaded, or the card is lost
		}
	case l.card != nil:
		if g = l.card.read(); g == nil {
			l.card, l.looked, err = nil, l.now(), errNoGPU
		}
	}
	if g == nil {
		return nil, err
	}
	return g, nil
}

var errNoGPU = fmt.Errorf("no driver of a GPU tells anything: %w", ErrUnsupported)

func (l *linuxGPU) find() {
	if l.nvidiaDriver() {
		if n, err := openNVML(l.library); err == nil {
			l.nvidia = n
			return
		}
	}
	l.card = findCard(l.sys)
}

// nvidiaDriver tells whether NVIDIA's driver is there, without loading its library:
// the kernel module, or Windows' GPU below WSL.
func (l *linuxGPU) nvidiaDriver() bool {
	for _, path := range []string{l.sys + "/module/nvidia", l.sys + "/class/misc/dxg"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
