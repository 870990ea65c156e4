package cpu

import "math/bits"

// A reduction keeps Lanes partial values: element e goes to partial e / Neighbours % Lanes.
const (
	Lanes      = 32
	Neighbours = 4
)

// AllLanes returns partial values that all start at v.
func AllLanes(v float32) (p [Lanes]float32) {
	for l := range p {
		p[l] = v
	}
	return p
}

// SumLanes adds the partial sums of n elements by a xor butterfly with distances 16, 8, 4, 2,
// 1. Lane 0 is the result; it needs only the lower half of each round. Partial sums without
// elements are +0, and no partial sum is -0, so rounds between empty ones are left out.
func SumLanes(p *[Lanes]float32, n int) float32 {
	for d := firstRound(n); d > 0; d /= 2 {
		a, b := p[:d], p[d:2*d]
		for l := range a {
			a[l] += b[l]
		}
	}
	return p[0]
}

// MaxLanes is SumLanes for Max. Partial values start at -Inf and are not NaN. Adding +0 turns
// -0 into +0.
func MaxLanes(p *[Lanes]float32, n int) float32 {
	for d := firstRound(n); d > 0; d /= 2 {
		a, b := p[:d], p[d:2*d]
		for l := range a {
			a[l] = Max(b[l], a[l])
		}
	}
	return p[0] + 0
}

// MinLanes is MaxLanes for Min, with partial values that start at +Inf.
func MinLanes(p *[Lanes]float32, n int) float32 {
	for d := firstRound(n); d > 0; d /= 2 {
		a, b := p[:d], p[d:2*d]
		for l := range a {
			a[l] = Min(b[l], a[l])
		}
	}
	return p[0] + 0
}

// firstRound returns the distance of the first round that combines two partial values with
// elements.
func firstRound(n int) int {
	used := min((n+Neighbours-1)/Neighbours, Lanes)
	if used <= 1 {
		return 0
	}
	return 1 << (bits.Len(uint(used-1)) - 1)
}
