package dsl

import (
	"slices"
	"strings"
)

// Type is the form of an attribute's or argument's value.
type Type uint8

// The types of values.
const (
	Any         Type = iota // unchecked
	Int                     // 12, 1k, 1Mi
	Real                    // 0.5, 2e-3, or arithmetic on numbers, width and heads
	Fraction                // 10%
	Bool                    // true, false
	Text                    // "…"
	FilePath                // "…", relative to the spec that contains it
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
	Weight                  // the matrix of a projection: its own numbers, fewer of them, or another's
	Budget                  // 1000steps, 20Mexamples, 30m, 8EFLOP
	Steps                   // 100steps
	StageName               // an earlier stage
	Directions              // [1, -1], or a list of them
	Statistic               // a condition over value, mean and std
	Recurrences             // a whole number, or a sum with multiples of a problem's lengths
)

// A Row of the schema describes one attribute of a block, or one argument of a choice.
type Row struct {
	Path    string // dotted path of an attribute, name of an argument
	Type    Type
	Default string // as written; "=path" is the value of another attribute; "": none
	Unless  string // attributes that replace this one's default if they are set
	Words   string // words that are allowed in addition to the type, separated by spaces
	Min     float64
	Max     float64 // bounds of numbers
	Above   bool    // Min itself is out of bounds
	Usual   Span    // numbers outside of it cause a warning; zero: no such range
	Len     int     // entries of a list; 0: any
	Choices []Option
	Kinds   string // kinds of task that have the attribute or argument, separated by spaces; "": all
	Later   bool   // printed only if it is not the default, so that older specs keep their hash
	Doc     string
}

// A Span is a closed interval.
type Span struct{ Lo, Hi float64 }

// An Option is one value of a Choice, with its arguments. Leading arguments may be given
// without their names.
type Option struct {
	Name  string
	Args  []Row
	Kinds string // kinds of task that have it, separated by spaces; "": all
	Doc   string
}

// Label says whether a block has a label.
type Label uint8

// The uses of labels.
const (
	NoLabel   Label = iota
	KindLabel       // task KIND
	NameLabel       // bias NAME: several blocks, told apart by the name
)

// A BlockRow of the schema describes a block.
type BlockRow struct {
	Path   string
	Label  Label
	Common bool // a part of every spec, printed with its defaults
	Doc    string
}

// Schema has the meaning of every block and attribute, in the order of printing.
type Schema struct {
	Blocks []BlockRow
	Rows   []Row
	Kinds  []Option // of tasks; the arguments are attributes with another default
}

// NewSchema returns the schema of the language.
func NewSchema() *Schema {
	return &Schema{
		Blocks: blocks(),
		Rows:   slices.Concat(taskRows(), modelRows(), attentionRows(), trainRows(), evalRows(), vetRows(), stageRows(), calibrateRows(), sweepRows()),
		Kinds:  taskKinds(),
	}
}

// Row returns an attribute by its path, or nil.
func (s *Schema) Row(path string) *Row {
	for i := range s.Rows {
		if s.Rows[i].Path == path {
			return &s.Rows[i]
		}
	}
	return nil
}

// Names lists the attributes and blocks inside a block. The empty path is the file.
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
