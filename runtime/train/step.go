package train

import (
	"fmt"
	"math"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// An Outcome is what one step says about itself.
type Outcome struct {
	Loss     float64 // nats a label
	GradNorm float64 // before clipping
	Tokens   int     // labels
	Rows     int     // target rows, with those that have no label
}

// A stepper is the memory of a step, all of it used again by the next one: after
// the first steps nothing is allocated.
type stepper struct {
	*Trainer
	drawer    *task.Drawer
	batch     task.Batch
	losses    [maxPasses][]float32 // of each row of the batch, by pass
	weight    float64              // of a label in the loss
	examples  int                  // of a launch
	optimizer device.Env
	stretches []stretch
	stretch   stretch // that is updated
	matrices  []matrix
	squares   [1]float32 // of the gradient, their sum

	// Methods as functions, which are allocated where they are made.
	runChunk    func(w device.Worker, i int)
	runRange    func(w device.Worker, lo, hi int)
	runMatrices func(w device.Worker, lo, hi int)
}

func newStepper(t *Trainer) *stepper {
	s := &stepper{Trainer: t, drawer: t.Task.NewDrawer(t.Config.Group, t.Config.MicroBatch), stretches: t.stretches(), matrices: t.matrices()}
	s.examples = t.launchExamples()
	if s.examples != t.Config.MicroBatch {
		s.drawer.Launch(s.examples, t.Config.Group/s.examples)
	}
	s.runChunk, s.runRange, s.runMatrices = s.chunk, s.updateRange, s.updateMatrices
	return s
}

// Step trains on the next whole batch and counts it: gradients of all chunks, their
// norm, the update. It changes nothing when the loss or the gradient is not finite;
// after a failure of the machine nothing on it is of use.
func (t *Trainer) Step(rate float64) (Outcome, error) { return t.stepOn(t.Config.Batch, rate) }

// stepOn is Step on so many examples.
func (t *Trainer) stepOn(examples int, rate float64) (Outcome, error) {
	if t.stepper == nil {
		t.stepper = newStepper(t)
	}
	out, err := t.stepper.step(examples, rate)
	if err != nil {
		return out, err
	}
	t.State.Step++
	t.State.Examples += int64(examples)
	t.State.Tokens += int64(out.Tokens)
	t.State.Rows += int64(out.Rows)
	return out, nil
}

func (s *stepper) step(examples int, rate float64) (out Outcome, err error) {
	if s.batch, err = s.drawer.Train(s.State.Examples, examples); err != nil {
		return out, err
	}
	out.Tokens, out.Rows = s.batch.Kept(), s.batch.Rows
	s.weight = s.Config.weight(examples, out.Tokens)
	s.gradients()
	s.norm()
	s.update(rate)
	if err := s.Machine.Err(); err != nil {
		return out, s.failed(err)
	}
	out.Loss = s.loss() / float64(out.Tokens)
	out.GradNorm = math.Sqrt(float64(s.squares[0]))
	for _, x := range [...]struct {
		name  string
		value float64
	}{{"loss", out.Loss}, {"gradient", out.GradNorm}} {
		if math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			return out, fmt.Errorf("%s at step %d is not a finite number (loss %g, gradient norm %g, learning rate %g): "+
				"lower the learning rate, lengthen the warm-up or clip the gradient", x.name, s.State.Step+1, out.Loss, out.GradNorm, rate)
		}
	}
	return out, nil
}

func (s *stepper) failed(err error) error {
	return fmt.Errorf("step %d failed: %w", s.State.Step+1, err)
}

// gradients leaves the gradient of the batch's loss in Root's Grads, and the loss of each
// row, of each pass, in losses.
func (s *stepper) gradients() {
	n := (s.batch.B + s.Config.chunk() - 1) / s.Config.chunk()
	for i, share := range s.Config.shares() {
		if share > 0 {
			s.losses[i] = resize(s.losses[i], len(s.batch.Labels))
		}
	}
	s.Machine.Sum(n, s.runChunk)
}

// loss is the sum of the labels' losses, of each pass by its share: chunks and rows are
// added in ascending order.
func (s *stepper) loss() float64 {
	total := 0.0
	for i, share := range s.Config.shares() {
		if share == 0 {
			continue
		}
		sum := 0.0
		for _, loss := range s.losses[i] {
			sum += float64(loss)
		}
		total += float64(share * sum)
	}
	return total
}

// chunk computes the gradients of a chunk: all launches of the first pass, then all of
// the second. Each adds to what those before it left, row by row, so that the number of
// examples that a launch has changes no bit where the plan says AnyLaunch.
func (s *stepper) chunk(w device.Worker, i int) {
	first := i * s.Config.chunk()
	end := min(first+s.Config.chunk(), s.batch.B)
	for i, share := range s.Config.shares() {
		if share == 0 {
			continue
		}
		for lo := first; lo < end; lo += s.examples {
			part := s.batch.Slice(lo, min(lo+s.examples, end))
			s.launch(w, lo, &part, s.Config.passes(s.State.Step, lo)[i], i)
		}
	}
	s.Plan.Fold(w.Queue())
}

// launch computes the gradients of pass number i of the examples from first on.
func (s *stepper) launch(w device.Worker, first int, part *task.Batch, p pass, i int) {
	e := w.Env()
	*e = device.Env{B: part.B, T: part.T, S: part.S, C: part.T, NoGrad: p.noGrad, WithGrad: p.withGrad, Times: s.Config.Times,
		Step: uint32(s.State.Step), Example: uint32(first), Seed: s.Config.Seed, Scale: float32(s.Config.shares()[i] * s.weight)}
	lay := s.Plan.Gradients.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, part.Source)
	w.PutInts(lay.Target, part.Target)
	w.PutInts(lay.Labels, part.Labels)
	s.Plan.Gradients.Run(w.Queue(), e)
	w.GetFloats(s.losses[i][part.At:][:len(part.Labels)], lay.Loss)
}

// norm leaves the squared Euclidean norm of the gradient, of all that is trained, in
// element 0 of Root's Work.
func (s *stepper) norm() {
	w := s.Machine.Root()
	e := w.Env()
	*e = device.Env{N: device.Trained(s.Params, s.Plan.NumParams), Step: uint32(s.State.Step), Seed: s.Config.Seed}
	lay := s.Plan.SumSquares.Layout(e)
	w.Fit(max(lay.Work, 1), lay.Ints)
	s.Plan.SumSquares.Run(w.Queue(), e)
}

// update runs the optimizer over each stretch of parameters of equal decay and bound, and
// over matrices. It changes nothing if the norm is not finite.
func (s *stepper) update(rate float64) {
	c := &s.Config
	n := float64(s.State.Step + 1)
	s.optimizer = device.Env{Step: uint32(s.State.Step), Seed: c.Seed, LR: float32(rate), Bound: none,
		BiasCorrection1: float32(1 / (1 - math.Pow(c.Beta1, n))), BiasCorrection2: float32(1 / (1 - math.Pow(c.Beta2, n)))}
	s.Machine.Settle(&s.optimizer, c.Clip, false)
	s.Machine.Root().GetFloats(s.squares[:], device.Ref{Space: device.Work}) // matrices need its place
	for _, s.stretch = range s.stretches {
		s.Machine.Ranges(s.stretch.hi-s.stretch.lo, s.runRange)
	}
	if n := len(s.matrices); n > 0 {
		s.Machine.Ranges(s.matrices[n-1].end, s.runMatrices)
	}
}

// updateRange updates parameters lo … hi-1 of the stretch.
func (s *stepper) updateRange(w device.Worker, lo, hi int) {
	e := w.Env()
	*e = s.optimizer
	e.P, e.N, e.Decay, e.Bound = s.stretch.lo+lo, hi-lo, s.stretch.decay, s.stretch.bound
	lay := s.Plan.Update.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	s.Plan.Update.Run(w.Queue(), e)
}

// updateMatrices updates the matrices that begin in lo … hi-1, of the elements of all
// matrices: none is shared between workers.
func (s *stepper) updateMatrices(w device.Worker, lo, hi int) {
	first := 0
	for _, m := range s.matrices {
		if lo <= first && first < hi {
			e := w.Env()
			*e = s.optimizer
			e.P, e.Decay = m.off, m.decay
			lay := m.update.Layout(e)
			w.Fit(lay.Work, lay.Ints)
			m.update.Run(w.Queue(), e)
		}
		first = m.end
	}
}

// resize gives a slice a length; its contents do not matter.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// A stretch is trained parameters lo … hi-1 of the arena with one decay and one bound,
// none of them a matrix.
type stretch struct {
	lo, hi       int
	decay, bound float32
}

// none is the bound of parameters that have none.
var none = float32(math.Inf(-1))

func (t *Trainer) stretches() []stretch {
	var all []stretch
	for i, p := range t.Params {
		if p.Fixed {
			break
		}
		if p.Matrix {
			continue
		}
		s := stretch{lo: p.Off, hi: t.Plan.NumParams, decay: t.decay(p), bound: none}
		if p.Min != nil {
			s.bound = *p.Min
		}
		if i+1 < len(t.Params) {
			s.hi = t.Params[i+1].Off
		}
		if last := len(all) - 1; last >= 0 && all[last].hi == s.lo && all[last].decay == s.decay && all[last].bound == s.bound {
			all[last].hi = s.hi
			continue
		}
		all = append(all, s)
	}
	return all
}

// A matrix is a parameter that is updated as a whole.
type matrix struct {
	off    int // of its first element in the arena
	end    int // elements of all matrices up to its last one
	decay  float32
	update *device.Program
}

func (t *Trainer) matrices() []matrix {
	var all []matrix
	end := 0
	for _, p := range t.Params {
		if p.Matrix {
			end += p.Elems()
			all = append(all, matrix{p.Off, end, t.decay(p), t.Plan.Matrix(p.Shape)})
		}
	}
	return all
}

// decay is the weight decay of a parameter.
func (t *Trainer) decay(p device.Param) float32 {
	if p.Decay {
		return float32(t.Config.Decay)
	}
	return 0
}
