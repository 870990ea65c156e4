package model_test

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestKeyHeads: a model whose heads of queries share heads of keys and values is one where
// each has its own, which are alike. Its loss is the same, and the gradient of a shared head
// is the sum of theirs.
func TestKeyHeads(t *testing.T) {
	of := func(set ...string) *training {
		set = append(set, "model.heads=4", "model.width=8", "model.decoder.self.bias=-0.1*(h+1)*abs(i-j)", "model.decoder.self.rotary=rope(base = 3)")
		spec, list := check.Resolve(check.Options{Path: "small.arith", Set: set, Read: func(string) ([]byte, error) { return []byte(smallAddition), nil }})
		if spec == nil {
			t.Fatal(list)
		}
		p, err := model.Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		return newTraining(t, p)
	}
	few, all := of("model.decoder.self.key_heads=2", "model.decoder.cross.key_heads=1"), of()
	all.inputs = few.inputs
	const dh = 2
	for _, e := range sharedBy(few.p, all.p, dh) {
		for _, own := range e.own {
			all.params[own] = few.params[e.one]
		}
	}
	if got, want := few.step(few.params), all.step(all.params); math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("the loss is %.17g, and %.17g where heads are alike", got, want)
	}
	for _, e := range sharedBy(few.p, all.p, dh) {
		sum := 0.0
		for _, own := range e.own {
			sum += all.grads[own]
		}
		if got := few.grads[e.one]; math.Abs(got-sum) > 1e-9*(1+math.Abs(sum)) {
			t.Errorf("the gradient of element %d is %.17g, and the sum of those of alike heads %.17g", e.one, got, sum)
		}
	}
}

// A sharedElement is an element of a model with few heads of keys, and what it is in one
// with all of them.
type sharedElement struct {
	one int
	own []int
}

// sharedBy lists the elements of few, whose heads are so wide.
func sharedBy(few, all *plan.Plan, dh int) (out []sharedElement) {
	for _, g := range few.Groups {
		for _, p := range g.Params {
			_, _, off := few.Find(g.Name, p.Name)
			of, same, first := all.Find(g.Name, p.Name)
			wide, group := 1, 1
			if len(p.Shape) > 0 {
				wide = p.Shape[len(p.Shape)-1]
				group = same.Shape[len(p.Shape)-1] / wide
			}
			for l := range g.Layers {
				for k := range p.Elems() {
					row, c := k/wide, k%wide
					e := sharedElement{one: g.Off + l*g.Stride + off + k}
					for copy := range group {
						column := (c/dh*group+copy)*dh + c%dh
						if group == 1 {
							column = c
						}
						e.own = append(e.own, of.Off+l*of.Stride+first+row*wide*group+column)
					}
					out = append(out, e)
				}
			}
		}
	}
	return out
}
