package vector

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestGroups checks when random words are computed in two groups side by side. A row of known
// length must need both, and registers must be free. A row that may be short needs more free
// registers.
func TestGroups(t *testing.T) {
	any := expr.NewVar("T", expr.I32)
	for _, c := range []struct {
		isa      *isa
		size     *expr.Expr
		partials int
		groups   int
	}{
		{&avx2.isa, expr.Int(64), 0, 2},
		{&avx2.isa, expr.Int(64), 4, 1},
		{&avx2.isa, expr.Int(16), 0, 1},
		{&avx2.isa, any, 0, 1},
		{&avx512.isa, expr.Int(64), 4, 2},
		{&avx512.isa, expr.Int(32), 0, 1},
		{&avx512.isa, any, 4, 2},
	} {
		f := &fn{isa: c.isa}
		l := &loop{block: f.newBlock("e", c.isa.lanes), size: c.size, group: 1}
		l.reserve([]*kernel.Random{{Dst: "bits", Size: c.size}}, nil, c.partials)
		if got := l.streams[0].groups; got != c.groups || l.free < got*c.isa.random.state {
			t.Errorf("%s, %v elements beside %d registers: %d groups in %d registers, want %d groups", c.isa.name, c.size, c.partials, got, l.free, c.groups)
		}
	}
}
