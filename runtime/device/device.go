// Package device is what a generated plan is written against: where tensors
// live, what a launch needs to know, and the queue that takes launches. CPU,
// CUDA driver and simulator implement Launcher; the plan does not know which.
//
// How a step is divided changes no bit of it, since sums have one order:
//
//   - A chunk of examples is the unit of parallel work. Kernels add its gradients row by row,
//     as one chain, so the number of examples of a launch does not matter, unless masks or
//     biases read a text's length.
//   - Each further use of a parameter, in a run of a loop or at another place, has a chain of
//     its own in the space Uses; uses are added at the end of the chunk.
//   - Gradients of chunks are added as a fixed binary tree (Tree), so the number of cores does
//     not matter. Workers add the rest of the tree together, a range each; replicas of a GPU's
//     launch are added by one launch as the same tree.
//   - Ranks add their own chunks to nodes of the tree, exchange slices of the nodes, and each
//     adds its slices in the order of the tree. So the number of ranks does not matter.
//
// A device reports no errors in the middle of a method: a Machine keeps its first error, and
// the runtime asks for it before it counts a step or writes a checkpoint. The trainer asks for
// steps ahead (Machine.Later) and waits only for reports and checkpoints. A step that is not
// finite changes nothing, nor do steps after it.
package device

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
)

// Space is one of the memories of a training run.
type Space uint8

// The spaces. Params and the optimizer's states are shared by all micro-batches;
// Grads, Uses, Work and Ints belong to the chunk that is being computed.
const (
	Params    Space = iota // float32, all learned parameters, flat
	Grads                  // float32, laid out as Params
	Uses                   // float32, what is kept from launch to launch: gradients of parameters by their second and later uses, bias tables
	Work                   // float32: activations, saved values, key/value caches
	Ints                   // int32: tokens, labels, predictions
	Rounded                // bfloat16, Params rounded, of a Plan that Rounds: kept by Update and by whatever else sets Params
	Each                   // float32, what each of several models that are trained at once has of a launch: the Clip of its Env
	State                  // float32, laid out as Params: the optimizer's first state; State+i is number i
	NumSpaces = State + MaxStates
)

// MaxStates is the most states that an optimizer has.
const MaxStates = 4

// Shared reports whether all micro-batches see the same space.
func (s Space) Shared() bool { return s == Params || s >= Rounded }

// A Ref is the first element of a tensor in a space. Off counts words of 4 bytes, of
// which an element is one, or a half: one of 16 bits. In Rounded it counts elements.
type Ref struct {
	Space Space
	Off   int
}

// Plus returns the Ref n words further.
func (r Ref) Plus(n int) Ref { return Ref{r.Space, r.Off + n} }

// Rounded is where parameters are rounded.
func (r Ref) Rounded() Ref { return Ref{Rounded, r.Off} }

// Env is what kernels see of the step and the shapes they run on: the scalar
// parameters of a kernel are bound to its fields by name (in brackets).
type Env struct {
	B               int     // examples in this launch [B]
	T               int     // target rows of the longest example in this launch [T]
	R               int     // target rows of all examples, which a Plan that is Packed counts; 0: B*T [R]
	S               int     // source tokens [S]
	C               int     // rows of the self-attention keys: T, or the key/value cache's capacity [C]
	P               int     // the first target row, 0 unless decoding row by row [P]
	N               int     // elements, for kernels over flat arenas [N]
	NoGrad          int     // runs of a looped stack before those with a gradient; Gradients alone
	WithGrad        int     // runs with a gradient, at least 1; Gradients alone
	Times           int     // runs of a looped stack in Forward and Decode, at least 1
	Layer           int     // the layer instance, counted through all runs, which keeps random streams apart [layer]
	Step            uint32  // training step [step]
	Example         uint32  // index of the launch's first example within the step's batch [example]
	Seed            uint64  // [seed0] low half, [seed1] high half
	Scale           float32 // weight of one target token in the loss, 1/tokens of the batch [scale]
	LR              float32 // learning rate [lr]
	BiasCorrection1 float32 // 1/(1-beta1^t) [bias_correction1]
	BiasCorrection2 float32 // 1/(1-beta2^t) [bias_correction2]
	Clip            float32 // factor on the gradient from norm clipping; NaN: the update changes nothing [clip]
	Settled         bool    // Clip is what Machine.Settle has found, which may be known to the device alone
	Decay           float32 // weight decay of this range of parameters [decay]
	Bound           float32 // the least value of this range of parameters, -Inf: none [bound]
	Actual          Extent  // what the launch has of B to C where those are what it has room for; zero: as much. For machines that Repeat, and plans that are Packed
}

// An Extent is how many examples, target rows, source tokens and keys a launch has, as an
// Env counts them.
type Extent struct{ B, T, R, S, C int }

// Launched is e with what the launch has where e has room for more.
func (e *Env) Launched() Env {
	out := *e
	if a := e.Actual; a.B > 0 {
		out.B, out.T, out.R, out.S, out.C, out.Actual = a.B, a.T, a.R, a.S, a.C, Extent{}
	}
	return out
}

// Rows is how many target rows all examples have.
func (e *Env) Rows() int {
	if e.R > 0 {
		return e.R
	}
	return e.B * e.T
}

// A Launcher takes launches in order. Kernel is an index into the model's kernel
// table; args are the kernel's buffers in order, valid only during the call.
type Launcher interface {
	Launch(kernel int, env *Env, args ...Ref)
	// Join is a Launch directly behind one, or a Join, of the same kernel and scalars, which
	// are independent: none writes what another reads or writes. A device may make them
	// one launch.
	Join(kernel int, env *Env, args ...Ref)
	// Zero clears n elements.
	Zero(r Ref, n int)
	// Add adds n elements of float32 to others.
	Add(to, from Ref, n int)
}

// A Queue passes launches on to a Launcher. It has room for their arguments: a
// slice that goes to an interface directly would be allocated at every launch.
type Queue struct {
	to    Launcher
	args  *[]Ref
	joins bool
}

// NewQueue returns a Queue, which must not be used from two goroutines at once.
func NewQueue(to Launcher) Queue { return Queue{to, new([]Ref), false} }

// Joining is a Queue whose Launch is a Join.
func (q Queue) Joining() Queue { return Queue{q.to, q.args, true} }

// Launch is a launch of the Launcher.
func (q Queue) Launch(kernel int, env *Env, args ...Ref) {
	if q.joins {
		q.Join(kernel, env, args...)
		return
	}
	*q.args = append((*q.args)[:0], args...)
	q.to.Launch(kernel, env, *q.args...)
}

// Join is a Join of the Launcher.
func (q Queue) Join(kernel int, env *Env, args ...Ref) {
	*q.args = append((*q.args)[:0], args...)
	q.to.Join(kernel, env, *q.args...)
}

// Zero clears n elements.
func (q Queue) Zero(r Ref, n int) { q.to.Zero(r, n) }

// Add adds n elements of float32 to others.
func (q Queue) Add(to, from Ref, n int) { q.to.Add(to, from, n) }

// The parameters of a model, as its compiler tells them.
type (
	Param = config.Param
	Init  = config.Init
)

// A Layout says where a program of the plan reads and writes, and how much
// memory it needs, for one Env.
type Layout struct {
	Work    int // elements of the Work space
	Ints    int // elements of the Ints space
	Largest int // elements of the largest tensor, which an index of a kernel must reach
	Source  Ref // I32 [B, S] source tokens; nowhere in a model that reads one text
	Target  Ref // I32 [B, T] decoder input tokens
	Example Ref // I32 [R] the example of each row (Gradients of a Plan that is Packed, as the next two)
	Start   Ref // I32 [B] the first row of each example
	Length  Ref // I32 [B] its rows, at most T
	Labels  Ref // I32 [B, T] expected tokens, -1 where there is no loss
	Pred    Ref // I32 [B, T] argmax of the logits
	Loss    Ref // F32 [B, T] loss of each row (Gradients, and Forward where reports have losses)
	Self    Ref // F32 [B, heads, T, T] (Attention only)
	Cross   Ref // F32 [B, heads, T, S] (Attention only, of a model with a source)
}

// A Program is one entry point of the plan. Layout is a pure function of Env's
// shapes; Run(q, e) reads and writes where Layout(e) says and needs spaces at
// least that large.
type Program struct {
	Layout func(e *Env) Layout
	Run    func(q Queue, e *Env)
}

// Workspace is how many elements of Work and Ints a launch on so many examples takes, e
// apart from its B. It grows by as much with each example, and is a sum, since that of
// an absurd number may be beyond integers.
func (p Program) Workspace(examples int, e Env) float64 {
	room := func(examples int) float64 {
		e.B = examples
		lay := p.Layout(&e)
		return float64(lay.Work) + float64(lay.Ints)
	}
	one := room(1)
	return one + float64(examples-1)*(room(2)-one)
}

// Bytes is the memory for Work and Ints of a launch on so many examples, e apart from its
// B; +Inf if a tensor would have more elements than kernels count.
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
//	           What a row whose loss is not finite adds is not a number
//	Prepare    before launches that share their draws: what is the same for them; clears what they add to
//	Finish     after them: adds to Grads what follows from what they have added; both without Run where nothing is shared
//	Forward    teacher forcing without dropout; writes Pred and, where it has a Loss, Loss
//	Encode     the source side of decoding; fills the cross-attention caches
//	Decode     target rows P … P+T-1, after Encode with the same B, S, C and Times; writes Pred [B, T]
//	SumSquares of the Grads arena, into Work element 0 (Env.N elements)
//	Update     the optimizer on N elements from element Env.P of the arenas
//	Matrices   the optimizer on a matrix whose first element is Env.P, one for each
//	           shape of parameters that are a Matrix
//	Attention  teacher forcing without dropout; writes the weights of one decoder
//	           layer's attention, 0 where a cell is closed, or its logits, -Inf there,
//	           into Self and Cross; nothing unless a calibration reads this model
//
// Encode and Decode share one Layout, which depends on B, S, C and Times alone, so
// that the caches survive between launches; Pred and Target have room for C rows an
// example. Encode of a model without a source does nothing.
type Plan struct {
	NumParams  int      // elements of the Params arena, fixed ones among them
	NumUses    int      // elements of the Uses space
	Folds      []Fold   // what is left to do with gradients in it when a chunk is through
	Source     int      // tokens of the longest problems, for which Prepare and Finish run; Target too is 0 without these
	Target     int      // and their rows
	AnyLaunch  bool     // sums of gradients are the same however a chunk is cut into launches
	Packed     bool     // [B, T] is R rows in Gradients, those of one example behind those of the one before: no row pads
	AnyLength  bool     // rows behind a problem's last change nothing that is said of it
	Joins      bool     // Update is one launch, which others on as many elements, none of them the same, may join
	Rounds     bool     // the space Rounded has all parameters
	States     []string // names of the optimizer's states: number i is in the space State+i
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
	MatrixStates int // how many states, the first ones, the optimizer keeps of a Matrix
}

// Averages reports whether the optimizer keeps an average of the parameters.
func (p *Plan) Averages() bool { return slices.Contains(p.States, config.AverageState) }

// Average is the space of that average, which must be kept.
func (p *Plan) Average() Space {
	i := slices.Index(p.States, config.AverageState)
	if i < 0 {
		panic("BUG: the plan keeps no average of its parameters")
	}
	return State + Space(i)
}

// Matrix is the update of matrices of a shape, which must be one that the plan has.
func (p *Plan) Matrix(shape []int) *Program {
	i := slices.IndexFunc(p.Matrices, func(m Matrix) bool { return slices.Equal(shape, []int{m.Rows, m.Cols}) })
	if i < 0 {
		panic(fmt.Sprintf("BUG: the plan has no update of matrices of shape %v", shape))
	}
	return &p.Matrices[i].Update
}

// A Fold is one of a Plan: from Uses to Grads.
type Fold = config.Fold

// Fold adds the gradients of a chunk's further uses to those of the first, in
// ascending order of the uses. What is in Uses is of no more use.
func (p *Plan) Fold(q Queue) {
	for _, f := range p.Folds {
		q.Add(Ref{Grads, f.To}, Ref{Uses, f.From}, f.N)
	}
}

// A Matrix is how the optimizer updates the matrices of one shape.
type Matrix struct {
	Rows, Cols int
	Update     Program
}
