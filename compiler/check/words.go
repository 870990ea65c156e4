package check

import (
	"slices"

	"github.com/arithlang/mlc/dsl"
)

// A Word is a name in expressions, for tools and documentation.
type Word struct {
	Kind string // variable (of masks and biases), table variable, function
	Name string
	Args string // of a function, as documentation shows them
	Doc  string // a phrase

	OfModel bool // a variable that attention alone does not have
}

// variables describes the indices.
var variables = map[string]string{
	"h":     "the head, from 0",
	"i":     "the query, from 0",
	"j":     "the key, from 0",
	"pi":    "the position of the query under the position scheme",
	"pj":    "the position of the key under the position scheme",
	"di":    "the place of the query's digit in its number, from 1 for the one that is written first; 0 for other tokens",
	"dj":    "the same for the key",
	"ni":    "the number of tokens up to the query that are not digits, which tells the numbers of a problem apart",
	"nj":    "the same for the key",
	"layer": "the layer in its stack, from 1; a stack that runs several times begins again",
	"H":     "the number of heads",
	"I":     "the number of queries",
	"J":     "the number of keys",
	"n":     "the row, from 0: for a digit its value, then the other tokens in order",
	"c":     "the column, from 0",
	"C":     "the number of columns",
}

// Words lists the variables and functions of expressions in the order of their tables.
// Inspect lists the masks and biases of the prelude.
func Words() []Word {
	var out []Word
	for _, name := range indices {
		out = append(out, Word{"variable", name, "", variables[name], !slices.Contains(aloneIndices, name)})
	}
	for _, name := range tableIndices {
		out = append(out, Word{"table variable", name, "", variables[name], true})
	}
	for _, f := range functions {
		out = append(out, Word{Kind: "function", Name: f.name, Args: f.args, Doc: f.doc})
	}
	return append(out,
		Word{Kind: "function", Name: "sum", Args: "m = lo..hi, x", Doc: "the sum of x for each whole number m of a constant range"},
		Word{Kind: "function", Name: "table", Args: `"x.safetensors"`, Doc: "a bias that was saved before, by head, query and key"},
		Word{Kind: "function", Name: "learned", Args: "shape, init = 0, min = none, shared = false", Doc: Learned().Doc + ": the whole value of an attribute of a bias or table"},
	)
}

// Row returns the schema row of an attribute, or of an argument of its value, by path. It
// returns nil for an unknown path, and for definitions in biases and masks. Paths in
// stages and sweeps are those of the attributes that they change.
func Row(path string) *dsl.Row { return newLanguage().meaning(path) }

// BlockRow returns the schema row of a block, by its path with the names of stages and
// sweep cases. It returns nil for an unknown path.
func BlockRow(path string) *dsl.BlockRow { return newLanguage().block(path) }

// Names lists the attributes and blocks that a block may contain, or the arguments of an
// attribute's values. The empty path is the file.
func Names(path string) []string {
	l := newLanguage()
	out := l.names(path)
	for _, o := range l.options(path) {
		for _, a := range o.Args {
			addNew(&out, a.Path)
		}
	}
	return out
}

// Learned describes the arguments of learned(…).
func Learned() *dsl.Option { return newLanguage().learned }
