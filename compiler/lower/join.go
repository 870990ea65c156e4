package lower

import (
	"slices"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// MaxTogether is the most launches that run together. Their buffers are parameters of one
// launch, and a launch on a GPU may have 4096 bytes of parameters.
const MaxTogether = 8

// A task is a group that became a kernel: a launch without a place in its routine, whose
// temporaries have no memory yet.
type task struct {
	group  *opt.Group
	kernel *kernel.Kernel
	values []*ir.Value // bound to the kernel's buffers, in order
	pos    diag.Pos
}

// writes reports whether the kernel changes buffer i.
func (t *task) writes(i int) bool { return t.kernel.Params[i].Mode != kernel.In }

// arrange makes sets of independent tasks with the same kernel, which a GPU can run as one
// launch. It runs before temporaries get their places, so tasks do not wait for each other's
// memory. The sets can run in the order of the result, which follows their last tasks.
func arrange(tasks []*task, arg map[*ir.Value]Arg) [][]*task {
	n := len(tasks)
	a := arranger{after: make([][]int, n), set: make([]int, n), members: make([][]int, n)}
	for i, t := range tasks {
		a.set[i], a.members[i] = i, []int{i}
		for j, earlier := range tasks[:i] {
			if depend(earlier, t, arg) {
				a.after[j] = append(a.after[j], i)
			}
		}
	}
	for i, t := range tasks {
		for j := range tasks[:i] {
			if len(a.members[j]) > 0 && len(a.members[j]) < MaxTogether && tasks[j].kernel == t.kernel &&
				!a.reaches(j, i) && !a.reaches(i, j) {
				a.join(j, i)
				break
			}
		}
	}
	var sets [][]*task
	for _, s := range a.order() {
		var set []*task
		for _, i := range a.members[s] {
			set = append(set, tasks[i])
		}
		sets = append(sets, set)
	}
	return sets
}

// depend reports whether two tasks must stay in order because one writes memory that the other
// reads or writes.
func depend(t, o *task, arg map[*ir.Value]Arg) bool {
	for i, v := range t.values {
		for j, w := range o.values {
			if (t.writes(i) || o.writes(j)) && overlap(v, w, arg) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two values may share memory. Temporaries have no memory yet, and
// share it only with themselves.
func overlap(v, w *ir.Value, arg map[*ir.Value]Arg) bool {
	a, bound := arg[v]
	b, also := arg[w]
	if !bound || !also {
		return v == w
	}
	return a.overlaps(b)
}

// overlaps reports whether two arguments of launches in one iteration of a routine may be the
// same memory.
func (a Arg) overlaps(b Arg) bool {
	if a.Space != b.Space {
		return false
	}
	switch a.Space {
	case InBuffer:
		return a.Ref.Buffer == b.Ref.Buffer && !apart(a.Ref, b.Ref)
	case InUses:
		return a.Off == b.Off
	}
	return a.Group == b.Group && a.Param == b.Param
}

// apart reports whether two tensors of a buffer differ in every iteration.
func apart(a, b plan.Ref) bool {
	off := a.Off - b.Off
	if a.Mod > 0 {
		off %= a.Mod
	}
	a.Off, b.Off = 0, 0
	return a == b && off != 0
}

// An arranger joins tasks to sets. Tasks have numbers. A set has its first task's number.
type arranger struct {
	after   [][]int // maps a task to the tasks that depend on it
	set     []int   // maps a task to its set
	members [][]int // maps a set to its tasks, ascending; empty after it has joined another
}

// reaches reports whether a task of the set to must wait for a task of the set from.
func (a *arranger) reaches(from, to int) bool {
	seen := make([]bool, len(a.set))
	var visit func(s int) bool
	visit = func(s int) bool {
		seen[s] = true
		for _, i := range a.members[s] {
			for _, j := range a.after[i] {
				if next := a.set[j]; next == to || !seen[next] && visit(next) {
					return true
				}
			}
		}
		return false
	}
	return visit(from)
}

// join moves the only task of a set to another set.
func (a *arranger) join(to, task int) {
	a.members[to] = append(a.members[to], task)
	a.set[task], a.members[task] = to, nil
}

// order sorts the sets: a set comes after all sets that it depends on. Among the sets that can
// run, the set whose last task is earliest comes first.
func (a *arranger) order() []int {
	waits := make([]int, len(a.set)) // maps a set to the number of tasks in other sets that it waits for
	for i, after := range a.after {
		for _, j := range after {
			if a.set[i] != a.set[j] {
				waits[a.set[j]]++
			}
		}
	}
	var left, sorted []int
	for s, tasks := range a.members {
		if len(tasks) > 0 {
			left = append(left, s)
		}
	}
	last := func(s int) int { return a.members[s][len(a.members[s])-1] }
	slices.SortFunc(left, func(s, t int) int { return last(s) - last(t) })
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(s int) bool { return waits[s] == 0 })
		s := left[at]
		left = slices.Delete(left, at, at+1)
		sorted = append(sorted, s)
		for _, i := range a.members[s] {
			for _, j := range a.after[i] {
				waits[a.set[j]]--
			}
		}
	}
	return sorted
}
