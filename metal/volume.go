package metal

import "strings"

// Volume is the volume that a file lies on.
type Volume struct {
	// Name is its name as people see it, "Models". Absent where the system does
	// not tell where it is mounted.
	Name string     `json:"name,omitzero"`
	Kind VolumeKind `json:"kind"`
}

// VolumeKind is what a volume costs to read from.
type VolumeKind string

const (
	VolumeInternal VolumeKind = "internal"
	VolumeExternal VolumeKind = "external"
	VolumeNetwork  VolumeKind = "network"
)

// Volumes is a Reader that can tell where a file lies. It fails when there is no
// such file or it may not be seen. One call is one system call.
type Volumes interface {
	Volume(path string) (*Volume, error)
}

// mountedVolume says what a mounted file system of macOS is. All that is attached
// later is mounted below /Volumes; the system's own volumes are not.
func mountedVolume(point string, local bool) *Volume {
	name, attached := strings.CutPrefix(point, "/Volumes/")
	switch {
	case !local:
		return &Volume{Name: name, Kind: VolumeNetwork}
	case attached:
		return &Volume{Name: name, Kind: VolumeExternal}
	}
	return &Volume{Kind: VolumeInternal}
}

// networkSystems are the kinds of file system that read over a network, by the
// numbers that Linux has for them (include/uapi/linux/magic.h; that of CIFS and
// SMB2 in fs/smb/client/cifsglob.h and fs/smb/common/smb2pdu.h).
var networkSystems = map[uint32]bool{
	0x6969: true, 0x517b: true, 0xff534d42: true, 0xfe534d42: true, 0x01021997: true, 0x00c36400: true, 0x5346414f: true,
}

// kernelVolume says what a file system of Linux is, by its number. It does not
// tell an external disk from an internal one.
func kernelVolume(number uint32) *Volume {
	if networkSystems[number] {
		return &Volume{Kind: VolumeNetwork}
	}
	return &Volume{Kind: VolumeInternal}
}
