// Package check turns syntax trees into a Spec. It resolves includes, overrides, units,
// defaults and names, and checks rules. It runs after package dsl and before package
// model. Later packages see no syntax.
package check

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// A Spec is a resolved and typed spec with every default filled in.
type Spec struct {
	Name     string // the file's base name without extension
	Hash     string // hex SHA-256 of Carried and of the files that it reads
	Resolved string // the spec with every default written out; parses back to itself
	Carried  string // Resolved with the paths of Files in a run's directory
	Task     Task
	Model    Model
	Train    Train
	Eval     Eval
	Stages   []Stage  // in order; empty: the spec itself is trained
	Axes     []string // attributes that the axes of the sweep set
	Capture  *Capture // the attention of this training that a later stage reads; nil: none

	places  map[string]diag.Range // of attributes and blocks, by path
	limits  diag.List             // what the compiler cannot lower yet
	carried map[string]string     // paths of files in the directory of a run, by paths for Options.Read
	shapes  struct{ trained, evaluated []lengths }
}

// Given lists the parameters of biases that are not trained, each once.
func (s *Spec) Given() []BiasParam {
	var out []BiasParam
	for _, site := range s.Model.Sites() {
		for _, param := range site.Params {
			known := slices.ContainsFunc(out, func(l BiasParam) bool { return l.Name == param.Name })
			if param.Fixed() && !known {
				out = append(out, param)
			}
		}
	}
	return out
}

// Sites lists the attention sites.
func (m *Model) Sites() []*Site {
	all := []*Site{m.Encoder.Self, m.Decoder.Self, m.Decoder.Cross}
	if m.Loop != nil {
		all = append(all, m.Loop.Self)
	}
	return slices.DeleteFunc(all, func(s *Site) bool { return s == nil })
}

// At returns the place of an attribute's value, or of its block if the value is the
// default. The path is the attribute's, as in model.decoder.self.mask. The range is zero
// for an unknown path.
func (s *Spec) At(path string) diag.Range {
	for path != "" {
		if r, ok := s.places[path]; ok {
			return r
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return diag.Range{}
}

// Lowerable lists the parts of a spec that the compiler cannot lower yet. Each finding
// says what works today.
func Lowerable(spec *Spec) diag.List { return spec.limits }

// Task describes the problems.
type Task struct {
	config.Task
	Path     string    // file: the path of the problems, for Options.Read
	File     *Problems // file: the problems; nil for other tasks
	TestPath string    // file: the path of test problems
	TestFile *Problems // file: the test problems; nil: part of File is tested
}

// Model describes the model: an encoder-decoder, or a loop.
type Model struct {
	Width      int
	Heads      int
	HeadWidth  int    // units of a head; 0: Width / Heads
	Act        string // a key of Activations
	Hidden     int    // for a gated Act, the units before the gate, which halves them
	FFNRank    int    // of the matrices of ffn; 0: full
	FFNInit    *Init  // their initial values; nil: as in other layers
	FFNTies    FFNTies
	Gain       string // gains of norms: own (or ""), shared, none
	Norm       string // layernorm, rmsnorm
	NormEps    float64
	NormPost   bool
	Unnormed   []string // parts without a norm: self, cross, ffn, output
	Dropout    float64
	Bias       bool   // biases on linear layers
	HeadAct    string // the activation of a gated layer before the output; none
	Head       int    // hidden units of that layer, before the gate; 0: no such layer
	Adapter    bool   // one more linear layer before the output
	Tied       bool   // the token table is the output matrix
	OutputRank int    // of the output matrix; 0: full
	Output     *Table // the output matrix, one row per token; nil: it is learned
	Token      *Table // the token table; nil: it is learned
	Init       string
	InitStd    float64 // normal
	InitBiases bool    // xavier: linear biases outside attention start from uniform numbers; else from 0
	TokenScale float64 // factor on token embeddings
	Position   Position
	EmbedNorm  string // norm of the embedding: none, layernorm, rmsnorm
	EmbedEps   float64
	Loop       *Loop // nil: Encoder and Decoder are the model
	Encoder    Stack // Layers = 0: identity
	Decoder    Stack
	Pos        diag.Pos
}

// HeadUnits returns the units of one head, and Inner the units of all heads.
func (m *Model) HeadUnits() int {
	if m.HeadWidth > 0 {
		return m.HeadWidth
	}
	return m.Width / max(m.Heads, 1)
}

func (m *Model) Inner() int { return m.Heads * m.HeadUnits() }

// KeyInner returns the units of all heads of keys, or of values, of an attention.
func (m *Model) KeyInner(s *Site) int { return m.Inner() / m.KeyGroup(s) }

// KeyGroup returns how many heads of queries share one head of keys and values.
func (m *Model) KeyGroup(s *Site) int {
	if s.KeyHeads == 0 {
		return 1
	}
	return m.Heads / s.KeyHeads
}

// Projection returns the shape [in, out] of a projection of an attention: q, k, v or o.
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

// FFNTies says which matrices of a feed-forward layer equal others.
type FFNTies struct {
	Out  string // the output matrix is this one, transposed: in, value or gate; "": its own
	Gate bool   // the gate uses the matrix of the value
}

// Loop is a decoder-only stack of layers that runs several times.
type Loop struct {
	Layers int
	Times  int // in training; the most if Task.Recurrences depends on the problem
	Share  Share
	Inject string  // where the embedded input is added: none, block (once per run), every_layer
	State  string  // the initial state: embed (the embedded input), normal (noise)
	Std    float64 // normal: standard deviation; 0: zeros
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

// A Share says which parameters the layers of a stack share: all, attention, ffn, or ""
// for none.
type Share struct {
	Of    string
	Group int // consecutive layers that share; 0: all
}

// Span returns how many consecutive layers share parameters, in a stack with the given
// number.
func (s Share) Span(layers int) int {
	switch {
	case s.Of == "":
		return 1
	case s.Group == 0:
		return layers
	}
	return s.Group
}

// Site is an attention. Mask and Bias are expressions over the I32 variables h, i, j, pi,
// pj (positions under the position scheme), H, I, J, and over elements of the parameters
// (expr.Elem by parameter name).
type Site struct {
	Mask     *expr.Expr  // Bool; nil = open. A decoder's or loop's self mask already includes causality.
	Bias     *expr.Expr  // F32; nil = none
	Params   []BiasParam // parameters of Bias, in order of first use
	Rotary   *Rotary     // nil = none
	KeyHeads int         // heads of keys and values, a divisor of the query heads; 0: one for each
	Weights  Weights     // the projections
	QKNorm   *QKNorm     // nil = none
	Shaw     int         // distances up to this have a learned vector each (Shaw et al. 2018); 0: none
	Scale    float64     // factor on q·k
	Dropout  float64
	Pos      diag.Pos
}

// Calibrated returns the least numbers of queries and keys in matrices that an earlier
// calibration wrote, or 0 if the bias has none.
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

// Rotary are rotary positions (Su et al. 2021). The first Fraction of each head is
// rotated, and wave lengths are powers of Base. If Input, the projections' input is
// rotated instead of the heads of queries and keys.
type Rotary struct {
	Base, Fraction float64
	Input          bool
}

// BiasParam is a tensor in a bias. It is learned, one for each layer that uses it, or
// fixed, one for the whole model, if it comes from a file or a stage.
type BiasParam struct {
	Name   string // unique in the spec: bias name, dot, parameter name
	Shape  []int  // empty for a scalar
	Init   Init
	Min    *float64  // lower bound, kept by projection after each update
	Decay  bool      // weight decay applies
	Shared bool      // one for the whole model
	From   string    // Init.Kind file: its path; stage: its name
	Tensor string    // its name in the file, or in the stage's result, as in self.line.1.-1
	Stage  string    // Init.Kind file: the calibration that wrote the file, or ""
	Values []float32 // Init.Kind file: its elements
}

// Fixed reports whether a parameter is given before training instead of being trained.
func (l *BiasParam) Fixed() bool { return l.Init.Kind == "file" || l.Init.Kind == "stage" }

// Init is a parameter's initial value. A spec also has the kind "xavier": as the model's
// matrices, with A inputs and B outputs. Parameters of kind "file" or "stage" are not
// learned.
type Init = config.Init

// Train describes the training. It lacks numbers that depend on launches: Group, Rows and
// RowFLOP of a program. Chunk and MicroBatch are the spec's values, or 0 if the compiler
// chooses. MicroBatch is the number of examples that share draws (DrawGroup) or, if
// nothing is drawn, a launch's examples.
type Train struct {
	config.Train
	Optimizer string // a key of the table in compiler/model/optimizer.go
	Muon      Muon
	SGD       SGD
	Averages  bool      // keep an average of the weights
	Average   float64   // its decay
	Grokfast  *Grokfast // nil: gradients are not filtered
	Lanes     int       // models that train at once; 0: one, without lanes
	Smoothing float64   // share of a label that all tokens share
	ByRuns    bool      // gradients of the loop's parameters are divided by the runs with gradients
	Pos       diag.Pos
}

// Grokfast amplifies slow gradients. It adds Lamb times their running average with decay
// Alpha.
type Grokfast struct{ Alpha, Lamb float64 }

// SGD are the arguments of gradient descent with momentum.
type SGD struct {
	Momentum float64
	Nesterov bool
}

// Muon are the arguments of the optimizer Muon for matrices.
type Muon struct {
	Momentum float64
	Nesterov bool
	Steps    int    // of the Newton-Schulz iteration
	Adjust   string // the step size by shape: match_rms_adamw, original
}

// Eval describes the tests after training.
type Eval struct {
	config.Eval
	Pos diag.Pos
}

// Stage is one step of a training in several steps: a training, or a calibration between
// two.
type Stage struct {
	Name        string
	From        string       // the stage whose weights it starts from, or whose attention it reads; "": fresh weights
	Spec        *Spec        // a training: the whole spec with the stage's overrides, without stages
	Calibration *Calibration // a calibration; Spec is then nil
}

// Capture is the attention of a decoder layer that a calibration reads.
type Capture struct {
	Layer  int  // from 1
	Logits bool // before the softmax, else after it
}

// Calibration turns a trained model's attention into biases (Duan & Shi 2023,
// arXiv:2310.11984, section 4). It takes lines of attention matrices and extends them to
// longer problems. The results are the biases NAME.self and NAME.cross.
type Calibration struct {
	Capture
	Samples int  // problems whose attention is averaged
	Heads   int  // of the model that is read
	Extend  int  // digits of the problems that the biases are for
	Mean    bool // a line counts by its mean instead of its sum
	Less    bool // the bias is a line's value less the largest of its direction
	Open    bool // the run goes on if no line stands out
	Self    Lines
	Cross   Lines
}

// Lines says which lines of an attention matrix become a bias.
type Lines struct {
	Directions [][2]int   // rows and columns from cell to cell
	Rows       int        // first rows of the attention to read
	Queries    int        // rows of the extended matrix
	Keys       int        // its columns
	Paired     bool       // the source is ^ a + b $ with equal widths, and lines that begin in a end with a
	Keep       *expr.Expr // Bool over the F32 variables value, mean, std
}
