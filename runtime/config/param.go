package config

// An Init is how a parameter starts: "const" (A), "uniform" (from A to B), "normal"
// (standard deviation A), or "given" (what the trainer is given for it).
type Init struct {
	Kind string
	A, B float64
}

// AverageState is the name of a running average of the parameters among the states that
// an optimizer keeps of them.
const AverageState = "average"

// SlowState is the name of a running average of the gradients that is added to them.
const SlowState = "slow"

// A Param is one parameter: a tensor that is learned, or Fixed.
type Param struct {
	Name  string
	Shape []int // empty: a scalar
	Off   int   // first element in the arena
	Init  Init
	Decay bool     // weight decay applies
	Min   *float32 // lower bound, kept after each update
	Fixed bool     // it is not trained; fixed parameters lie behind all others

	Matrix bool // the optimizer updates it as a whole, not element by element
}

// Elems is the number of elements.
func (p Param) Elems() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// A Group is the parameters of one stack of layers: Layers instances of Params,
// one after another in the flat arena, from element Off, each for Span layers in a row. What a model has once, such
// as its embedding, is a single instance without Stack.
type Group struct {
	Name   string
	Stack  bool // layers have numbers, even one alone
	Off    int
	Layers int
	Span   int // 0: 1
	Stride int // elements of one instance
	Uses   int // most uses of a layer in one launch that have sums of their own for its gradients; 0: one
	Again  int // where, in the space Uses, those of the second use begin
	Params []Param
}

// Instance is the instance of layer l, counted through all runs of a stack.
func (g *Group) Instance(l int) int { return l / max(g.Span, 1) % g.Layers }

// use counts the layers before layer l that have its instance.
func (g *Group) use(l int) int {
	span := max(g.Span, 1)
	return l/(g.Layers*span)*span + l%span
}

// Gradient is where launches add the gradient of the first parameter of layer l, counted
// through all runs of a stack: at which element of the arena of gradients or, with
// again, of the gradients of further uses.
func (g *Group) Gradient(l int) (off int, again bool) {
	at := g.Instance(l) * g.Stride
	if use := g.use(l); use > 0 && g.Uses > 1 {
		return g.Again + (use-1)*g.UseStride() + at, true
	}
	return g.Off + at, false
}

// UseStride is the elements from the gradients of one further use of the group to those
// of the next, a multiple of a cache line.
func (g *Group) UseStride() int {
	const line = 16
	return (g.Layers*g.Stride + line - 1) / line * line
}

// A Fold adds the gradients of N parameters by a further use, those from element From
// on, to those of the first use, from element To of the arena on.
type Fold struct{ To, From, N int }
