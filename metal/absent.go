package metal

import "math/bits"

// Arithmetic that keeps absence: a result is nil when one of its parts is nil or
// when it does not fit. So a field that depends on an unreadable one is absent,
// and never a sum of what was left.

// sum adds all parts.
func sum(parts ...*uint64) *uint64 {
	var total uint64
	for _, p := range parts {
		if p == nil {
			return nil
		}
		t, carry := bits.Add64(total, *p, 0)
		if carry != 0 {
			return nil
		}
		total = t
	}
	return &total
}

// less is a − b. The counters of one reading are not taken in one instant, so b
// may pass a by a little; the result is absent then, not a made-up zero.
func less(a, b *uint64) *uint64 {
	if a == nil || b == nil || *b > *a {
		return nil
	}
	return new(*a - *b)
}

// times is n × unit, for counts of pages or kilobytes.
func times(n *uint64, unit uint64) *uint64 {
	if n == nil {
		return nil
	}
	high, low := bits.Mul64(*n, unit)
	if high != 0 {
		return nil
	}
	return &low
}
