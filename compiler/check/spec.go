// Package check turns syntax trees into a Spec: includes, overrides, units,
// defaults, names and rules. It comes after package dsl and before package
// model; nothing after it sees syntax.
package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// A Spec is a fully resolved and typed spec: every default is filled in.
type Spec struct {
	Name     string // the file's base name without extension
	Hash     string // hex SHA-256 of Carried and of what it reads of files
	Resolved string // the spec with every default written out; parses back to itself
	Carried  string // Resolved as a run has it, whose directory has the Files
	Task     Task
	Model    Model
	Train    Train
	Eval     Eval
	Stages   []Stage  // in order; none: the spec itself is trained
	Axes     []string // attributes that axes of a sweep set, of which this is one training
	Capture  *Capture // of a stage that trains: what a later one reads of its attention; nil: nothing

	places  map[string]diag.Range // of attributes and blocks, by path
	limits  diag.List             // what the compiler cannot lower yet
	carried map[string]string     // paths of files in the directory of a run, by those that Options.Read takes
	shapes  struct{ trained, evaluated []lengths }
}

// Given lists the parameters that are not trained, each once.
func (s *Spec) Given() []BiasParam {
	var out []BiasParam
	for _, site := range s.Model.sites() {
		for _, param := range site.Params {
			known := slices.ContainsFunc(out, func(l BiasParam) bool { return l.Name == param.Name })
			if param.Fixed() && !known {
				out = append(out, param)
			}
		}
	}
	return out
}

// sites are the attention sites.
func (m *Model) sites() []*Site {
	all := []*Site{m.Encoder.Self, m.Decoder.Self, m.Decoder.Cross}
	if m.Loop != nil {
		all = append(all, m.Loop.Self)
	}
	return slices.DeleteFunc(all, func(s *Site) bool { return s == nil })
}

// At is the place of an attribute's value, or of its block where the value is
// the default. The path is the attribute's, as in model.decoder.self.mask.
func (s *Spec) At(path string) diag.Range {
	for path != "" {
		if r, ok := s.places[path]; ok {
			return r
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return diag.Range{}
}

// Lowerable lists what a spec says and the compiler cannot lower yet, at its
// places, with what works today.
func Lowerable(spec *Spec) diag.List { return spec.limits }

// Task says what problems look like.
type Task struct {
	config.Task
	Path     string    // file: where the problems are, as Options.Read takes it
	File     *Problems // file: what is in it; nil for other tasks
	TestPath string    // file: where the problems of tests are
	TestFile *Problems // file: what is in that of the tests; nil without
}

// Model says what is trained: an encoder-decoder, or a loop.
type Model struct {
	Name       string
	Width      int
	Heads      int
	HeadWidth  int    // units of a head; 0: Width / Heads
	Act        string // of Activations
	Hidden     int    // gated: before the gate, which halves it
	FFNRank    int    // of the matrices of ffn; 0: full
	FFNInit    *Init  // how they start; nil: as the model's others
	FFNTies    FFNTies
	Gain       string // gains of the norms: own (or ""), shared, none
	Norm       string // layernorm, rmsnorm
	NormEps    float64
	NormPost   bool
	Unnormed   []string // parts that have no norm, of self, cross, ffn and output
	Dropout    float64
	Bias       bool   // biases on linear layers
	HeadAct    string // of a gated layer before the output; none
	Head       int    // its hidden units, before the gate; 0: there is no such layer
	Adapter    bool   // one more linear layer before the output
	Tied       bool   // the token table is the output matrix
	OutputRank int    // of the output matrix; 0: full
	Output     *Table // the output matrix, a row for each token; nil: it is learned
	Token      *Table // the token table; nil: it is learned
	Init       string
	InitStd    float64 // normal
	InitBiases bool    // xavier: linear biases start from uniform numbers, but for those of attention; else from 0
	TokenScale float64 // factor on token embeddings
	Position   Position
	EmbedNorm  string // norm of the embedding: none, layernorm, rmsnorm
	EmbedEps   float64
	Loop       *Loop // nil: Encoder and Decoder are the model
	Encoder    Stack // Layers = 0: identity
	Decoder    Stack
	Pos        diag.Pos
}

// HeadUnits are the units of a head, and Inner those of all heads.
func (m *Model) HeadUnits() int {
	if m.HeadWidth > 0 {
		return m.HeadWidth
	}
	return m.Width / max(m.Heads, 1)
}

func (m *Model) Inner() int { return m.Heads * m.HeadUnits() }

// KeyInner are the units of all heads of keys, or of values, of an attention.
func (m *Model) KeyInner(s *Site) int { return m.Inner() / m.KeyGroup(s) }

// KeyGroup is how many heads of queries have one head of keys and values.
func (m *Model) KeyGroup(s *Site) int {
	if s.KeyHeads == 0 {
		return 1
	}
	return m.Heads / s.KeyHeads
}

// Projection is the shape of a projection of an attention.
func (m *Model) Projection(s *Site, name string) (in, out int) {
	switch name {
	case "q":
		return m.Width, m.Inner()
	case "o":
		return m.Inner(), m.Width
	}
	return m.Width, m.KeyInner(s)
}

// Normed reports whether a part of the model has a norm: self, cross, ffn or output.
func (m *Model) Normed(part string) bool { return !slices.Contains(m.Unnormed, part) }

// FFNTies says which matrices of a feed-forward layer are those of others.
type FFNTies struct {
	Out  string // that of out, transposed: in, value or gate; "": its own
	Gate bool   // the gate's is that of what is gated
}

// Loop is a decoder-only stack of layers that is run several times.
type Loop struct {
	Layers int
	Times  int // the most in training, where Task.Recurrences says how many a problem has
	Share  Share
	Inject string  // the embedded input is added again: none, block (once each time), every_layer
	State  string  // what it starts from: embed (the embedded input), normal (noise)
	Std    float64 // normal: standard deviation; 0 is zeros
	Self   *Site
	Pos    diag.Pos
}

// Stack is a stack of layers. The encoder has no Cross.
type Stack struct {
	Layers int
	Times  int // how often the stack is applied
	Share  Share
	Self   *Site
	Cross  *Site
	Pos    diag.Pos
}

// A Share says which parameters the layers of a stack have in common: all, attention,
// ffn, or "" for nothing.
type Share struct {
	Of    string
	Group int // so many layers in a row; 0: all
}

// Span is how many layers in a row, of so many, have the same parameters.
func (s Share) Span(layers int) int {
	switch {
	case s.Of == "":
		return 1
	case s.Group == 0:
		return layers
	}
	return s.Group
}

// Site is one kind of attention. Mask and Bias are over the I32 variables h, i,
// j, pi, pj (positions under the position scheme), H, I, J and the parameters'
// elements (expr.Elem by parameter name).
type Site struct {
	Mask     *expr.Expr  // Bool; nil = open. A decoder's or loop's self mask already includes causality.
	Bias     *expr.Expr  // F32; nil = none
	Params   []BiasParam // parameters of Bias, in order of first use
	Rotary   *Rotary     // nil = none
	KeyHeads int         // heads of keys and values, which divide those of queries; 0: as many
	Weights  Weights     // the projections
	QKNorm   *QKNorm     // nil = none
	Shaw     int         // distances up to this have a learned vector each (Shaw et al. 2018); 0: none
	Scale    float64     // factor on q·k
	Dropout  float64
	Pos      diag.Pos
}

// Calibrated is the least numbers of queries and keys that biases have which an earlier
// calibration left as matrices; 0 where there are none.
func (s *Site) Calibrated() (queries, keys int) {
	if s == nil {
		return 0, 0
	}
	for _, param := range s.Params {
		if param.Stage == "" {
			continue
		}
		n := len(param.Shape)
		if q := param.Shape[n-2]; queries == 0 || q < queries {
			queries = q
		}
		if k := param.Shape[n-1]; keys == 0 || k < keys {
			keys = k
		}
	}
	return queries, keys
}

// Rotary are rotary positions (Su et al. 2021): the first Fraction of each head
// is rotated, the wave lengths are powers of Base. Input: not of the heads of queries
// and keys, but of the vectors that they are projected from.
type Rotary struct {
	Base, Fraction float64
	Input          bool
}

// BiasParam is a tensor of a bias: learned, one for each layer that uses it, or fixed,
// one for the whole model, if it comes from a file or a stage.
type BiasParam struct {
	Name   string // unique in the spec: bias name, a dot, parameter name
	Shape  []int  // empty: a scalar
	Init   Init
	Min    *float64  // lower bound, kept by projection after each update
	Decay  bool      // weight decay applies
	Shared bool      // one for the whole model
	From   string    // Init.Kind file: its path; stage: its name
	Tensor string    // of the file, or of what the stage leaves, as in self.line.1.-1
	Stage  string    // Init.Kind file: the calibration that left the file; "" for others
	Values []float32 // Init.Kind file: its elements
}

// Fixed reports whether a parameter is given before training and is not trained.
func (l *BiasParam) Fixed() bool { return l.Init.Kind == "file" || l.Init.Kind == "stage" }

// Init is how a parameter starts, in a spec also as "xavier" (as the matrices of the
// model, for A inputs and B outputs). A parameter of Kind "file" or "stage" is not learned.
type Init = config.Init

// Train says how. What follows from the sizes of launches (Group, Rows and RowFLOP of a
// program) is not in it. Chunk and MicroBatch are what the spec says, 0: the compiler
// chooses; MicroBatch is examples that share draws (DrawGroup) or, without draws, a launch.
type Train struct {
	config.Train
	Optimizer string // a row of the table in compiler/model/optimizer.go
	Muon      Muon
	Averages  bool      // an average of the weights is kept
	Average   float64   // its decay
	Grokfast  *Grokfast // nil: gradients are taken as they are
	Lanes     int       // models that one training has at once; 0: one, not in lanes
	Pos       diag.Pos
}

// Grokfast amplifies gradients that stay: their running average of decay Alpha is added to
// them, Lamb times.
type Grokfast struct{ Alpha, Lamb float64 }

// Muon says how that optimizer updates matrices.
type Muon struct {
	Momentum float64
	Nesterov bool
	Steps    int    // of the Newton-Schulz iteration
	Adjust   string // the step size of a shape: match_rms_adamw, original
}

// Eval says what is tested after training.
type Eval struct {
	config.Eval
	Pos diag.Pos
}

// Stage is one step of a training in several: a training, or a calibration
// between two.
type Stage struct {
	Name        string
	From        string       // the stage whose weights it starts with, or whose attention it reads; "": fresh weights
	Spec        *Spec        // a training: the whole spec with the stage's overrides, without stages
	Calibration *Calibration // or else this
}

// Capture is the attention of a decoder layer that a calibration reads.
type Capture struct {
	Layer  int  // from 1
	Logits bool // before the softmax, else after it
}

// Calibration makes biases of a trained model's attention (Duan & Shi 2023,
// arXiv:2310.11984, section 4): the lines of its attention matrices, extended to
// longer problems. The results are the biases NAME.self and NAME.cross.
type Calibration struct {
	Capture
	Samples int  // problems whose attention is averaged
	Heads   int  // of the attention
	Extend  int  // digits of the problems that the biases serve
	Mean    bool // a line counts by its mean, else by its sum
	Self    Lines
	Cross   Lines
}

// Lines says which lines of an attention matrix become a bias.
type Lines struct {
	Directions [][2]int   // rows and columns from cell to cell
	Rows       int        // first rows of the attention that count
	Queries    int        // rows of the extended matrix
	Keys       int        // its columns
	Paired     bool       // the source is ^ a + b $, both of one width: what begins in a stays with its end
	Keep       *expr.Expr // Bool over the F32 variables value, mean, std
}
