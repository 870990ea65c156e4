// Package treetest lists the additions of chunks, for tests of the packages that do them.
package treetest

import "iter"

// Tree lists the additions, to and from, that sum n chunks, each in a separate place. Node a of
// a level is the sum of nodes 2a and 2a+1 of the level below, in the place of the first; the
// chunks are the lowest level. Nodes without a sibling are added in the end, from the right. A
// process can therefore sum a subtree of its chunks first, and the sum stays bit-identical.
func Tree(n int) iter.Seq2[int, int] {
	return func(yield func(to, from int) bool) {
		for size := 1; size < n; size *= 2 {
			for to := 0; to+2*size <= n; to += 2 * size {
				if !yield(to, to+size) {
					return
				}
			}
		}
		// A node without a sibling begins where the lowest remaining bit of n is.
		for last := n & (n - 1); last > 0; last &= last - 1 {
			if to := last & (last - 1); !yield(to, last) {
				return
			}
		}
	}
}
