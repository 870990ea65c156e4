package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/track"
)

// The names of a result's means in files, tables, pages and messages.
const (
	ID      = "id"      // in distribution: no operand is longer than in training
	OOD     = "ood"     // out of distribution: an operand is longer, up to 100 digits
	OOD100  = "ood100"  // both operands of the same length, above 100 digits
	Overall = "overall" // all problems of a file
)

// A Mean is a mean of a result. Every length, or pair of lengths, has the same weight, however
// many of its problems were tested. Overall weighs every problem the same.
type Mean struct {
	Name  string
	What  string // description
	Value *float64
}

// means returns all means in display order.
func (r *Result) means() []Mean {
	return []Mean{
		{ID, "mean over " + r.lengths(ID) + " of training", r.ID},
		{OOD, "mean over " + r.over(OOD, "longer one", "longer ones") + ", up to 100 digits", r.OOD},
		{OOD100, "mean over " + r.lengths(OOD100) + " above 100 digits", r.OOD100},
		{Overall, "of " + cmp.Or(r.Tested, "problems of the file"), r.Overall},
	}
}

// over says how many cells a mean covers, in words for one and for many. Without a count in the
// result it returns many.
func (r *Result) over(name, one, many string) string {
	switch n := r.Over[name]; n {
	case 0:
		return many
	case 1:
		return "1 " + one
	default:
		return track.Thousands(n) + " " + many
	}
}

// lengths is over with the right word for the cells: lengths, or pairs of lengths.
func (r *Result) lengths(name string) string {
	if r.Over[name] > 0 && r.Second == "" && slices.ContainsFunc(r.ByCell, func(c Cell) bool { return c.J > 0 && c.I != c.J }) {
		return r.over(name, "pair of lengths", "pairs of lengths")
	}
	return r.over(name, "length", "lengths")
}

// Means returns the means that the result has.
func (r *Result) Means() []Mean {
	var there []Mean
	for _, m := range r.means() {
		if m.Value != nil {
			there = append(there, m)
		}
	}
	return there
}

// named returns a mean by its name; the zero Mean for an unknown one.
func (r *Result) named(name string) (found Mean) {
	for _, m := range r.means() {
		if m.Name == name {
			found = m
		}
	}
	return found
}

// Mean returns a mean by its name, or nil.
func (r *Result) Mean(name string) *float64 { return r.named(name).Value }

// What describes the cells of a mean in words; "" for unknown names.
func (r *Result) What(name string) string { return r.named(name).What }

// described lists the means, each with a description.
func (r *Result) described() string {
	var parts []string
	for _, m := range r.Means() {
		parts = append(parts, fmt.Sprintf("%s %s %%, %s", m.Name, track.Percent(*m.Value), m.What))
	}
	return strings.Join(parts, "; ")
}

// Summary returns one line: each mean with its number of lengths. Without means it is the
// fraction of all problems.
func (r *Result) Summary() string {
	if r.Text != (Text{}) {
		return r.Text.String()
	}
	var parts []string
	for _, m := range r.Means() {
		part := fmt.Sprintf("%s %s %%", m.Name, track.Percent(*m.Value))
		if r.Over[m.Name] > 0 {
			part += " over " + r.lengths(m.Name)
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return track.Percent(r.Fraction()) + " %"
	}
	return strings.Join(parts, ", ")
}
