package check

import "github.com/arithlang/mlc/compiler/expr"

// An Activation is the function between the two matrices of a feed-forward layer.
type Activation struct {
	Of     func(x *expr.Expr) *expr.Expr // of a hidden unit x, F32
	Gated  bool                          // one half of the hidden units is multiplied by Of of the other half
	Scales bool                          // Of(a x) is a Of(x) for a > 0, so Of may come after dropout
}

// Activations are the values of model.ffn; model.head may have the gated ones.
var Activations = map[string]Activation{
	"relu":   {Of: relu, Scales: true},
	"gelu":   {Of: gelu},
	"geglu":  {Of: gelu, Gated: true}, // Shazeer 2020 (arXiv:2002.05202), section 2
	"swiglu": {Of: silu, Gated: true}, // the same section, with β = 1
}

// relu is max(x, 0).
func relu(x *expr.Expr) *expr.Expr { return expr.New(expr.Max, x, expr.F(0)) }

// gelu is x Φ(x), where Φ is the normal distribution function. Hendrycks and Gimpel 2016,
// section 2.
func gelu(x *expr.Expr) *expr.Expr {
	phi := expr.New(expr.Add, expr.F(1), expr.New(expr.Erf, expr.New(expr.Mul, x, expr.F(0.7071067811865476))))
	return expr.New(expr.Mul, expr.New(expr.Mul, x, expr.F(0.5)), phi)
}

// silu is x times the logistic function of x. Hendrycks and Gimpel 2016, section 2.
func silu(x *expr.Expr) *expr.Expr { return expr.New(expr.Mul, x, expr.New(expr.Sigmoid, x)) }
