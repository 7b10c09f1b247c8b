package metal

import "testing"

func TestMountedVolume(t *testing.T) {
	for _, c := range []struct {
		point string
		local bool
		want  Volume
	}{
		{"/", true, Volume{Kind: VolumeInternal}},
		{"/System/Volumes/Data", true, Volume{Kind: VolumeInternal}},
		{"/Volumes/Models", true, Volume{"Models", VolumeExternal}},
		{"/Volumes/share on nas", false, Volume{"share on nas", VolumeNetwork}},
		{"/Users/me/mnt", false, Volume{"/Users/me/mnt", VolumeNetwork}},
	} {
		if got := mountedVolume(c.point, c.local); *got != c.want {
			t.Errorf("%s local %v: %+v, want %+v", c.point, c.local, *got, c.want)
		}
	}
}

func TestKernelVolume(t *testing.T) {
	for number, want := range map[uint32]VolumeKind{0xef53: VolumeInternal, 0x01021994: VolumeInternal, 0x6969: VolumeNetwork, 0xff534d42: VolumeNetwork} {
		if got := kernelVolume(number); got.Kind != want {
			t.Errorf("%#x: %s, want %s", number, got.Kind, want)
		}
	}
}
