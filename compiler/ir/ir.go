// Package ir is the tensor IR: straight-line functions over whole tensors, with
// one table row an op (ops.go). Package model builds it from a checked spec,
// package grad adds backward functions, package opt simplifies it and groups its
// values into kernels, and package lower turns the groups into kernel IR.
//
// The float64 interpreter (interp.go) defines what a function means.
package ir

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Dim is one extent of a shape: the constant N, or, when Sym is not empty, a
// size known only at launch: B examples, T target rows, S source tokens, C
// rows of the key/value cache, N elements of an arena, or, with both, so many times N
// elements of it, rounded up.
type Dim struct {
	Sym string
	N   int
}

// Type is the element type and shape of a tensor, row-major: F32, I32, or BF16, of
// which there is no arithmetic. A Map rounds to it (bf16(x0)) and widens it (f32(x0)).
type Type struct {
	Elem  expr.Type
	Shape []Dim
}

// Op is an index into the op table.
type Op uint8

// The ops. "Composite" ones have an expansion into the others, which is what the
// interpreter runs. In the expression of a Map, x0, x1, … are elements of Args
// broadcast from the right, or, with indices, any element of an argument; d0, d1,
// … are the indices of the result; the launch's B T S C P N (I32), step (U32) and
// scale lr bias_correction1 bias_correction2 clip decay bound (F32) are known too.
const (
	Param       Op = iota // an argument of the function
	Map                   // Attr.Expr at every element of the result, of whose type it is
	Dropout               // x [B, ..] * keep / (1 - Rate); random words of Stream counted by element within the example, or as Attr.Expr says; its own gradient
	MatMul                // [.., M, K] x [K, N], or batched [.., M, K] x [.., K, N]; TransA, TransB transpose the last two axes of an operand first; operands of F32 or BF16, result of F32; with Split, a product of F32 is three of the halves of its factors: low * high, high * low, high * high
	Outer                 // a [.., K], b [.., N] -> [K, N]: the sum of outer products over all leading indices, in ascending order; the gradient of MatMul's unbatched right operand; of F32 or BF16 to F32; Split as of MatMul
	Sum                   // over Attr.Axes (removed from the shape)
	SegmentSum            // x [N] -> [N/1024, 1]: the sum of each Segment
	Max                   // over Attr.Axes (removed)
	Reshape               // to Attr.Shape, same elements in the same order
	Transpose             // axes permuted by Attr.Axes
	Gather                // table [V, D], ids [..] -> [.., D]
	Scatter               // ids [..], dy [.., D] -> [V, D]: sum of dy over the rows with each id; Attr.Rows = V
	Append                // cache [B, C, ..], row [B, T, ..], at rows P..P+T-1 -> cache; in place
	Rotate                // x [B, T, H*dh], cos, sin [T, r] -> x, where in each of Heads the elements n and r+n, n < r, are turned by angle n of the row
	RepeatHeads           // x [.., G*dh] -> [.., Heads*dh]: each of G heads Attr.Group times in a row; Heads = G Group
	SumHeads              // x [.., Heads*dh] -> [.., G*dh]: the sum of each Attr.Group heads in a row, in ascending order; the gradient of RepeatHeads

	LayerNorm        // composite: x [.., D], gamma [D], beta [D]; Attr.Eps
	LayerNormGrad    // composite: x, gamma, dy -> Result "x", or of x "mean" or "rstd", 1 / its deviation
	RMSNorm          // composite: x [.., D], gamma [D]; Attr.Eps
	RMSNormGrad      // composite: x, gamma, dy -> Result "x", or of x "rstd", 1 / its root mean square
	HeadProduct      // composite: x [.., H*K], w [K, N] -> [.., H*N]: each head's part of a row times w, or its transpose (TransB)
	HeadOuter        // composite: x [.., H*K], y [.., H*N] -> [K, N]: the sum of outer products over all rows and heads; the gradient of HeadProduct's w
	Attention        // composite: q [B, T, H*dh], k, v [B, J, H*dh], relative scores, parameters … -> [B, T, H*dh]; of BF16 with weights that are rounded too, to F32
	AttentionGrad    // composite: q, k, v, dout (of BF16 if these are), relative scores, parameters … -> Result "q", "k", "v", "relative", or a parameter's name: [B, H, parameter…], the part of each example and head
	AttentionWeights // composite: q, k, relative scores, parameters … -> [B, H, T, J]: Result "weights", what softmax gives, 0 at closed cells; or "logits", what it reads, -Inf there
	BiasTable        // composite: learned parameters … -> [H, T, J], or [H, J] of one row: an attention's bias at every open cell, 0 at closed ones; Attr.Shape
	BiasTableGrad    // composite: dtable [H, T, J] or [H, J], learned parameters … -> Result a parameter's name: [H, parameter…], the part of each head
	CrossEntropy     // composite: logits [.., V], labels [..] -> [..]; rows with label -1 give 0
	CrossEntropyGrad // composite: logits, labels, dloss [..] -> logits gradient
	ArgMax           // [.., V] -> I32 [..]; the first of equals

	Runs   // tokens I32 [B, K] -> I32 [B, T]: the number, from 1, of token P+t in its maximal run of tokens for which Attr.Expr holds of x0; 0 for others. With Attr.Total, how many such tokens there are up to it
	Draw   // -> I32 Attr.Shape [B, ..]: one number below Attr.Rows for each Attr.Group examples, at all their elements; word 0 of Stream
	Subset // -> I32 [T] or [T, 1]: the first T of Attr.Size of 0 .. Attr.Rows-1 in ascending order, all subsets alike, one for each Attr.Group examples; 0 .. T-1 where T is more; words of Stream
	Noise  // -> F32 [B, T, D]: standard normal; random words of Stream counted by row P+t and feature

	numOps
)

// Attr holds what an op needs besides its arguments. Unused fields are zero.
type Attr struct {
	Name   string     // Param: its name; others: a label for the kernel that computes the value
	Total  bool       // Runs: runs go on over other tokens
	Expr   *expr.Expr // Map; Runs; Dropout: the element's number within the example (expansions only)
	Axes   []int      // Sum, Max, Transpose
	Shape  []Dim      // Reshape, Runs, Draw, Subset, Noise; Map: the result shape (needed when indices or no args decide it)
	TransA bool       // MatMul
	TransB bool       // MatMul, HeadProduct
	Split  bool       // MatMul, Outer: factors are halved (kernel.Halves)
	Rate   float64    // Dropout, Attention*: probability of zero
	Stream uint32     // Dropout, Attention*, Draw, Subset, Noise: which random stream
	Eps    float64    // LayerNorm*, RMSNorm*
	Rows   int        // Scatter; Draw, Subset: how many numbers to choose from
	Size   int        // Subset: how many of them are chosen
	Group  int        // Draw, Subset: consecutive examples of a step's batch that share what is drawn; RepeatHeads, SumHeads: consecutive heads that are one there
	Result string     // *Grad ops, AttentionWeights: which of the results this value is
	Attn   *AttnAttr  // Attention*; Rotate, RepeatHeads, SumHeads, HeadProduct, HeadOuter: Heads alone
}

// AttnAttr describes an attention site. Mask and Bias see the variables h, i, j,
// H, I, J (I32) and elements of the parameters by name; i counts from 0 at the first
// target row even when a launch starts at row P. A nil Mask is open everywhere,
// a nil Bias is 0.
type AttnAttr struct {
	Heads  int
	Scale  float64
	Mask   *expr.Expr
	Bias   *expr.Expr
	Params []string // names of the parameters, in the order of the trailing Args; one of I32 [B, rows] holds a number for each row of an example, and expressions leave out the example
	Self   bool     // keys are the target rows themselves
	Table  bool     // the bias is the last argument, a BiasTable [H, T, J] or of more rows and keys, whose gradient is Result "table"; no Bias, no Params
	Fixed  bool     // nothing learns the parameters, and the bias reads them within their shapes at closed cells, too
	Words  []int    // rows and keys by which dropout counts random words, as many as a launch has at most; nil: those of the launch

	// Relative, if not 0, is how far apart positions are told apart: the first
	// argument before table or parameters is [B, T, H*(2 Relative + 1)], whose element
	// clip(j - i, -Relative, Relative) + Relative of a head is added to q·k of a
	// cell. Shaw, Uszkoreit and Vaswani 2018 (arXiv:1803.02155), equation 5.
	Relative int
}

// A Value is one tensor, defined once by Op applied to Args.
type Value struct {
	ID   int // unique within its Func, ascending in Values
	Op   Op
	Type Type
	Args []*Value
	Attr Attr
	Pos  diag.Pos // the spec line that asked for it
}

// A Result is a named output of a Func. An Accumulate result is added to its
// buffer instead of overwriting it (gradients of parameters and of values used
// by several calls).
type Result struct {
	Name       string
	Value      *Value
	Accumulate bool
}

// Role says what a parameter of a Func is bound to.
type Role uint8

// The roles. Gradients are taken with respect to Weight and Input parameters of
// element type F32.
const (
	Input  Role = iota // an activation or token buffer of the plan
	Weight             // a learned parameter
	Saved              // a forward value kept for the backward function
	Grad               // the gradient of a forward result
	Fixed              // a parameter that nothing learns
)

// A Func is a straight line of Values. Blocks, heads and losses are Funcs;
// looping over them is the plan's business.
type Func struct {
	Name    string
	Params  []*Value // Op == Param, also the first Values
	Roles   []Role   // one a parameter
	Values  []*Value // in order of definition
	Results []Result
	Pos     diag.Pos
}
