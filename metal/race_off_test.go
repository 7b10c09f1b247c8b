//go:build !race

package metal

const raceDetector = false
