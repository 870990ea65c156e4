package ir

import "strings"

// An opInfo is one row of the op table.
type opInfo struct {
	name  string
	min   int    // fewest arguments
	max   int    // most arguments, -1: any number
	attrs string // keys of the attributes it may carry besides name (attr.go)
	shape func(v *Value) (Type, error)
	eval  func(m *machine, v *Value, args []Tensor) (Tensor, error) // nil: has an expansion (expand.go)
	flops func(m *machine, v *Value) (float64, error)               // nil: no arithmetic, or has an expansion
}

// ops is the op table. Differentiation rules are keyed by op in package grad.
var ops = [numOps]opInfo{
	Param:            {name: "param", shape: shapeParam},
	Map:              {name: "map", max: -1, attrs: "expr shape", shape: shapeMap, eval: evalMap, flops: flopsMap},
	Dropout:          {name: "dropout", min: 1, max: 1, attrs: "expr rate stream", shape: shapeDropout, eval: evalDropout, flops: flopsDropout},
	MatMul:           {name: "matmul", min: 2, max: 2, attrs: "transa transb", shape: shapeMatMul, eval: evalMatMul, flops: flopsMatMul},
	Outer:            {name: "outer", min: 2, max: 2, shape: shapeOuter, eval: evalOuter, flops: flopsOuter},
	Sum:              {name: "sum", min: 1, max: 1, attrs: "axes", shape: shapeReduce, eval: evalSum, flops: flopsReduce},
	Max:              {name: "max", min: 1, max: 1, attrs: "axes", shape: shapeReduce, eval: evalMax, flops: flopsReduce},
	Reshape:          {name: "reshape", min: 1, max: 1, attrs: "shape", shape: shapeReshape, eval: evalReshape},
	Transpose:        {name: "transpose", min: 1, max: 1, attrs: "axes", shape: shapeTranspose, eval: evalTranspose},
	Gather:           {name: "gather", min: 2, max: 2, shape: shapeGather, eval: evalGather},
	Scatter:          {name: "scatter", min: 2, max: 2, attrs: "rows", shape: shapeScatter, eval: evalScatter, flops: flopsScatter},
	Append:           {name: "append", min: 2, max: 2, shape: shapeAppend, eval: evalAppend},
	Rotate:           {name: "rotate", min: 3, max: 3, attrs: "heads", shape: shapeRotate, eval: evalRotate, flops: flopsRotate},
	Softmax:          {name: "softmax", min: 1, max: 1, shape: shapeSoftmax},
	LayerNorm:        {name: "layernorm", min: 3, max: 3, attrs: "eps", shape: shapeLayerNorm},
	LayerNormGrad:    {name: "layernorm_grad", min: 3, max: 3, attrs: "eps result", shape: shapeLayerNormGrad},
	RMSNorm:          {name: "rmsnorm", min: 2, max: 2, attrs: "eps", shape: shapeRMSNorm},
	RMSNormGrad:      {name: "rmsnorm_grad", min: 3, max: 3, attrs: "eps result", shape: shapeRMSNormGrad},
	HeadProduct:      {name: "head_product", min: 2, max: 2, attrs: "transb heads", shape: shapeHeadProduct},
	HeadOuter:        {name: "head_outer", min: 2, max: 2, attrs: "heads", shape: shapeHeadOuter},
	Attention:        {name: "attention", min: 3, max: -1, attrs: attnAttrs + " rate stream", shape: shapeAttention},
	AttentionGrad:    {name: "attention_grad", min: 4, max: -1, attrs: attnAttrs + " rate stream result", shape: shapeAttentionGrad},
	AttentionWeights: {name: "attention_weights", min: 2, max: -1, attrs: attnAttrs + " result", shape: shapeAttentionWeights},
	BiasTable:        {name: "bias_table", max: -1, attrs: "shape " + siteAttrs, shape: shapeBiasTable},
	BiasTableGrad:    {name: "bias_table_grad", min: 1, max: -1, attrs: siteAttrs + " result", shape: shapeBiasTableGrad},
	CrossEntropy:     {name: "cross_entropy", min: 2, max: 2, shape: shapeCrossEntropy},
	CrossEntropyGrad: {name: "cross_entropy_grad", min: 3, max: 3, shape: shapeCrossEntropyGrad},
	ArgMax:           {name: "argmax", min: 1, max: 1, shape: shapeArgMax},
	Runs:             {name: "runs", min: 1, max: 1, attrs: "expr shape", shape: shapeRuns, eval: evalRuns},
	Draw:             {name: "draw", attrs: "shape " + drawAttrs, shape: shapeDraw, eval: evalDraw},
	Subset:           {name: "subset", attrs: "size shape " + drawAttrs, shape: shapeSubset, eval: evalSubset},
	Noise:            {name: "noise", attrs: "shape stream", shape: shapeNoise, eval: evalNoise, flops: flopsNoise},
}

// siteAttrs say what an attention's bias is, attnAttrs all of its scores.
const (
	siteAttrs = "heads mask bias parameters self fixed"
	attnAttrs = siteAttrs + " scale table relative"
)

// drawAttrs say what is drawn, and for whom.
const drawAttrs = "stream rows group"

func (op Op) String() string { return ops[op].name }

// Composite reports whether op has an expansion into other ops.
func (op Op) Composite() bool { return op != Param && ops[op].eval == nil }

// carries reports whether values of op may have the attribute.
func (op Op) carries(key string) bool {
	for k := range strings.FieldsSeq(ops[op].attrs) {
		if k == key {
			return true
		}
	}
	return false
}

// opByName finds an op by its name in text.
func opByName(name string) (Op, bool) {
	for op := range ops {
		if ops[op].name == name {
			return Op(op), true
		}
	}
	return 0, false
}
