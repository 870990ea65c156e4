package vector

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A stream computes random words in registers, a few vectors from each group of counters.
// Groups run side by side, because their rounds are a long chain of dependent instructions.
type stream struct {
	tile    string
	groups  int    // groups that run side by side
	vectors int    // vectors of words of all groups
	words   int    // first register of the words
	counter int    // register of the next counters
	start   int    // slot of the first counter
	skip    int    // slot: how many words of the first counter to skip
	early   [4]int // slots of values that all words share in the first two rounds
}

// The constants of Philox4x32-10; see package runtime/philox.
const philoxRounds = 10

var (
	philoxMul  = [2]uint32{0xD2511F53, 0xCD9E8D57}
	philoxWeyl = [2]uint32{0x9E3779B9, 0xBB67AE85}
)

// launch returns the slot of a scalar that random words depend on.
func (f *fn) launch(name string) int {
	t, _ := kernel.ScalarType(name)
	return f.variable(expr.NewVar(name, t))
}
