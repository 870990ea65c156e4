package lower

import (
	"slices"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// MaxTogether is how many launches go together: their buffers are parameters, of which a
// launch on a GPU may have 4096 bytes.
const MaxTogether = 8

// A task is a group that became a kernel: a launch that has no place yet in its routine,
// nor its temporaries one in memory.
type task struct {
	group  *opt.Group
	kernel *kernel.Kernel
	values []*ir.Value // of the kernel's buffers, in order
	pos    diag.Pos
}

// writes reports whether the kernel changes buffer i.
func (t *task) writes(i int) bool { return t.kernel.Params[i].Mode != kernel.In }

// arrange brings independent tasks of the same kernel beside each other, so that a GPU can
// make one launch of them. It comes before temporaries get their places: tasks of
// different values do not wait for each other's memory. The result is in an order in
// which tasks can run, each set of those that go together where its last task was.
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

// depend reports whether two tasks have to stay in their order: one writes what the other
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

// overlap reports whether two values may share memory: temporaries have none yet, and
// share none with others.
func overlap(v, w *ir.Value, arg map[*ir.Value]Arg) bool {
	a, bound := arg[v]
	b, also := arg[w]
	if !bound || !also {
		return v == w
	}
	return a.overlaps(b)
}

// overlaps reports whether two arguments of launches in one iteration of a routine may be
// the same memory.
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

// An arranger joins tasks, by number, to sets, by the number of their first task.
type arranger struct {
	after   [][]int // the tasks that depend on each
	set     []int   // of each task
	members [][]int // of each set, ascending; none if it has joined another
}

// reaches reports whether a task of one set has to wait for one of another.
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

// join moves the only task of a set to another one.
func (a *arranger) join(to, task int) {
	a.members[to] = append(a.members[to], task)
	a.set[task], a.members[task] = to, nil
}

// order sorts the sets: each as soon as all that it depends on has run, those first whose
// last task comes first.
func (a *arranger) order() []int {
	waits := make([]int, len(a.set)) // of a set for tasks of others
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
