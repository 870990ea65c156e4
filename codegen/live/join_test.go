package live_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/device"
)

// TestJoinsAreIndependent records the memory of all launches of every program. Among joined
// launches, none writes memory that another reads or writes.
func TestJoinsAreIndependent(t *testing.T) {
	for _, c := range full.Some(cases, 4) {
		p := compile(t, c.spec, c.set).Trainings()[c.training]
		joins, err := dependent(t, p)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if joins < 20 {
			t.Errorf("%s: only %d launches join others", c.name, joins)
		}
	}
}

// TestDependentJoinsAreFound joins launches of one kernel that the compiler did not join. The
// check and the simulator find each.
func TestDependentJoinsAreFound(t *testing.T) {
	p := compile(t, "successor", []string{"model.width=16", "model.heads=2", "model.ffn=relu(hidden = 16)", "train.batch=8"})
	trials := 0
	for _, r := range p.Lowered.Routines() {
		for i := range r.Launches[1:] {
			l := &r.Launches[i+1]
			if l.Joins || l.Kernel != r.Launches[i].Kernel {
				continue
			}
			trials++
			l.Joins = true
			if _, err := dependent(t, p); err == nil {
				t.Errorf("%s: launch %d, of %s, joins the one before it, and nobody notices", r.Name, i+1, l.Kernel.Name)
			}
			m, err := live.New(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := simulatedTrainer(t, m).Step(0.01); err == nil {
				t.Errorf("%s: launch %d, of %s, joins the one before it, and the simulator does not notice", r.Name, i+1, l.Kernel.Name)
			}
			l.Joins = false
		}
	}
	if trials == 0 {
		t.Error("no launch of a kernel follows another that it depends on")
	}
}

// dependent counts the launches that join others, and returns an error if they depend on each
// other.
func dependent(t *testing.T, p *compiler.Program) (int, error) {
	t.Helper()
	m, err := live.New(p)
	if err != nil {
		t.Fatal(err)
	}
	r := &joined{kernels: p.Lowered.Kernels, at: kernel.Scalars{"B": 3, "T": 5, "S": 7, "C": 5, "N": 100}}
	programs := []device.Program{m.Plan.Gradients, m.Plan.Forward, m.Plan.Encode, m.Plan.Decode, m.Plan.SumSquares, m.Plan.Update, m.Plan.Attention}
	for _, x := range m.Plan.Matrices {
		programs = append(programs, x.Update)
	}
	for _, x := range programs {
		if x.Run != nil {
			x.Run(device.NewQueue(r), &device.Env{B: 3, T: 5, S: 7, C: 5, N: 100, NoGrad: 1, WithGrad: 2, Times: 2})
		}
	}
	return r.joins, r.err
}

// joined is a Launcher that checks joined launches.
type joined struct {
	kernels  []*kernel.Kernel
	at       kernel.Scalars
	last     int
	env      device.Env
	together [][]extent // the buffers of each joined launch
	joins    int
	err      error
}

// An extent is the words of a buffer of a launch.
type extent struct {
	device.Ref
	words  int
	writes bool
}

func (x extent) overlaps(o extent) bool {
	return x.Space == o.Space && x.Off < o.Off+o.words && o.Off < x.Off+x.words
}

func (r *joined) extents(number int, args []device.Ref) []extent {
	var all []extent
	for i, a := range args {
		p := r.kernels[number].Params[i]
		words := (cost.Value(kernel.Elements(p.Shape), r.at)*kernel.Bytes(p.Type) + 3) / 4
		all = append(all, extent{a, words, p.Mode != kernel.In})
	}
	return all
}

func (r *joined) Launch(number int, e *device.Env, args ...device.Ref) {
	r.last, r.env, r.together = number, *e, [][]extent{r.extents(number, args)}
}

func (r *joined) Join(number int, e *device.Env, args ...device.Ref) {
	r.joins++
	mine := r.extents(number, args)
	for _, other := range slices.Concat(r.together...) {
		for _, x := range mine {
			if (x.writes || other.writes) && x.overlaps(other) {
				r.err = fmt.Errorf("%s: two launches that go together share %+v and %+v", r.kernels[number].Name, other, x)
			}
		}
	}
	if r.last != number || r.env != *e || r.together == nil {
		r.err = fmt.Errorf("%s: nothing to join", r.kernels[number].Name)
	}
	r.together = append(r.together, mine)
}

func (r *joined) Zero(device.Ref, int)       { r.together = nil }
func (r *joined) Add(_, _ device.Ref, _ int) { r.together = nil }
