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

// Deal is the chunks lo … hi-1 of n that one of several processes has: those of each lie
// behind those of the rank before, and no two ranks differ by more than one.
func Deal(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

// A Node is one of a Tree: the sum of chunks First … First+Size-1. Size is a power of two,
// of which First is a multiple.
type Node struct{ First, Size int }

// Nodes lists the nodes that chunks lo … hi-1 come to, as few as cover them, in order.
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

// Merge lists the additions, to and from by their numbers, that make one sum of nodes
// which cover chunks 0 … n-1 in order: what is left to be added of Tree(n). The sum is in
// the place of the first.
func Merge(nodes []Node) iter.Seq2[int, int] {
	return func(yield func(to, from int) bool) {
		type place struct {
			Node
			at int
		}
		var stack []place // as the digits of a binary counter
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
