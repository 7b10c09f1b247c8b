package fit

import (
	"math"
	"math/bits"
)

// times multiplies; what does not fit is the largest number, which no check of
// plausibility lets pass.
func times(factors ...uint64) uint64 {
	product := uint64(1)
	for _, f := range factors {
		over, low := bits.Mul64(product, f)
		if over != 0 {
			return math.MaxUint64
		}
		product = low
	}
	return product
}

// plus adds in the same way.
func plus(terms ...uint64) uint64 {
	var sum uint64
	for _, t := range terms {
		low, carry := bits.Add64(sum, t, 0)
		if carry != 0 {
			return math.MaxUint64
		}
		sum = low
	}
	return sum
}

// ceil divides and rounds up.
func ceil(a, b uint64) uint64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}

// whole is a number that was read as a float, if it is a count of at most most.
func whole(v float64, most uint64) (uint64, bool) {
	if !(v >= 0 && v <= float64(most)) || v != math.Trunc(v) {
		return 0, false
	}
	return uint64(v), true
}
