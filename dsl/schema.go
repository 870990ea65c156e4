package dsl

import (
	"slices"
	"strings"
)

// Type says how the value of an attribute or argument is written.
type Type uint8

// The types of values.
const (
	Any         Type = iota // not looked at
	Int                     // 12, 1k, 1Mi
	Real                    // 0.5, 2e-3, or arithmetic on numbers, width and heads
	Fraction                // 10%
	Bool                    // true, false
	Text                    // "…"
	FilePath                // "…", from the directory of the spec that says it
	IntRange                // 1..20
	IntList                 // [6, 10], 1..20
	RealList                // [0.9, 0.98]
	ShareList               // [10%, 50%]
	Grid                    // [1..20, 1..20]
	Names                   // a list of Choices
	Choice                  // one of Choices
	Condition               // a mask
	Bias                    // an attention bias
	Table                   // the rows of a table, as an expression
	Weight                  // what a matrix is made of: its own numbers, fewer of them, or another's
	Budget                  // 1000steps, 20Mexamples, 30m, 8EFLOP
	Steps                   // 100steps
	StageName               // an earlier stage
	Directions              // [1, -1], or a list of such
	Statistic               // a condition over value, mean and std
	Recurrences             // a whole number, or a sum with multiples of a problem's lengths
)

// A Row of the schema describes one attribute of a block, or one argument of a
// choice.
type Row struct {
	Path    string // dotted path of an attribute, name of an argument
	Type    Type
	Default string // as it would be written; "=path" is the value of another attribute; "" means none
	Unless  string // attributes any of which, when set, takes the place of this one's default
	Words   string // words that are allowed besides the type, separated by spaces
	Min     float64
	Max     float64 // bounds of numbers
	Above   bool    // Min itself is out of bounds
	Usual   Span    // numbers outside of it are warned of; none if both ends are 0
	Len     int     // entries of a list; 0 means any
	Choices []Option
	Kinds   string // kinds of task that have the attribute, separated by spaces; "" means all
	Later   bool   // it is printed only where it is not the default: specs from before it keep their hash
	Limit          // any value but the default
	Doc     string
}

// A Span is a closed interval.
type Span struct{ Lo, Hi float64 }

// An Option is one value of a Choice, with its arguments. The first argument may
// be given without its name.
type Option struct {
	Name string
	Args []Row
	Limit
	Doc string
}

// A Limit marks what parses but is not compiled yet: the code that says so and
// what works today. The zero Limit is none.
type Limit struct {
	Code  string
	Today string
}

// Label says whether a block has a label.
type Label uint8

// The uses of labels.
const (
	NoLabel       Label = iota
	OptionalLabel       // model NAME
	KindLabel           // task KIND
	NameLabel           // bias NAME: several blocks that differ by it
)

// A BlockRow of the schema describes a block.
type BlockRow struct {
	Path   string
	Label  Label
	Common bool // a part of every spec, printed with its defaults
	Limit
	Doc string
}

// Schema is the meaning of every block and attribute, in the order in which they
// are printed.
type Schema struct {
	Blocks []BlockRow
	Rows   []Row
	Kinds  []Option // of tasks; the arguments are attributes whose default is another there
}

// NewSchema returns the schema of the language.
func NewSchema() *Schema {
	return &Schema{
		Blocks: blocks(),
		Rows:   slices.Concat(taskRows(), modelRows(), trainRows(), evalRows(), vetRows(), stageRows(), sweepRows()),
		Kinds:  taskKinds(),
	}
}

// Row finds an attribute by its path.
func (s *Schema) Row(path string) *Row {
	for i := range s.Rows {
		if s.Rows[i].Path == path {
			return &s.Rows[i]
		}
	}
	return nil
}

// Names lists what a block may hold: its attributes and the blocks in it. The
// empty path is the file.
func (s *Schema) Names(block string) []string {
	var out []string
	add := func(path string) {
		parent, name := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			parent, name = path[:i], path[i+1:]
		}
		if parent == block {
			out = append(out, name)
		}
	}
	for _, r := range s.Rows {
		add(r.Path)
	}
	for _, b := range s.Blocks {
		add(b.Path)
	}
	return out
}
