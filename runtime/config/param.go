package config

// An Init is how a parameter starts: "const" (A), "uniform" (from A to B), "normal"
// (standard deviation A), or "given" (what the trainer is given for it).
type Init struct {
	Kind string
	A, B float64
}

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
// one after another in the flat arena, from element Off. What a model has once, such
// as its embedding, is a single instance without Stack.
type Group struct {
	Name   string
	Stack  bool // layers have numbers, even one alone
	Off    int
	Layers int
	Stride int // elements of one instance
	Params []Param
}
