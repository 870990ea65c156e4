// Package ir is the tensor IR: straight-line functions over whole tensors. Each op has
// one row in a table (ops.go). Package model builds functions from a checked spec,
// package grad adds backward functions, package opt simplifies them and groups values
// into kernels, and package lower turns the groups into kernel IR.
//
// The float64 interpreter (interp.go) defines the meaning of a function.
package ir

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Dim is one extent of a shape. It is the constant N or, if Sym is not empty, a size
// known only at launch: B examples, T target rows, S source tokens, C rows of the
// key/value cache, N elements of an arena. With both it is the size divided by N, rounded
// up.
type Dim struct {
	Sym string
	N   int
}

// Type is the element type and shape of a row-major tensor: F32, I32 or BF16. BF16 has no
// arithmetic. A Map rounds to it (bf16(x0)) and widens it (f32(x0)).
type Type struct {
	Elem  expr.Type
	Shape []Dim
}

// Op is an index into the op table.
type Op uint8

// The ops. A composite op has an expansion into the others, which the interpreter runs.
// In the expression of a Map, x0, x1, … are elements of Args broadcast from the right or,
// with indices, any element of an argument. d0, d1, … are the indices of the result. It
// may also use the launch's B T S C P N, layer and recurrences (I32), step (U32) and scale lr bias_correction1
// bias_correction2 clip decay bound (F32).
const (
	Param       Op = iota // an argument of the function
	Map                   // Attr.Expr at every element of the result, whose type it gives
	Dropout               // x [B, ..] * keep / (1 - Rate); an element's random word of Stream is its index in the example, or Attr.Expr; its own gradient
	MatMul                // [.., M, K] x [K, N], or batched [.., M, K] x [.., K, N]; TransA, TransB first transpose an operand's last two axes; F32 or BF16 to F32; Split replaces an F32 product by three products of the factors' halves: low * high, high * low, high * high
	Outer                 // a [.., K], b [.., N] -> [K, N]: the sum of outer products over all leading indices, in ascending order; the gradient of MatMul's unbatched right operand; F32 or BF16 to F32; Split as in MatMul
	Sum                   // over Attr.Axes (removed from the shape)
	SegmentSum            // x [N] -> [N/1024]: the sum of each Segment
	Max                   // over Attr.Axes (removed)
	Reshape               // to Attr.Shape, same elements in the same order
	Transpose             // axes permuted by Attr.Axes
	Gather                // table [V, D], ids [..] -> [.., D]
	Scatter               // ids [..], dy [.., D] -> [V, D]: sum of dy over the rows with each id; Attr.Rows = V
	Append                // cache [B, C, ..], row [B, T, ..], at rows P..P+T-1 -> cache; in place
	Rotate                // x [B, T, H*dh], cos, sin [T, r] -> x; in each of Heads the elements n and r+n, n < r, are rotated by the row's angle n
	RepeatHeads           // x [.., G*dh] -> [.., Heads*dh]: each of G heads Attr.Group times; Heads = G Group
	SumHeads              // x [.., Heads*dh] -> [.., G*dh]: the sum of each Attr.Group consecutive heads, in ascending order; the gradient of RepeatHeads

	ScaleGrad        // composite: x [..] itself, whose gradient is multiplied by Attr.Expr, an F32 of the launch
	LayerNorm        // composite: x [.., D], gamma [D], beta [D]; Attr.Eps
	LayerNormGrad    // composite: x, gamma, dy -> Result "x", or for x "mean" or "rstd", 1 / its deviation
	RMSNorm          // composite: x [.., D], gamma [D]; Attr.Eps
	RMSNormGrad      // composite: x, gamma, dy -> Result "x", or for x "rstd", 1 / its root mean square
	HeadProduct      // composite: x [.., H*K], w [K, N] -> [.., H*N]: each head's part of a row times w, or its transpose (TransB)
	HeadOuter        // composite: x [.., H*K], y [.., H*N] -> [K, N]: the sum of outer products over all rows and heads; the gradient of HeadProduct's w
	Attention        // composite: q [B, T, H*dh], k, v [B, J, H/Group*dh], relative scores, parameters … -> [B, T, H*dh]; BF16 arguments round the weights too and give F32. Result "largest" or "norm": [B, T, H], the largest score of each row, or 1 / the sum of exp(score - largest); 0 where no cell is open
	AttentionGrad    // composite: q, k, v, dout (BF16 if q is), largest, norm, and y if q is BF16, which are results of the Attention, relative scores, parameters … -> Result "q", "k" and "v" for each head of q, "relative", or a parameter's name: [B, H, parameter…], the part of each example and head
	AttentionWeights // composite: q, k, relative scores, parameters … -> [B, H, T, J]: Result "weights", the softmax, 0 at closed cells; or "logits", its input, -Inf there
	BiasTable        // composite: learned parameters … -> [H, T, J], or [H, J] for one row: an attention's bias at every open cell, 0 at closed ones; Attr.Shape
	BiasTableGrad    // composite: dtable [H, T, J] or [H, J], learned parameters … -> Result a parameter's name: [H, parameter…], the part of each head
	CrossEntropy     // composite: logits [.., V], labels [..] -> [..]; rows with label -1 give 0; Rate is the share of a label that all V share (Szegedy et al. 2016, section 7)
	CrossEntropyGrad // composite: logits, labels, dloss [..] -> logits gradient
	ArgMax           // [.., V] -> I32 [..]; the first index of the maximum

	Runs   // tokens I32 [B, K] -> I32 [B, T]: the place, from 1, of token P+t in its maximal run of tokens x0 for which Attr.Expr holds; 0 for others. With Attr.Total, the number of such tokens up to it
	Draw   // -> I32 Attr.Shape [B, ..]: one number below Attr.Rows for each Attr.Group examples, equal for all their elements; word 0 of Stream
	Subset // -> I32 [T] or [T, 1]: the first T of Attr.Size of 0 .. Attr.Rows-1 in ascending order, a uniform subset for each Attr.Group examples; 0 .. T-1 if T is larger; words of Stream
	Noise  // -> F32 [B, T, D]: standard normal; random words of Stream indexed by row P+t and feature

	numOps
)

// Attr holds an op's attributes. Unused fields are zero.
type Attr struct {
	Name   string     // Param: its name; others: a label for the kernel that computes the value
	Total  bool       // Runs: count all members so far, not those of one run
	Expr   *expr.Expr // Map; Runs; Dropout: the element's index in the example (expansions only)
	Axes   []int      // Sum, Max, Transpose
	Shape  []Dim      // Reshape, Runs, Draw, Subset, Noise; Map: the result shape (if indices or no args decide it)
	TransA bool       // MatMul
	TransB bool       // MatMul, HeadProduct
	Split  bool       // MatMul, Outer: factors are split into halves (kernel.Halves)
	Rate   float64    // Dropout, Attention*: probability of zero
	Stream uint32     // Dropout, Attention*, Draw, Subset, Noise: the random stream
	Eps    float64    // LayerNorm*, RMSNorm*
	Rows   int        // Scatter; Draw, Subset: the count of numbers to choose from
	Size   int        // Subset: the count of chosen numbers
	Group  int        // Draw, Subset: consecutive examples of a step's batch that share a draw; RepeatHeads, SumHeads: consecutive heads that share one; Attention, AttentionGrad: heads of q that share a head of k and v, 0: 1
	Result string     // *Grad ops, AttentionWeights, Attention: which result this value is; "": the first
	Attn   *AttnAttr  // Attention*; Rotate, RepeatHeads, SumHeads, HeadProduct, HeadOuter: only Heads
}

// AttnAttr describes an attention site. Mask and Bias use the variables h, i, j, H, I, J
// (I32) and elements of the parameters by name. i counts from 0 at the first target row
// of the sequence, even if a launch starts at row P. A nil Mask is open everywhere, and a
// nil Bias is 0.
type AttnAttr struct {
	Heads  int
	Scale  float64
	Mask   *expr.Expr
	Bias   *expr.Expr
	Params []string // names of the parameters, in the order of the trailing Args; a parameter I32 [B, rows] has a number for each row of an example, and expressions omit the example's index
	Self   bool     // keys are the target rows themselves
	Table  bool     // the bias is the last argument, a BiasTable [H, T, J] or larger, whose gradient is Result "table"; no Bias, no Params
	Line   bool     // the bias is the last argument, a BiasTable [H, L] by distance (LineIndex), whose gradient by example is Result "line"; no Bias, no Params
	Fixed  bool     // the parameters are not learned, and the bias reads within their shapes at closed cells, too
	Words  []int    // the largest rows and keys of a launch, which index the random words of dropout; nil: the launch's own

	// Relative, if not 0, is the largest distance that relative scores distinguish. The
	// first argument before table or parameters is then [B, T, H*(2 Relative + 1)], whose
	// element clip(j - i, -Relative, Relative) + Relative of a head is added to q·k of a
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
	Pos  diag.Pos // the place in the spec that it comes from
}

// A Result is a named output of a Func. An Accumulate result is added to its buffer
// instead of overwriting it. Gradients of parameters, and of values that several calls
// use, accumulate.
type Result struct {
	Name       string
	Value      *Value
	Accumulate bool
}

// Role says where a parameter of a Func comes from.
type Role uint8

// The roles. Gradients are taken with respect to real parameters with role Weight or
// Input.
const (
	Input  Role = iota // an activation or token buffer of the plan
	Weight             // a learned parameter
	Saved              // a forward value kept for the backward function
	Grad               // the gradient of a forward result
	Fixed              // a parameter that is not learned
)

// A Func is a straight line of Values. Blocks, heads and losses are Funcs. A plan loops
// over them.
type Func struct {
	Name    string
	Params  []*Value // Op == Param, also the first Values
	Roles   []Role   // one per parameter
	Values  []*Value // in order of definition
	Results []Result
	Pos     diag.Pos
}
