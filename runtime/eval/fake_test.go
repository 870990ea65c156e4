package eval

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// A pupil is a model that knows the right answers and makes mistakes. Mistakes are a function
// of the text so far and of the runs of the loop, as in any causal model. A mistake is any
// token. After it the pupil continues as if it had written the right one, hints left out.
type pupil struct {
	task  *task.Task
	known map[string]int32 // plain token that follows a text, hints left out
	exact map[string]int32 // token that follows a text
	tries uint32           // makes one mistake in so many tokens
	calm  int              // runs of the loop until the answer is stable
}

func newPupil(t *testing.T, cfg task.Config, problems func(*task.Task) []task.Problem) (*pupil, []task.Problem) {
	t.Helper()
	tk, err := tasks.New(cfg, 3)
	if err != nil {
		t.Fatal(err)
	}
	p := &pupil{task: tk, known: map[string]int32{}, exact: map[string]int32{}, tries: 12, calm: 3}
	all := problems(tk)
	for _, x := range all {
		b, err := tk.Batch([]task.Problem{x})
		if err != nil {
			t.Fatal(err)
		}
		for row := max(tk.Prompt(x)-1, 0); row < b.T; row++ {
			prefix := b.Target[:row+1]
			p.exact[key(b.Source, prefix)] = b.Labels[row]
			for ahead := row; ahead < b.T; ahead++ {
				if !tk.IsHint(b.Labels[ahead]) {
					p.known[key(b.Source, p.plain(prefix))] = b.Labels[ahead]
					break
				}
			}
		}
	}
	return p, all
}

func key(source, text []int32) string { return fmt.Sprint(source, text) }

func (p *pupil) plain(text []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(text), p.task.IsHint)
}

// next is the token after a text.
func (p *pupil) next(source, text []int32, runs int) int32 {
	right, ok := p.exact[key(source, text)]
	if !ok {
		if right, ok = p.known[key(source, p.plain(text))]; !ok {
			right = p.task.EOS()
		}
	}
	h := fnv.New32a()
	fmt.Fprint(h, source, text, min(runs, p.calm))
	dice := h.Sum32()
	if dice>>8%p.tries == 0 {
		return int32(dice >> 16 % uint32(p.task.Vocab()))
	}
	return right
}

// machine returns a machine with one worker and no threads.
func (p *pupil) machine() device.Machine { return &fakeMachine{worker: fakeWorker{pupil: p}} }

func (p *pupil) model() *Model {
	return &Model{Machine: p.machine(), Plan: fakePlan(), Task: p.task, Runs: 2}
}

// The kernels of the fake plan.
const (
	fakeForward = iota
	fakeEncode
	fakeDecode
)

func fakePlan() *device.Plan {
	layout := func(e *device.Env) device.Layout {
		at := func(n int) device.Ref { return device.Ref{Space: device.Ints, Off: n} }
		s, t := e.B*e.S, e.B*e.C
		return device.Layout{Ints: s + 2*t, Largest: t, Source: at(0), Target: at(s), Pred: at(s + t)}
	}
	program := func(kernel int) device.Program {
		return device.Program{Layout: layout, Run: func(q device.Queue, e *device.Env) { q.Launch(kernel, e) }}
	}
	return &device.Plan{Forward: program(fakeForward), Encode: program(fakeEncode), Decode: program(fakeDecode)}
}

type fakeWorker struct {
	pupil  *pupil
	env    device.Env
	ints   []int32
	texts  [][]int32 // decoded text of each example: the cache
	source []int32
}

func (w *fakeWorker) Queue() device.Queue                { return device.NewQueue(w) }
func (w *fakeWorker) Env() *device.Env                   { return &w.env }
func (w *fakeWorker) Fit(_, ints int)                    { w.ints = make([]int32, ints) }
func (w *fakeWorker) PutInts(r device.Ref, x []int32)    { copy(w.ints[r.Off:r.Off+len(x)], x) }
func (w *fakeWorker) GetInts(x []int32, r device.Ref)    { copy(x, w.ints[r.Off:r.Off+len(x)]) }
func (*fakeWorker) PutFloats(device.Ref, []float32)      {}
func (*fakeWorker) Zero(device.Ref, int)                 {}
func (*fakeWorker) Join(int, *device.Env, ...device.Ref) {}
func (*fakeWorker) Add(to, from device.Ref, n int)       {}

// GetFloats returns losses of 0.5.
func (*fakeWorker) GetFloats(x []float32, _ device.Ref) {
	for i := range x {
		x[i] = 0.5
	}
}

func (w *fakeWorker) Launch(kernel int, e *device.Env, _ ...device.Ref) {
	if kernel == fakeEncode {
		w.source = slices.Clone(w.ints[:e.B*e.S])
		w.texts = make([][]int32, e.B)
		return
	}
	if kernel == fakeForward {
		w.source = w.ints[:e.B*e.S]
		w.texts = make([][]int32, e.B)
	}
	target := w.ints[e.B*e.S:]
	pred := target[e.B*e.C:]
	for b := range e.B {
		if len(w.texts[b]) != e.P {
			panic(fmt.Sprintf("BUG: rows from %d on, after %d", e.P, len(w.texts[b])))
		}
		for row := range e.T {
			w.texts[b] = append(w.texts[b], target[b*e.T+row])
			pred[b*e.T+row] = w.pupil.next(w.source[b*e.S:(b+1)*e.S], w.texts[b], e.Times)
		}
	}
}

type fakeMachine struct {
	device.Machine
	worker   fakeWorker
	room     int // most examples of a launch
	launches int
}

func (m *fakeMachine) Err() error    { return nil }
func (m *fakeMachine) Repeats() bool { return false }

func (m *fakeMachine) Examples(least, most int, _ func(int) float64) int {
	return max(least, min(most, m.room))
}
func (m *fakeMachine) Each(n int, f func(w device.Worker, i int)) {
	m.launches += n
	for i := range n {
		f(&m.worker, i)
	}
}

// An idleMachine computes nothing. It counts the launches that it is given.
type idleMachine struct {
	device.Machine
	most int // most launches at a time
}

func (m *idleMachine) Err() error    { return nil }
func (m *idleMachine) Repeats() bool { return false }

func (m *idleMachine) Examples(least, _ int, _ func(int) float64) int { return least }
func (m *idleMachine) Each(n int, _ func(w device.Worker, i int))     { m.most = max(m.most, n) }
