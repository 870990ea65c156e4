package device

import "iter"

// Deal returns the chunks lo … hi-1 of n that a rank computes. Ranks have consecutive ranges
// whose sizes differ by at most one.
func Deal(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

// A Node is a node of a treetest.Tree: the sum of chunks First … First+Size-1. Size is a power of two
// and divides First.
type Node struct{ First, Size int }

// Nodes lists the fewest nodes that cover chunks lo … hi-1, in order.
func Nodes(lo, hi int) (all []Node) {
	for lo < hi {
		size := 1
		for lo%(2*size) == 0 && lo+2*size <= hi {
			size *= 2
		}
		all = append(all, Node{lo, size})
		lo += size
	}
	return all
}

// Merge lists the additions, to and from by index, that sum nodes covering chunks 0 … n-1 in
// order: the remaining additions of treetest.Tree(n). The sum is in the place of the first node.
func Merge(nodes []Node) iter.Seq2[int, int] {
	return func(yield func(to, from int) bool) {
		type place struct {
			Node
			at int
		}
		var stack []place // like the digits of a binary counter
		for i, n := range nodes {
			p := place{n, i}
			for len(stack) > 0 {
				left := stack[len(stack)-1]
				if left.Size != p.Size || left.First%(2*p.Size) != 0 {
					break
				}
				if !yield(left.at, p.at) {
					return
				}
				stack = stack[:len(stack)-1]
				p = place{Node{left.First, 2 * left.Size}, left.at}
			}
			stack = append(stack, p)
		}
		for last := len(stack) - 1; last > 0; last-- {
			if !yield(stack[last-1].at, stack[last].at) {
				return
			}
		}
	}
}
