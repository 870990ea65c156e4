package device

import (
	"fmt"

	"github.com/arithlang/mlc/runtime/config"
)

// align is the alignment of tensors in elements: one cache line.
const align = 16

// An Array is a sequence of equally large tensors, such as one for each layer.
type Array struct {
	Base   Ref
	Stride int // words from one tensor to the next
	Count  int
}

// At returns tensor i.
func (a Array) At(i int) Ref { return a.Base.Plus(i * a.Stride) }

// Len is the number of words from the first tensor to the end of the last.
func (a Array) Len() int { return a.Count * a.Stride }

// An Allocator lays out arrays one after another. The zero Allocator is empty.
type Allocator struct {
	Work int // words given out in the Work space
	Ints int // words given out in the Ints space

	Largest int // elements of the largest tensor
}

// Floats places count tensors of n elements in the Work space.
func (m *Allocator) Floats(count, n int) Array { return m.place(Work, &m.Work, count, n) }

// Halves places count tensors of n 16-bit elements in the Work space, two a word.
func (m *Allocator) Halves(count, n int) Array {
	m.Largest = max(m.Largest, n)
	return m.place(Work, &m.Work, count, (n+1)/2)
}

// Int32s places count tensors of n elements in the Ints space.
func (m *Allocator) Int32s(count, n int) Array { return m.place(Ints, &m.Ints, count, n) }

// Kept places count tensors in the Uses space, from element off, with stride elements between
// the starts of consecutive tensors.
func (m *Allocator) Kept(off, count, stride int) Array {
	m.Largest = max(m.Largest, stride)
	return Array{Base: Ref{Uses, off}, Stride: stride, Count: count}
}

func (m *Allocator) place(s Space, used *int, count, n int) Array {
	m.Largest = max(m.Largest, n)
	n = Aligned(n)
	a := Array{Base: Ref{s, *used}, Stride: n, Count: count}
	*used += count * n
	return a
}

// Aligned rounds n up to the next place where a tensor can begin.
func Aligned(n int) int { return (n + align - 1) / align * align }

// FlatLayout is the layout of a program that uses only the arenas.
func FlatLayout(*Env) Layout { return Layout{} }

// A Group is the parameters of a stack of layers: Layers instances of Params, consecutive from
// element Off of the flat arenas. Each instance serves Span layers in a row.
type Group config.Group

// At returns the first parameter of layer l in the Params space. Layers are counted through all
// runs of a stack.
func (g *Group) At(l int) Ref {
	return Ref{Params, g.Off + (*config.Group)(g).Instance(l)*g.Stride}
}

// Gradient returns where launches add the gradient of the first parameter of layer l: in the
// Grads space, or in Uses for a further use with separate sums.
func (g *Group) Gradient(l int) Ref {
	off, again := (*config.Group)(g).Gradient(l)
	if again {
		return Ref{Uses, off}
	}
	return Ref{Grads, off}
}

// Flat lists the parameters of all layers of all groups with their places, in arena order. A
// parameter of a stack is named group.layer.name. A deeper stack has all names of a shallower
// one.
func Flat(groups ...*Group) []Param {
	var out []Param
	for _, g := range groups {
		for l := range g.Layers {
			off := g.Off + l*g.Stride
			for _, p := range g.Params {
				p.Off = off
				off += p.Elems()
				if g.Stack {
					p.Name = fmt.Sprintf("%s.%d.%s", g.Name, l, p.Name)
				} else {
					p.Name = g.Name + "." + p.Name
				}
				out = append(out, p)
			}
		}
	}
	return out
}

// Trained returns how many of an arena's all elements are trained; they come first.
func Trained(params []Param, all int) int {
	for _, p := range params {
		if p.Fixed {
			return p.Off
		}
	}
	return all
}
