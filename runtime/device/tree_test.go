package device_test

import (
	"fmt"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
)

// TestTree compares the written form of sums.
func TestTree(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: "0", 2: "(0+1)", 3: "((0+1)+2)", 4: "((0+1)+(2+3))", 5: "(((0+1)+(2+3))+4)", 6: "(((0+1)+(2+3))+(4+5))",
		7: "(((0+1)+(2+3))+((4+5)+6))", 8: "(((0+1)+(2+3))+((4+5)+(6+7)))",
		11: "((((0+1)+(2+3))+((4+5)+(6+7)))+((8+9)+10))",
	} {
		sums := make([]string, max(n, 1))
		for i := range n {
			sums[i] = fmt.Sprint(i)
		}
		for to, from := range treetest.Tree(n) {
			sums[to], sums[from] = "("+sums[to]+"+"+sums[from]+")", "used"
		}
		if sums[0] != want {
			t.Errorf("%d chunks: %s, want %s", n, sums[0], want)
		}
	}
}

// TestMerge deals chunks to any number of processes. The sums of each process and the remaining
// additions make the sums of the tree.
func TestMerge(t *testing.T) {
	for n := 1; n <= 40; n++ {
		want := treeSum(n)
		for size := 1; size <= n; size++ {
			var nodes []device.Node
			var sums []string
			next := 0
			for rank := range size {
				lo, hi := device.Deal(n, rank, size)
				if lo != next {
					t.Fatalf("%d chunks on %d processes: rank %d begins at %d, not at %d", n, size, rank, lo, next)
				}
				next = hi
				for _, node := range device.Nodes(lo, hi) {
					nodes, sums = append(nodes, node), append(sums, nodeSum(node))
				}
			}
			for to, from := range device.Merge(nodes) {
				sums[to], sums[from] = "("+sums[to]+"+"+sums[from]+")", "used"
			}
			if sums[0] != want || next != n {
				t.Fatalf("%d chunks on %d processes: %s, want %s", n, size, sums[0], want)
			}
		}
	}
}

// treeSum writes the sum of n chunks.
func treeSum(n int) string {
	sums := make([]string, n)
	for i := range n {
		sums[i] = fmt.Sprint(i)
	}
	for to, from := range treetest.Tree(n) {
		sums[to] = "(" + sums[to] + "+" + sums[from] + ")"
	}
	return sums[0]
}

// nodeSum writes the sum of a node.
func nodeSum(n device.Node) string {
	if n.Size == 1 {
		return fmt.Sprint(n.First)
	}
	half := n.Size / 2
	return "(" + nodeSum(device.Node{First: n.First, Size: half}) + "+" + nodeSum(device.Node{First: n.First + half, Size: half}) + ")"
}
