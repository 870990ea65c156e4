package device_test

import (
	"fmt"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
)

// TestTree writes down which sums are made of how many chunks.
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
		for to, from := range device.Tree(n) {
			sums[to], sums[from] = "("+sums[to]+"+"+sums[from]+")", "used"
		}
		if sums[0] != want {
			t.Errorf("%d chunks: %s, want %s", n, sums[0], want)
		}
	}
}
