package task

import "testing"

func TestPermutationIsABijection(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 10, 17, 1000, 4097} {
		seen := make([]bool, n)
		moved := 0
		order := newPermutation([2]uint32{5, 6}, n, 0, 7)
		tabled := order
		tabled.tabulate()
		for i := range int64(n) {
			x := order.at(i)
			if y := tabled.at(i); y != x {
				t.Fatalf("[0, %d): %d by a table, %d without", n, y, x)
			}
			if seen[x] {
				t.Fatalf("[0, %d): %d comes twice", n, x)
			}
			seen[x] = true
			if x != i {
				moved++
			}
		}
		if n >= 10 && moved < int(n)/2 {
			t.Errorf("[0, %d): only %d moved", n, moved)
		}
	}
}
