// Package device is the interface of generated plans: where tensors live, what a launch knows
// of its shapes, and the queue that takes launches. CPU, CUDA driver and simulator implement
// Launcher; the plan does not know which one runs it.
//
// Results do not depend on how a step is divided, since sums have one order:
//
//   - A chunk of examples is the unit of parallel work. Kernels add its gradients row by row,
//     as one chain. The number of examples in a launch therefore does not matter, unless masks
//     or biases read a text's length.
//   - Each further use of a parameter, in a run of a loop or at another place, has a separate
//     chain in the space Uses. Uses are added at the end of the chunk.
//   - Gradients of chunks are added as a fixed binary tree (treetest.Tree), so the number of cores does
//     not matter. Workers add the rest of the tree together, a range each. Replicas in a GPU's
//     launch are added by one launch as the same tree.
//   - Each rank adds its chunks to nodes of the tree. Ranks exchange slices of the nodes, and
//     each adds its slices in the order of the tree. So the number of ranks does not matter.
//
// Methods of a device return no errors while work is under way. A Machine keeps its first
// error, and the runtime asks for it before it counts a step or writes a checkpoint. The trainer
// queues steps ahead (Machine.Later) and waits only for reports and checkpoints. A step that is
// not finite changes nothing, nor do the steps after it.
package device

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
)

// Space is one of the memories of a training run.
type Space uint8

// The spaces. Params and the optimizer's states are shared by all micro-batches. Grads, Uses,
// Work and Ints belong to the chunk that is being computed.
const (
	Params    Space = iota // float32, all learned parameters, flat
	Grads                  // float32, laid out as Params
	Uses                   // float32, kept from launch to launch: gradients of parameters by their second and later uses, bias tables
	Work                   // float32: activations, saved values, key/value caches
	Ints                   // int32: tokens, labels, predictions
	Rounded                // bfloat16, rounded Params of a Plan with Rounds: Update writes it, and so does all else that sets Params
	Each                   // float32, one value of a launch for each of several models trained at once: the Clip of its Env
	State                  // float32, laid out as Params: the optimizer's first state; State+i is state i
	NumSpaces = State + MaxStates
)

// MaxStates is the most states that an optimizer has.
const MaxStates = 4

// Shared reports whether all micro-batches see the same space.
func (s Space) Shared() bool { return s == Params || s >= Rounded }

// A Ref is the first element of a tensor in a space. Off counts words of 4 bytes: one float32
// or two 16-bit elements. In Rounded it counts elements.
type Ref struct {
	Space Space
	Off   int
}

// Plus returns the Ref n words further.
func (r Ref) Plus(n int) Ref { return Ref{r.Space, r.Off + n} }

// Rounded returns the place of rounded parameters in the space Rounded.
func (r Ref) Rounded() Ref { return Ref{Rounded, r.Off} }

// Env is the step and the shapes that kernels see. Scalar parameters of a kernel are bound to
// its fields by name (in brackets).
type Env struct {
	B               int     // examples in this launch [B]
	T               int     // target rows of the longest example in this launch [T]
	R               int     // target rows of all examples, as a Packed Plan counts them; 0: B*T [R]
	S               int     // source tokens [S]
	C               int     // rows of the self-attention keys: T, or the key/value cache's capacity [C]
	P               int     // the first target row, 0 unless decoding row by row [P]
	N               int     // elements, for kernels over flat arenas [N]
	NoGrad          int     // runs of a looped stack before the runs with a gradient; Gradients only
	WithGrad        int     // runs with a gradient, at least 1; Gradients only [recurrences]
	Times           int     // runs of a looped stack in Forward and Decode, at least 1
	Layer           int     // layer instance, counted through all runs; selects the random stream [layer]
	Step            uint32  // training step [step]
	Example         uint32  // index of the launch's first example within the step's batch [example]
	Seed            uint64  // [seed0] low half, [seed1] high half
	Scale           float32 // weight of one target token in the loss, 1/tokens of the batch [scale]
	LR              float32 // learning rate [lr]
	BiasCorrection1 float32 // 1/(1-beta1^t) [bias_correction1]
	BiasCorrection2 float32 // 1/(1-beta2^t) [bias_correction2]
	Clip            float32 // factor on the gradient from norm clipping; NaN: the update changes nothing [clip]
	Settled         bool    // Machine.Settle has set Clip, perhaps only on the device
	Decay           float32 // weight decay of this range of parameters [decay]
	Bound           float32 // least value of this range of parameters; -Inf: unbounded [bound]
	Actual          Extent  // actual sizes if B to C are capacities; zero: equal to them. Only for machines that Repeat, and Packed plans
}

// An Extent is how many examples, target rows, source tokens and keys a launch has, counted as
// in an Env.
type Extent struct{ B, T, R, S, C int }

// Launched returns e with the actual sizes instead of the capacities.
func (e *Env) Launched() Env {
	out := *e
	if a := e.Actual; a.B > 0 {
		out.B, out.T, out.R, out.S, out.C, out.Actual = a.B, a.T, a.R, a.S, a.C, Extent{}
	}
	return out
}

// Rows returns the number of target rows of all examples.
func (e *Env) Rows() int {
	if e.R > 0 {
		return e.R
	}
	return e.B * e.T
}

// A Launcher takes launches in order. Kernel is an index into the model's kernel table. Args
// are the kernel's buffers in order, valid only during the call.
type Launcher interface {
	Launch(kernel int, env *Env, args ...Ref)
	// Join is a Launch that follows a Launch or Join of the same kernel and scalars. All of them
	// are independent: none writes memory that another one reads or writes. A device may
	// combine them into one launch.
	Join(kernel int, env *Env, args ...Ref)
	// Zero clears n elements.
	Zero(r Ref, n int)
	// Add adds n float32 elements at from to the elements at to.
	Add(to, from Ref, n int)
}

// A Queue passes launches to a Launcher. It reuses the memory of their arguments: a slice
// passed directly to an interface method would be allocated at every launch.
type Queue struct {
	to    Launcher
	args  *[]Ref
	joins bool
}

// NewQueue returns a Queue, which must not be used from two goroutines at once.
func NewQueue(to Launcher) Queue { return Queue{to, new([]Ref), false} }

// Joining returns a Queue whose Launch is a Join.
func (q Queue) Joining() Queue { return Queue{q.to, q.args, true} }

// Launch calls Launch of the Launcher.
func (q Queue) Launch(kernel int, env *Env, args ...Ref) {
	if q.joins {
		q.Join(kernel, env, args...)
		return
	}
	*q.args = append((*q.args)[:0], args...)
	q.to.Launch(kernel, env, *q.args...)
}

// Join calls Join of the Launcher.
func (q Queue) Join(kernel int, env *Env, args ...Ref) {
	*q.args = append((*q.args)[:0], args...)
	q.to.Join(kernel, env, *q.args...)
}

// Zero clears n elements.
func (q Queue) Zero(r Ref, n int) { q.to.Zero(r, n) }

// Add adds n float32 elements at from to the elements at to.
func (q Queue) Add(to, from Ref, n int) { q.to.Add(to, from, n) }

// The parameters of a model, as its compiler describes them.
type (
	Param = config.Param
	Init  = config.Init
)

// A Layout says where a program of the plan reads and writes for one Env, and how much memory
// it needs.
type Layout struct {
	Work    int // elements of the Work space
	Ints    int // elements of the Ints space
	Largest int // elements of the largest tensor, which kernel indices must reach
	Source  Ref // I32 [B, S] source tokens; unset for a model that reads one text
	Target  Ref // I32 [B, T] decoder input tokens
	Example Ref // I32 [R] the example of each row (Example, Start and Length only in Gradients of a Packed Plan)
	Start   Ref // I32 [B] the first row of each example
	Length  Ref // I32 [B] rows of each example, at most T
	Labels  Ref // I32 [B, T] expected tokens, -1 where there is no loss
	Pred    Ref // I32 [B, T] argmax of the logits
	Loss    Ref // F32 [B, T] loss of each row (Gradients, and Forward if reports have losses)
	Logits  Ref // F32 [B, T, tokens] (Forward of a model of text)
	Self    Ref // F32 [B, heads, T, T] (Attention only)
	Cross   Ref // F32 [B, heads, T, S] (Attention only, for a model with a source)
}

// A Program is one entry point of the plan. Layout is a pure function of Env's shapes. Run(q,
// e) reads and writes where Layout(e) says and needs spaces at least that large.
type Program struct {
	Layout func(e *Env) Layout
	Run    func(q Queue, e *Env)
}

// Workspace returns the elements of Work and Ints that a launch on the given number of examples
// takes; e.B is ignored. Each example adds the same amount. The result is float64 because
// absurd shapes overflow integers.
func (p Program) Workspace(examples int, e Env) float64 {
	room := func(examples int) float64 {
		e.B = examples
		lay := p.Layout(&e)
		return float64(lay.Work) + float64(lay.Ints)
	}
	one := room(1)
	return one + float64(examples-1)*(room(2)-one)
}

// Bytes returns the memory for Work and Ints of a launch on the given number of examples; e.B
// is ignored. It returns +Inf if kernels cannot index the largest tensor.
func (p Program) Bytes(examples int, e Env) float64 {
	const wordBytes = 4
	e.B = examples
	if p.Layout(&e).Largest > math.MaxInt32 {
		return math.Inf(1)
	}
	return wordBytes * p.Workspace(examples, e)
}

// A Plan is everything a trainer launches.
//
//	Gradients  one micro-batch forward and backward; adds to Grads, writes Loss and Pred.
//	           A row whose loss is not finite adds NaN.
//	Prepare    before launches that share random draws: computes their common values,
//	           clears their accumulators.
//	Finish     after these launches: adds the accumulated gradients to Grads. Prepare and
//	           Finish have no Run if nothing is shared.
//	Forward    teacher forcing without dropout; writes Pred and, if it has a Loss, Loss.
//	Encode     the source side of decoding; fills the cross-attention caches.
//	Decode     target rows P … P+T-1, after Encode with the same B, S, C and Times; writes Pred [B, T].
//	SumSquares of the Grads arena, into Work element 0 (Env.N elements).
//	Update     the optimizer on N elements from element Env.P of the arenas.
//	Matrices   the optimizer on a matrix whose first element is Env.P, one for each
//	           shape of parameters with Matrix.
//	Attention  teacher forcing without dropout; writes one decoder layer's attention into
//	           Self and Cross: its weights, 0 in masked cells, or its logits, -Inf there.
//	           Writes nothing unless a calibration reads this model.
//
// Encode and Decode share one Layout, which depends only on B, S, C and Times, so the caches
// survive between launches. Pred and Target have room for C rows an example. Encode of a model
// without a source does nothing.
type Plan struct {
	NumParams  int      // elements of the Params arena, including fixed ones
	NumUses    int      // elements of the Uses space
	Folds      []Fold   // additions from Uses to Grads at the end of a chunk
	Source     int      // tokens of the longest problems, for which Prepare and Finish run; 0, like Target, without them
	Target     int      // target rows of the longest problems
	AnyLaunch  bool     // sums of gradients do not depend on how a chunk is divided into launches
	Packed     bool     // in Gradients the rows of all examples are stored consecutively, R in total: no row pads
	AnyLength  bool     // padding rows do not change a problem's results
	Joins      bool     // Update is one launch; updates of as many other elements may join it
	Rounds     bool     // the space Rounded has all parameters
	States     []string // names of the optimizer's states; state i is in the space State+i
	Prepare    Program
	Gradients  Program
	Finish     Program
	Forward    Program
	Encode     Program
	Decode     Program
	SumSquares Program
	Update     Program
	Attention  Program

	Matrices     []Matrix
	MatrixStates int // how many of the first states the optimizer keeps for a Matrix
}

// Averages reports whether the optimizer keeps an average of the parameters.
func (p *Plan) Averages() bool { return slices.Contains(p.States, config.AverageState) }

// Average returns the space of the average. It panics if the plan keeps none.
func (p *Plan) Average() Space {
	i := slices.Index(p.States, config.AverageState)
	if i < 0 {
		panic("BUG: the plan keeps no average of its parameters")
	}
	return State + Space(i)
}

// Matrix returns the update of matrices of a shape. It panics if the plan has no such update.
func (p *Plan) Matrix(shape []int) *Program {
	i := slices.IndexFunc(p.Matrices, func(m Matrix) bool { return slices.Equal(shape, []int{m.Rows, m.Cols}) })
	if i < 0 {
		panic(fmt.Sprintf("BUG: the plan has no update of matrices of shape %v", shape))
	}
	return &p.Matrices[i].Update
}

// A Fold adds gradients from Uses to Grads.
type Fold = config.Fold

// Fold adds the gradients of a chunk's further uses to Grads, in ascending order of the uses.
// The sums in Uses are not needed after it.
func (p *Plan) Fold(q Queue) {
	for _, f := range p.Folds {
		q.Add(Ref{Grads, f.To}, Ref{Uses, f.From}, f.N)
	}
}

// A Matrix is the optimizer's update for matrices of one shape.
type Matrix struct {
	Rows, Cols int
	Update     Program
}
