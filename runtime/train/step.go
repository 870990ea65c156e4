package train

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// An Outcome is the metrics of one step.
type Outcome struct {
	Loss     float64 // nats a label
	GradNorm float64 // before clipping
	Tokens   int     // labels
	Rows     int     // target rows, with and without a label
}

// A flight is an enqueued step whose outcome is not yet known.
type flight struct {
	step     int // steps before it
	examples int
	tokens   int
	rows     int
	rate     float64
	losses   [maxPasses][]float32 // by pass, then by row of the batch, then by model
	squares  []float32            // the sum of squares of each model's gradient
	bounds   []int                // of the rows that each rank computes; nil: one rank
	rooms    [maxPasses]rooms     // if launches have more room than rows
}

// A stepper is the memory of steps. Later steps reuse it: after the first ones nothing is
// allocated.
type stepper struct {
	*Trainer
	source    *source
	flights   []*flight // under way, in order
	spare     []*flight
	now       *flight // being recorded
	last      Outcome // of the last finished step
	rate      float64 // of that step
	err       error   // of the first step with a loss or gradient that is not finite
	batch     task.Batch
	shards    []int         // rank r updates shards[r] … shards[r+1]-1 of the arenas; nil: all
	weight    float64       // of a label in the loss
	room      device.Extent // of every launch of the step; zero: no padding
	padded    []int32
	examples  int // of a launch
	optimizer device.Env
	stretches []stretch
	alike     []stretch // being updated
	matrices  []matrix

	// Method values, allocated once.
	runStep     func()
	runLanded   func()
	runChunk    func(w device.Worker, i int)
	runRange    func(w device.Worker, lo, hi int)
	runMatrices func(w device.Worker, lo, hi int)
}

func newStepper(t *Trainer) *stepper {
	s := &stepper{Trainer: t, stretches: t.stretches(), matrices: t.matrices()}
	s.shard()
	slices.SortStableFunc(s.stretches, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.hi-a.lo, b.hi-b.lo), cmp.Compare(a.decay, b.decay), cmp.Compare(a.bound, b.bound))
	})
	s.examples = t.launchExamples()
	s.source = newSource(s.drawer)
	s.runStep, s.runLanded, s.runChunk, s.runRange, s.runMatrices = s.step, s.landed, s.chunk, s.updateRange, s.updateMatrices
	return s
}

// drawer makes a Drawer for the launches of a step.
func (s *stepper) drawer() *task.Drawer {
	d := s.Drawer()
	switch alike := s.Config.Group / s.examples; {
	case s.Plan.Packed:
		d.Launch(s.examples, 0)
	case s.examples != s.Config.MicroBatch:
		d.Launch(s.examples, alike)
	}
	return d
}

// Drawer makes a Drawer for launches of micro-batches.
func (t *Trainer) Drawer() *task.Drawer {
	d := t.Task.Over(t.Config.Length()).NewDrawer(t.Config.Group, t.Config.MicroBatch)
	if t.Plan.Packed {
		d.Pack()
	}
	return d
}

// Step trains on the next whole batch: gradients of all chunks, their norm, the update. If the
// loss or the gradient is not finite, it changes nothing. After a failure of the machine its
// contents are undefined.
func (t *Trainer) Step(rate float64) (Outcome, error) {
	if err := t.Enqueue(rate); err != nil {
		return Outcome{}, err
	}
	return t.Wait()
}

// Steps enqueues n > 0 steps and waits for the outcome of the last.
func (t *Trainer) Steps(n int, rate float64) (Outcome, error) {
	for range n {
		if err := t.Enqueue(rate); err != nil {
			return Outcome{}, err
		}
	}
	return t.Wait()
}

// Enqueue is Step without the outcome, which Wait returns. After a step that is not finite,
// later steps change nothing, and the next Enqueue or Wait may return its error.
func (t *Trainer) Enqueue(rate float64) error { return t.enqueue(t.Config.Batch, rate) }

// Follow is Enqueue on so many examples, for ranks that follow rank 0 and for models that train
// together.
func (t *Trainer) Follow(examples int, rate float64) error { return t.enqueue(examples, rate) }

// enqueue is Enqueue on so many examples.
func (t *Trainer) enqueue(examples int, rate float64) error {
	if t.Lane != nil {
		return t.inLane(examples, rate)
	}
	if t.stepper == nil {
		t.stepper = newStepper(t)
	}
	return t.stepper.enqueue(examples, rate)
}

// inLane takes a step with other models.
func (t *Trainer) inLane(examples int, rate float64) error {
	if t.stepper == nil {
		t.stepper = &stepper{Trainer: t}
	}
	out, err := t.Lane.Step(examples, rate)
	if err != nil {
		return err
	}
	f := flight{step: t.State.Step, examples: examples, tokens: out.Tokens, rows: out.Rows, rate: rate}
	t.stepper.last, t.stepper.rate = out, rate
	if err := f.check(&out); err != nil {
		return err
	}
	f.count(&t.State)
	return nil
}

// Wait waits for all steps and returns the outcome of the last. No step is under way
// afterwards, even after an error.
func (t *Trainer) Wait() (Outcome, error) {
	if t.stepper == nil {
		return Outcome{}, nil
	}
	return t.stepper.wait()
}

// ahead is the State after all steps under way.
func (t *Trainer) ahead() State {
	state := t.State
	if t.stepper != nil {
		for _, f := range t.stepper.flights {
			f.count(&state)
		}
	}
	return state
}

// count counts a step.
func (f *flight) count(s *State) {
	s.Step++
	s.Examples += int64(f.examples)
	s.Tokens += int64(f.tokens)
	s.Rows += int64(f.rows)
}

func (s *stepper) enqueue(examples int, rate float64) (err error) {
	ahead := s.ahead()
	if s.batch, err = s.source.draw(ahead.Examples, examples); err != nil {
		if _, err := s.wait(); err != nil {
			return err
		}
		return err
	}
	if len(s.spare) == 0 {
		s.spare = append(s.spare, new(flight))
	}
	last := len(s.spare) - 1
	f := s.spare[last]
	s.spare = s.spare[:last]
	f.step, f.examples, f.tokens, f.rows, f.rate = ahead.Step, examples, s.batch.Kept(), s.batch.Rows, rate
	for i, share := range s.Config.shares() {
		if share > 0 {
			f.losses[i] = resize(f.losses[i], s.models()*len(s.batch.Labels))
		}
	}
	f.squares = resize(f.squares, s.models())
	if err := s.lead(f); err != nil {
		return err
	}
	s.now = f
	s.weight = s.Config.weight(examples, f.tokens)
	s.flights = append(s.flights, f)
	if f.count(&ahead); s.Config.used(ahead, 0) < 1 {
		s.source.begin(ahead.Examples, examples) // a batch that grows is drawn again
	}
	if err := s.Machine.Later(s.runStep, s.runLanded); err != nil || s.err != nil || s.Ranks != nil {
		if _, err := s.wait(); err != nil {
			return err
		}
		return s.share()
	}
	return nil
}

func (s *stepper) wait() (Outcome, error) {
	err := s.Machine.Err()
	if err != nil {
		err = fmt.Errorf("step %d failed: %w", s.State.Step+1, err)
	} else {
		err = s.err
	}
	s.spare, s.flights, s.err = append(s.spare, s.flights...), s.flights[:0], nil
	return s.last, err
}

// step is the work of one step.
func (s *stepper) step() {
	n := s.chunks()
	s.makeRoom()
	s.Machine.Sum(n, s.runChunk)
	s.norm()
	s.update()
}

// chunks is the number of chunks of the batch.
func (s *stepper) chunks() int { return (s.batch.B + s.Config.chunk() - 1) / s.Config.chunk() }

// landed is called when the first flight has ended.
func (s *stepper) landed() {
	f := s.flights[0]
	for i := range f.rooms {
		f.rooms[i].empty(f.losses[i])
	}
	copy(s.flights, s.flights[1:])
	s.flights, s.spare = s.flights[:len(s.flights)-1], append(s.spare, f)
	if s.err != nil {
		return // this step has changed nothing
	}
	if s.err = s.collect(f); s.err != nil {
		return
	}
	if s.Landed != nil {
		s.Landed(s.outcomes(f))
		f.count(&s.State)
		return
	}
	s.last, s.rate = s.outcome(f, 0), f.rate
	if s.err = f.check(&s.last); s.err == nil {
		f.count(&s.State)
	}
}

// models is the number of models that train together.
func (s *stepper) models() int { return max(s.Models, 1) }

// outcomes are the outcomes of all models.
func (s *stepper) outcomes(f *flight) []Outcome {
	all := make([]Outcome, s.models())
	for i := range all {
		all[i] = s.outcome(f, i)
	}
	return all
}

// outcome is the outcome of a model.
func (s *stepper) outcome(f *flight, model int) Outcome {
	return Outcome{Loss: s.loss(f, model) / float64(f.tokens), GradNorm: math.Sqrt(float64(f.squares[model])), Tokens: f.tokens, Rows: f.rows}
}

// check is an error if the step was not finite.
func (f *flight) check(out *Outcome) error {
	for _, x := range [...]struct {
		name  string
		value float64
	}{{"loss", out.Loss}, {"gradient", out.GradNorm}} {
		if math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			return fmt.Errorf("%s at step %d is not a finite number (loss %g, gradient norm %g, learning rate %g): "+
				"lower the learning rate, lengthen the warm-up or clip the gradient", x.name, f.step+1, out.Loss, out.GradNorm, f.rate)
		}
	}
	return nil
}

// loss is the sum of a model's losses over labels, each pass weighted by its share. It adds
// rows in ascending order.
func (s *stepper) loss(f *flight, model int) float64 {
	total := 0.0
	for i, share := range s.Config.shares() {
		if share == 0 {
			continue
		}
		sum := 0.0
		for row := model; row < len(f.losses[i]); row += s.models() {
			sum += float64(f.losses[i][row])
		}
		total += float64(share * sum)
	}
	return total
}

// chunk computes the gradients of a chunk: all launches of the first pass, then all of the
// second. Each launch adds to the gradients of the launches before it, row by row. If the plan
// allows AnyLaunch, the result has the same bits for any size of launches.
func (s *stepper) chunk(w device.Worker, i int) {
	first := i * s.Config.chunk()
	end := min(first+s.Config.chunk(), s.batch.B)
	for i, share := range s.Config.shares() {
		if share == 0 {
			continue
		}
		for lo := first; lo < end; {
			next := s.drawn(lo, end)
			p := s.Config.passes(s.now.step, lo)[i]
			s.around(w, &s.Plan.Prepare, lo, p)
			for at := lo; at < next; {
				end := min(s.batch.Launch(at, s.examples), next)
				part := s.batch.Slice(at, end)
				s.launch(w, at, &part, s.pass(at, i), i)
				at = end
			}
			s.around(w, &s.Plan.Finish, lo, p)
			lo = next
		}
	}
	s.Plan.Fold(w.Queue())
}

// pass is pass i of the launch with this example.
func (s *stepper) pass(example, i int) pass {
	if by := s.batch.Recurrences; len(by) > 0 {
		return pass{withGrad: by[example]}
	}
	return s.Config.passes(s.now.step, example)[i]
}

// drawn is the end of the examples from lo on that share their draws, at most end.
func (s *stepper) drawn(lo, end int) int {
	if g := s.Config.Group; g > 0 {
		return min(end, (lo/g+1)*g)
	}
	return end
}

// around runs the program before or after the launches of a pass. These examples, from first
// on, share their draws.
func (s *stepper) around(w device.Worker, program *device.Program, first int, p pass) {
	if program.Run == nil {
		return
	}
	e := w.Env()
	*e = device.Env{B: 1, S: s.Plan.Source, T: s.Plan.Target, C: s.Plan.Target, NoGrad: p.noGrad, WithGrad: p.withGrad, Times: s.Config.Times,
		Step: uint32(s.now.step), Example: uint32(first), Seed: s.Config.Seed}
	lay := program.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	program.Run(w.Queue(), e)
}

// launch computes the gradients of pass i of the examples from first on.
func (s *stepper) launch(w device.Worker, first int, part *task.Batch, p pass, i int) {
	if t := s.Plan.Target; t > 0 && (part.T > t || part.S > s.Plan.Source) {
		panic(fmt.Sprintf("BUG: a problem of %d tokens and %d rows, and bias tables for %d and %d", part.S, part.T, s.Plan.Source, t))
	}
	e := w.Env()
	*e = device.Env{B: part.B, T: part.T, R: len(part.Target), S: part.S, C: part.T, NoGrad: p.noGrad, WithGrad: p.withGrad, Times: s.Config.Times,
		Step: uint32(s.now.step), Example: uint32(first), Seed: s.Config.Seed, Scale: float32(s.Config.shares()[i] * s.weight)}
	n := s.models()
	losses := s.now.losses[i][n*part.At:][:n*len(part.Labels)]
	if room := s.room; room.B > 0 {
		e.Actual = device.Extent{B: e.B, T: e.T, R: e.R, S: e.S, C: e.C}
		e.B, e.T, e.R, e.S, e.C = room.B, room.T, room.R, room.S, room.C
		losses = s.now.rooms[i].take(part.At, len(losses))
	}
	lay := s.Plan.Gradients.Layout(e)
	w.Fit(lay.Work, lay.Ints)
	w.PutInts(lay.Source, s.pad(part.Source, e.B*e.S))
	w.PutInts(lay.Target, s.pad(part.Target, e.Rows()))
	w.PutInts(lay.Labels, s.pad(part.Labels, e.Rows()))
	if k := &part.Packing; s.Plan.Packed {
		w.PutInts(lay.Example, s.pad(k.Example, e.Rows()))
		w.PutInts(lay.Start, s.pad(k.Start, e.B))
		w.PutInts(lay.Length, s.pad(k.Length, e.B))
	}
	if s.room.B > 0 {
		w.Queue().Zero(lay.Loss, len(losses)) // rows of padding have no loss
	}
	s.Plan.Gradients.Run(w.Queue(), e)
	w.GetFloats(losses, lay.Loss)
}

// norm leaves the squared Euclidean norm of the gradient in element 0 of Root's Work.
func (s *stepper) norm() {
	w := s.Machine.Root()
	e := w.Env()
	*e = device.Env{N: device.Trained(s.Params, s.Plan.NumParams), Step: uint32(s.now.step), Seed: s.Config.Seed}
	lay := s.Plan.SumSquares.Layout(e)
	w.Fit(max(lay.Work, 1), lay.Ints)
	s.Plan.SumSquares.Run(w.Queue(), e)
}

// update runs the optimizer over stretches and matrices. It changes nothing if the norm is not
// finite.
func (s *stepper) update() {
	c := &s.Config
	n := float64(s.now.step + 1)
	s.optimizer = device.Env{Step: uint32(s.now.step), Seed: c.Seed, LR: float32(s.now.rate), Bound: none,
		BiasCorrection1: float32(1 / (1 - math.Pow(c.Beta1, n))), BiasCorrection2: float32(1 / (1 - math.Pow(c.Beta2, n)))}
	s.Machine.Settle(&s.optimizer, c.Clip, len(s.flights) > 1 || s.err != nil)
	s.Machine.Root().GetFloats(s.now.squares, device.Ref{Space: device.Work}) // before matrices overwrite it
	for s.alike = range alike(s.stretches, s.Plan.Joins) {
		s.Machine.Ranges(s.alike[0].hi-s.alike[0].lo, s.runRange)
	}
	if n := len(s.matrices); n > 0 {
		s.Machine.Ranges(s.matrices[n-1].end, s.runMatrices)
	}
}

// updateRange updates parameters lo … hi-1 of each of the alike stretches.
func (s *stepper) updateRange(w device.Worker, lo, hi int) {
	e, q := w.Env(), w.Queue()
	*e = s.optimizer
	for _, x := range s.alike {
		e.P, e.N, e.Decay, e.Bound = x.lo+lo, hi-lo, x.decay, x.bound
		lay := s.Plan.Update.Layout(e)
		w.Fit(lay.Work, lay.Ints)
		s.Plan.Update.Run(q, e)
		q = q.Joining()
	}
}

// updateMatrices updates the matrices that begin at elements lo … hi-1 of all matrices, so that
// workers share none.
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

// resize returns a slice of length n, with any contents.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// A stretch is trained parameters lo … hi-1 of the arena, outside matrices, with one decay and
// one bound.
type stretch struct {
	lo, hi       int
	decay, bound float32
}

// alike yields runs of stretches that differ only in their place. Without joins each run is one
// stretch.
func alike(stretches []stretch, joins bool) iter.Seq[[]stretch] {
	return func(yield func([]stretch) bool) {
		for lo := 0; lo < len(stretches); {
			n, first := 1, stretches[lo]
			for joins && lo+n < len(stretches) && stretches[lo+n].at(first.lo) == first {
				n++
			}
			if !yield(stretches[lo : lo+n]) {
				return
			}
			lo += n
		}
	}
}

// at is the stretch moved to another place.
func (s stretch) at(lo int) stretch {
	s.lo, s.hi = lo, lo+s.hi-s.lo
	return s
}

// none is the bound of unbounded parameters.
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
	off    int // first element in the arena
	end    int // elements of all matrices up to its own last
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
