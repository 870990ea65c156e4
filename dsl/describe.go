package dsl

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// typeWords describes how a value of each type is written.
var typeWords = map[Type]string{
	Any:        "a value",
	Int:        "a whole number",
	Real:       "a number",
	Fraction:   "a share (10%)",
	Bool:       "true or false",
	Text:       "a text in quotes",
	FilePath:   "a path in quotes",
	IntRange:   "a range (1..20)",
	IntList:    "whole numbers ([6, 10] or 1..20)",
	RealList:   "numbers ([0.9, 0.98])",
	ShareList:  "shares ([10%, 50%])",
	Grid:       "two ranges ([1..20, 1..20])",
	Names:      "a list of",
	Choice:     "one of",
	Condition:  "a condition",
	Bias:       "a bias",
	Table:      "a table, as an expression or the name of a table block",
	Weight:     "another projection of the layer (q, cross.v), transposed(q), low(rank = 2)",
	Budget:     "an amount with its unit (1000steps or 30m)",
	Steps:      "a number of steps (100steps)",
	StageName:  "the name of a stage",
	Directions: "a step in rows and columns ([1, -1]), or a list of steps",
	Statistic:  "a condition over value, mean and std",

	Recurrences: "a whole number",
}

// Takes describes in one line how the value of an attribute or argument is written: its
// choices or type, its bounds, and further words.
func (r *Row) Takes() string {
	text := typeWords[r.Type]
	if len(r.Choices) > 0 {
		text += " " + strings.Join(r.Names(), ", ")
	}
	if r.Type != Budget && r.Min < r.Max {
		text += " " + r.Range()
	}
	for _, w := range strings.Fields(r.Words) {
		text += ", or " + w
	}
	return text
}

// Range returns the bounds of a number, as text.
func (r *Row) Range() string {
	if r.Above {
		return "above " + bound(r.Type, r.Min) + ", at most " + bound(r.Type, r.Max)
	}
	return "between " + bound(r.Type, r.Min) + " and " + bound(r.Type, r.Max)
}

// Unusual reports whether a number is outside of the usual range, and returns that range.
func (r *Row) Unusual(x float64) (usual string, unusual bool) {
	u := r.Usual
	if u == (Span{}) || x >= u.Lo && x <= u.Hi {
		return "", false
	}
	return bound(r.Type, u.Lo) + " to " + bound(r.Type, u.Hi), true
}

// Names lists the names of a row's choices.
func (r *Row) Names() []string {
	var out []string
	for _, o := range r.Choices {
		out = append(out, o.Name)
	}
	return out
}

// bound prints a bound in the unit of its type. Large powers of two print as powers.
func bound(t Type, x float64) string {
	fraction, power := math.Frexp(x)
	switch {
	case t == Fraction || t == ShareList:
		return fmt.Sprintf("%g%%", 100*x)
	case fraction == 0.5 && power > 13:
		return fmt.Sprintf("2^%d", power-1)
	}
	return Canonical(fmt.Sprintf("%g", x))
}

// DefaultWords describes the default of an attribute or argument.
func (r *Row) DefaultWords() string {
	text := r.Default
	if path, ok := strings.CutPrefix(text, "="); ok {
		text = "as " + path
	}
	switch {
	case text == "" && r.Kinds == "":
		return "must be given"
	case text == "":
		return ""
	case r.Unless != "":
		return text + " unless " + strings.Join(strings.Fields(r.Unless), " or ") + " is set"
	}
	return text
}

// UnitNames lists the units of a type.
func (t Type) UnitNames() []string {
	units, _ := t.Units()
	var out []string
	for _, u := range units {
		out = append(out, u.Name)
	}
	return out
}

// grammarNames matches the names of productions, which participle derives from the
// grammar's types.
var grammarNames = regexp.MustCompile(`\bG([A-Z])`)

// Grammar returns the grammar in EBNF, one production per line.
func Grammar() string {
	text := grammarNames.ReplaceAllString(newParser().String(), "$1")
	return strings.ReplaceAll(text, `(?! "include") `, "")
}
