package config

// An Init is how a parameter starts: "const" (A), "uniform" (from A to B), "normal" (standard
// deviation A), or "given" (by values passed to the trainer).
type Init struct {
	Kind string
	A, B float64
}

// AverageState names the optimizer state that is a running average of the parameters.
const AverageState = "average"

// SlowState names the optimizer state that is a running average of the gradients, added to
// them.
const SlowState = "slow"

// A Param is one parameter: a tensor that is learned, or Fixed.
type Param struct {
	Name  string
	Shape []int // empty: a scalar
	Off   int   // first element in the arena
	Init  Init
	Decay bool     // weight decay applies
	Min   *float32 // lower bound, kept after each update
	Fixed bool     // not trained; fixed parameters come after all others

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

// A Group is the parameters of one stack of layers: Layers instances of Params, consecutive in
// the flat arena from element Off. Each instance serves Span layers in a row. Parameters that a
// model has once, such as its embedding, are a single instance without Stack.
type Group struct {
	Name   string
	Stack  bool // layers have numbers, even a single one
	Off    int
	Layers int
	Span   int // 0: 1
	Stride int // elements of one instance
	Uses   int // most uses of a layer in one launch whose gradients have separate sums; 0: one
	Again  int // where the sums of the second use begin in the space Uses
	Params []Param
}

// Instance returns the instance of layer l, counted through all runs of a stack.
func (g *Group) Instance(l int) int { return l / max(g.Span, 1) % g.Layers }

// use counts the layers before layer l that have the same instance.
func (g *Group) use(l int) int {
	span := max(g.Span, 1)
	return l/(g.Layers*span)*span + l%span
}

// Gradient returns where launches add the gradient of the first parameter of layer l, counted
// through all runs of a stack. It is an element of the arena of gradients, or of the space Uses
// if again.
func (g *Group) Gradient(l int) (off int, again bool) {
	at := g.Instance(l) * g.Stride
	if use := g.use(l); use > 0 && g.Uses > 1 {
		return g.Again + (use-1)*g.UseStride() + at, true
	}
	return g.Off + at, false
}

// UseStride is the number of elements between the gradients of consecutive further uses of the
// group, a multiple of a cache line.
func (g *Group) UseStride() int {
	const line = 16
	return (g.Layers*g.Stride + line - 1) / line * line
}

// A Fold adds the gradients of N parameters by a further use to the gradients by the first use:
// from element From of the space Uses to element To of the arena.
type Fold struct{ To, From, N int }
