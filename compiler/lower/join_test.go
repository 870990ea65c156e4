package lower

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestArrange arranges random tasks. Each must occur once, and the tasks of a set must have one
// kernel and no order. All other tasks must keep their order.
func TestArrange(t *testing.T) {
	together := 0
	for seed := range uint64(300) {
		tasks, arg := randomTasks(rand.New(rand.NewPCG(seed, 1)))
		at := map[*task]int{}
		sets := arrange(tasks, arg)
		for n, set := range sets {
			if len(set) > MaxTogether {
				t.Errorf("seed %d: %d tasks go together", seed, len(set))
			}
			for _, x := range set {
				if _, twice := at[x]; twice || x.kernel != set[0].kernel {
					t.Errorf("seed %d: a task is there twice, or with others of another kernel", seed)
				}
				at[x] = n
			}
		}
		for i, x := range tasks {
			for _, y := range tasks[i+1:] {
				if conflict(x, y, arg) && at[x] >= at[y] {
					t.Errorf("seed %d: two tasks that depend on each other changed places, or go together", seed)
				}
			}
		}
		if len(at) != len(tasks) {
			t.Errorf("seed %d: %d tasks of %d", seed, len(at), len(tasks))
		}
		together += len(tasks) - len(sets)
	}
	if together < 1000 {
		t.Errorf("only %d tasks have joined others", together)
	}
}

// randomTasks returns tasks that read arguments and temporaries of earlier tasks. They write a
// new temporary or an argument, which others may read.
func randomTasks(r *rand.Rand) ([]*task, map[*ir.Value]Arg) {
	kernels := make([]*kernel.Kernel, 3)
	for i := range kernels {
		kernels[i] = &kernel.Kernel{Name: fmt.Sprint(i), Params: []kernel.Param{{Mode: kernel.In}, {Mode: kernel.In}, {Mode: kernel.Out}}}
	}
	kernels[2].Params[2].Mode = kernel.InOut
	arg := map[*ir.Value]Arg{}
	var bound, temps []*ir.Value
	for i := range 4 {
		v := &ir.Value{ID: i}
		arg[v] = Arg{Ref: plan.Ref{Buffer: "b", InLoop: true, Off: i, Mod: 3}} // 0 and 3 are the same
		bound = append(bound, v)
	}
	var tasks []*task
	for range 20 {
		pick := func() *ir.Value {
			if len(temps) > 0 && r.IntN(4) > 0 {
				return temps[max(0, len(temps)-1-r.IntN(12))]
			}
			return bound[r.IntN(len(bound))]
		}
		x := &task{kernel: kernels[r.IntN(len(kernels))], values: []*ir.Value{pick(), pick()}}
		out := &ir.Value{ID: 10 + len(temps)}
		if r.IntN(8) == 0 {
			out = bound[r.IntN(len(bound))]
		} else {
			temps = append(temps, out)
		}
		x.values = append(x.values, out)
		tasks = append(tasks, x)
	}
	return tasks, arg
}

// conflict reports whether the order of two of these tasks matters, by the names of memories.
func conflict(x, y *task, arg map[*ir.Value]Arg) bool {
	name := func(v *ir.Value) int {
		if a, ok := arg[v]; ok {
			return a.Ref.Off % 3
		}
		return v.ID
	}
	var mine, theirs []int
	for i := range x.values {
		mine, theirs = append(mine, name(x.values[i])), append(theirs, name(y.values[i]))
	}
	return slices.Contains(theirs, mine[2]) || slices.Contains(mine, theirs[2])
}

// TestOverlaps distinguishes arguments that differ in every iteration.
func TestOverlaps(t *testing.T) {
	in := func(r plan.Ref) Arg { return Arg{Ref: r} }
	g, h := &plan.Group{Name: "g"}, &plan.Group{Name: "h"}
	for _, c := range []struct {
		a, b Arg
		want bool
	}{
		{in(plan.AtLayer("x", 0)), in(plan.AtLayer("x", 0)), true},
		{in(plan.AtLayer("x", 0)), in(plan.AtLayer("x", 1)), false},
		{in(plan.AtLayer("x", 0)), in(plan.AtLayer("y", 0)), false},
		{in(plan.AtLayer("x", 0)), in(plan.At("x", 1)), true}, // in one iteration
		{in(plan.AtLayer("x", 0).Turn()), in(plan.AtLayer("x", 1).Turn()), false},
		{in(plan.AtLayer("x", 0).Turn()), in(plan.AtLayer("x", 2).Turn()), true},
		{in(plan.AtLayer("x", 2).Turn()), in(plan.AtLayer("x", 0).Turn()), true},
		{in(plan.At("x", 1)), in(plan.After("x", 1, plan.WithGrad)), true},
		{Arg{Space: InGrads, Group: g, Param: "w"}, Arg{Space: InGrads, Group: g, Param: "w"}, true},
		{Arg{Space: InGrads, Group: g, Param: "w"}, Arg{Space: InGrads, Group: h, Param: "w"}, false},
		{Arg{Space: InGrads, Group: g, Param: "w"}, Arg{Space: InParams, Group: g, Param: "w"}, false},
		{Arg{Space: FlatGrads}, Arg{Space: FlatGrads}, true},
		{Arg{Space: FlatState, Param: "m"}, Arg{Space: FlatState, Param: "v", State: 1}, false},
	} {
		if got := c.a.overlaps(c.b); got != c.want || c.b.overlaps(c.a) != got {
			t.Errorf("%+v and %+v: %v", c.a, c.b, got)
		}
	}
}
