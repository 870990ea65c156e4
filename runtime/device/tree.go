package device

import "iter"

// Tree lists the additions, to and from, that make one sum of those of n chunks, each in
// a place of its own. Node a of a level is the sum of nodes 2a and 2a+1 of the level
// below, in the place of the first; the chunks are the lowest level. What has no brother
// in the end is added from the right. So whoever has the chunks of a subtree can add
// them first, and the sum is the same to the last bit.
func Tree(n int) iter.Seq2[int, int] {
	return func(yield func(to, from int) bool) {
		for size := 1; size < n; size *= 2 {
			for to := 0; to+2*size <= n; to += 2 * size {
				if !yield(to, to+size) {
					return
				}
			}
		}
		// A node without a brother begins where a bit of n is the lowest that is left.
		for last := n & (n - 1); last > 0; last &= last - 1 {
			if to := last & (last - 1); !yield(to, last) {
				return
			}
		}
	}
}
