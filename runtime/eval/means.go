package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/track"
)

// The means of a result. Files, tables, pages and messages call them so.
const (
	ID      = "id"      // in distribution: nothing is longer than in training
	OOD     = "ood"     // out of distribution: something is, up to 100 digits
	OOD100  = "ood100"  // both operands of the same length, above 100 digits
	Overall = "overall" // of the problems of a file
)

// A Mean is a mean of a result. Each length, or pair of lengths, counts as much as the others,
// however many of its problems were tested; Overall is over problems.
type Mean struct {
	Name  string
	What  string // in words
	Value *float64
}

// means are all means, in the order in which they are shown.
func (r *Result) means() []Mean {
	return []Mean{
		{ID, "mean over lengths of training", r.ID},
		{OOD, "mean over longer ones, up to 100 digits", r.OOD},
		{OOD100, "mean over lengths above 100 digits", r.OOD100},
		{Overall, "of all problems of the file", r.Overall},
	}
}

// Means are the means that the result has, each with its name and what it is over.
func (r *Result) Means() []Mean {
	var there []Mean
	for _, m := range r.means() {
		if m.Value != nil {
			there = append(there, m)
		}
	}
	return there
}

// Mean is a mean by its name; nil if the result has none.
func (r *Result) Mean(name string) *float64 {
	for _, m := range r.means() {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// What says in words what the mean of a name is over.
func What(name string) string {
	for _, m := range new(Result).means() {
		if m.Name == name {
			return m.What
		}
	}
	return ""
}

// ranked are the means by which results are compared: what a model has not seen first.
var ranked = []string{OOD, OOD100, ID, Overall}

// Compare orders results by their means, the better one last: by ood, and those that are equal
// there by ood100, id and overall.
func Compare(a, b *Result) int {
	for _, name := range ranked {
		value := func(r *Result) float64 {
			if m := r.Mean(name); m != nil {
				return *m
			}
			return -1
		}
		if c := cmp.Compare(value(a), value(b)); c != 0 {
			return c
		}
	}
	return 0
}

// Legend says of some of the means what they are over, those that there are.
func Legend(names []string) string {
	var parts []string
	for _, m := range new(Result).means() {
		if slices.Contains(names, m.Name) {
			parts = append(parts, m.Name+": "+m.What)
		}
	}
	return strings.Join(parts, "; ")
}

// described is the means, each with what it is over.
func (r *Result) described() string {
	var parts []string
	for _, m := range r.Means() {
		parts = append(parts, fmt.Sprintf("%s %s %%, %s", m.Name, track.Percent(*m.Value), m.What))
	}
	return strings.Join(parts, "; ")
}

// Summary is a line: the means, or what is right of all problems where there are none.
func (r *Result) Summary() string {
	var parts []string
	for _, m := range r.Means() {
		parts = append(parts, fmt.Sprintf("%s %s %%", m.Name, track.Percent(*m.Value)))
	}
	if parts == nil {
		return track.Percent(r.Fraction()) + " %"
	}
	return strings.Join(parts, ", ")
}
