package ir

import "strings"

// An opInfo is one row of the op table.
type opInfo struct {
	name      string
	signature string                                                      // arguments and results (signature.go)
	attrs     string                                                      // keys of its attributes apart from name (attr.go)
	eval      func(m *machine, v *Value, args []Tensor, out Tensor) error // fills out; nil: it has an expansion (expand.go)
	flops     func(v *Value) (each int, over []Dim)                       // nil: no arithmetic, or it has an expansion
}

// ops is the op table. rules (rules.go) has checks that signatures cannot express.
// Package grad has the gradients.
var ops = [numOps]opInfo{
	Param:      {name: "param"},
	Map:        {name: "map", signature: "...", attrs: "expr shape", eval: evalMap, flops: flopsMap},
	Dropout:    {name: "dropout", signature: "x[B *] -> x", attrs: "expr rate stream", eval: evalDropout, flops: flopsDropout},
	MatMul:     {name: "matmul", signature: "a:real[* M K] b:real[*? K N] -> y[* M N]", attrs: "transa transb split", eval: evalMatMul, flops: flopsMatMul},
	Outer:      {name: "outer", signature: "a:real[M * K] b:real[M * N] -> y[K N]", attrs: "split", eval: evalOuter, flops: flopsOuter},
	Sum:        {name: "sum", signature: "x:any[*]", attrs: "axes", eval: evalSum, flops: flopsReduce},
	SegmentSum: {name: "segment_sum", signature: "x[N]", eval: evalSegmentSum, flops: flopsReduce},
	Max:        {name: "max", signature: "x:any[*]", attrs: "axes", eval: evalMax, flops: flopsReduce},
	Reshape:    {name: "reshape", signature: "x:any[*]", attrs: "shape", eval: evalReshape},
	Transpose:  {name: "transpose", signature: "x:any[*]", attrs: "axes", eval: evalTranspose},
	Gather:     {name: "gather", signature: "table:any[V D] ids:i32[*] -> y:any[* D]", eval: evalGather},
	Scatter:    {name: "scatter", signature: "ids:i32[*] dy[* D] -> table[rows D]", attrs: "rows", eval: evalScatter, flops: flopsScatter},
	Append:     {name: "append", signature: "cache:any[B C *] row:any[B T *] -> cache", eval: evalAppend},
	Rotate:     {name: "rotate", signature: "x[B T heads*D] cos[T R] sin[T R] -> x", attrs: "heads", eval: evalRotate, flops: flopsRotate},

	RepeatHeads: {name: "repeat_heads", signature: "x:any[* groups*D] -> y:any[* heads*D]", attrs: "group heads", eval: evalRepeatHeads},
	SumHeads:    {name: "sum_heads", signature: "x[* heads*D] -> y[* groups*D]", attrs: "group heads", eval: evalSumHeads, flops: flopsReduce},

	ScaleGrad:     {name: "scale_grad", signature: "x[*] -> x", attrs: "expr"},
	LayerNorm:     {name: "layernorm", signature: "x[* D] gamma[D] beta[D] -> x", attrs: "eps"},
	LayerNormGrad: {name: "layernorm_grad", signature: "x[* D] gamma[D] dy[* D] -> x mean[* 1] rstd[* 1]", attrs: "eps result"},
	RMSNorm:       {name: "rmsnorm", signature: "x[* D] gamma[D] -> x", attrs: "eps"},
	RMSNormGrad:   {name: "rmsnorm_grad", signature: "x[* D] gamma[D] dy[* D] -> x rstd[* 1]", attrs: "eps result"},

	HeadProduct:      {name: "head_product", signature: "x[* heads*K] w[K N] -> y[* heads*N]", attrs: "transb heads"},
	HeadOuter:        {name: "head_outer", signature: "x[* heads*K] y[* heads*N] -> w[K N]", attrs: "heads"},
	Attention:        {name: "attention", signature: attends + " v:real[B J groups*D] " + biased + " -> q? largest[B T heads] norm[B T heads]", attrs: attnAttrs + " group rate stream result"},
	AttentionGrad:    {name: "attention_grad", signature: attends + " v:real[B J groups*D] dout:real[B T heads*D] largest[B T heads] norm[B T heads] y?:real[B T heads*D] " + biased + " -> q k[B J heads*D] v[B J heads*D] relative table line[B heads L] ...[B heads]", attrs: attnAttrs + " group rate stream result"},
	AttentionWeights: {name: "attention_weights", signature: attends + " " + biased + " -> weights[B heads T J] logits[B heads T J]", attrs: attnAttrs + " result"},
	BiasTable:        {name: "bias_table", signature: "... -> table[heads * J]", attrs: "shape " + siteAttrs},
	BiasTableGrad:    {name: "bias_table_grad", signature: "dtable[heads * J] ... -> ...[heads]", attrs: siteAttrs + " result"},

	CrossEntropy:     {name: "cross_entropy", signature: "logits[* V] labels:i32[*] -> loss[*]", attrs: "rate"},
	CrossEntropyGrad: {name: "cross_entropy_grad", signature: "logits[* V] labels:i32[*] dloss[*] -> logits", attrs: "rate"},
	ArgMax:           {name: "argmax", signature: "logits[* V] -> y:i32[*]"},

	Runs:   {name: "runs", signature: "tokens:i32[B K] -> y:i32[B T]", attrs: "expr shape total", eval: evalRuns},
	Draw:   {name: "draw", signature: "-> y:i32[examples T *]", attrs: "shape " + drawAttrs, eval: evalDraw},
	Subset: {name: "subset", signature: "-> y:i32[T *]", attrs: "size shape " + drawAttrs, eval: evalSubset},
	Noise:  {name: "noise", signature: "-> y[B T D]", attrs: "shape stream", eval: evalNoise, flops: flopsNoise},
}

// Arguments of attentions, before and after the values.
const (
	attends = "q:real[B T heads*D] k:real[B J groups*D]"
	biased  = "relative?[B T heads*spans] table?[heads R K] line?[heads L] ..."
)

// siteAttrs describe an attention's bias, and attnAttrs all of its scores.
const (
	siteAttrs = "heads mask bias parameters self fixed"
	attnAttrs = siteAttrs + " scale table line relative words"
)

// drawAttrs describe a draw and who shares it.
const drawAttrs = "stream rows group"

func (op Op) String() string { return ops[op].name }

// Composite reports whether op has an expansion into other ops.
func (op Op) Composite() bool { return op != Param && ops[op].eval == nil }

// carries reports whether values of op may have the attribute.
func (op Op) carries(key string) bool { return carried[op][key] }

// carried has the keys of each op's attributes.
var carried = func() (keys [numOps]map[string]bool) {
	for op, info := range ops {
		keys[op] = map[string]bool{}
		for key := range strings.FieldsSeq(info.attrs) {
			keys[op][key] = true
		}
	}
	return keys
}()

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// opByName returns the op with the given name in text.
func opByName(name string) (Op, bool) {
	for op := range ops {
		if ops[op].name == name {
			return Op(op), true
		}
	}
	return 0, false
}
