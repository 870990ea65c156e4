package check

import (
	"slices"
	"testing"
)

// TestSharesOfElements distinguishes elements by their shares of all, in any order.
func TestSharesOfElements(t *testing.T) {
	of := func(all ...uint64) uint64 { return shares(slices.Clone(all)) }
	for _, same := range [][2][]uint64{
		{{5}, {5, 5, 5}}, {{5, 7}, {7, 5, 5, 7}}, {{5, 5, 7}, {7, 5, 5, 5, 7, 5}}, {{1, 2, 3}, {3, 1, 2}}, {{1, 1, 2, 2, 2, 2}, {1, 2, 2}}, {{}, nil},
	} {
		if of(same[0]...) != of(same[1]...) {
			t.Errorf("%v and %v have other shares", same[0], same[1])
		}
	}
	seen := map[uint64][]uint64{}
	for _, x := range [][]uint64{{}, {5}, {7}, {5, 7}, {5, 5, 7}, {5, 7, 7}, {5, 7, 9}, {5, 5, 5, 7}, {0}, {1, 1, 2}} {
		if y, is := seen[of(x...)]; is {
			t.Errorf("%v and %v have equal shares", x, y)
		}
		seen[of(x...)] = x
	}
}

// TestPlaced distinguishes elements, their order, their places and the row that reads them.
func TestPlaced(t *testing.T) {
	seen := map[uint64]int{}
	for i, x := range []uint64{
		placed(1, 4, 9, []int{2, 3}, []uint64{5, 7}), placed(1, 4, 9, []int{2, 3}, []uint64{7, 5}), placed(1, 4, 9, []int{2, 4}, []uint64{5, 7}),
		placed(2, 4, 9, []int{2, 3}, []uint64{5, 7}), placed(1, 5, 9, []int{2, 3}, []uint64{5, 7}), placed(1, 4, 8, []int{2, 3}, []uint64{5, 7}), placed(1, 4, 9, nil, nil),
	} {
		if k, is := seen[x]; is {
			t.Errorf("cases %d and %d are equal", k, i)
		}
		seen[x] = i
	}
}

// TestMixed compares with the first two numbers of splitmix64 from the seed 0, whose state grows
// by the golden ratio before each.
func TestMixed(t *testing.T) {
	const golden, added = 0x9e3779b97f4a7c15, 0x632be59bd9b4e019
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4} {
		state := uint64(0)
		for range i + 1 {
			state += golden
		}
		if got := mixed(0, state-added); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
	if mixed(1, 2) == mixed(2, 1) {
		t.Error("the order of two numbers does not matter")
	}
}

// TestDivisor computes greatest common divisors.
func TestDivisor(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{{12, 18, 6}, {18, 12, 6}, {7, 5, 1}, {6, 0, 6}, {0, 6, 6}, {4, 4, 4}} {
		if got := divisor(c.a, c.b); got != c.want {
			t.Errorf("of %d and %d it is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
