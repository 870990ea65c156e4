package model_test

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// TestKeyHeads compares a model whose query heads share key heads with a model that has a
// copy for each. The losses are equal, and a shared head's gradient is the sum over its
// copies.
func TestKeyHeads(t *testing.T) {
	wide := []string{"model.heads=4", "model.width=8", "model.decoder.self.bias=-0.1*(h+1)*abs(i-j)", "model.decoder.self.rotary=rope(base = 3)"}
	few := trainingOf(t, smallAddition, append(wide, "model.decoder.self.key_heads=2", "model.decoder.cross.key_heads=1"))
	all := trainingOf(t, smallAddition, wide)
	const dh = 2
	alike(t, few, all, sharedBy(few.p, all.p, dh))
}

// TestSharedLayers compares a model whose layers share parameters with a model whose
// layers have copies.
func TestSharedLayers(t *testing.T) {
	for share, pair := range map[string]func(name string) bool{
		"all":                  func(string) bool { return false },
		"attention(group = 2)": func(name string) bool { return strings.HasPrefix(name, "self.q") || strings.HasPrefix(name, "cross.v") },
		"ffn(group = 2)":       func(name string) bool { return strings.HasPrefix(name, "ffn.in") },
	} {
		t.Run(share, func(t *testing.T) {
			deep := []string{"model.decoder.layers=4", "model.decoder.times=2", "model.decoder.self.bias=kerple()"}
			few, all := trainingOf(t, smallAddition, append(deep, "model.decoder.share="+share)), trainingOf(t, smallAddition, deep)
			var elements []sharedElement
			seen := map[int]int{}
			for _, g := range all.p.Groups {
				for _, p := range g.Params {
					of, _, off := few.p.Find(g.Name, p.Name)
					_, _, own := all.p.Find(g.Name, p.Name)
					instances := map[int]bool{}
					for l := range g.Layers {
						instance := (*config.Group)(of).Instance(l)
						instances[instance] = true
						for k := range p.Elems() {
							one := of.Off + instance*of.Stride + off + k
							if _, known := seen[one]; !known {
								seen[one] = len(elements)
								elements = append(elements, sharedElement{one: one})
							}
							e := &elements[seen[one]]
							e.own = append(e.own, g.Off+l*g.Stride+own+k)
						}
					}
					if pair(p.Name) && len(instances) != 2 {
						t.Errorf("%s has %d instances", p.Name, len(instances))
					}
				}
			}
			if len(elements) != few.p.NumParams() {
				t.Errorf("%d parameters of %d are in the model of all layers", len(elements), few.p.NumParams())
			}
			alike(t, few, all, elements)
		})
	}
}

// alike compares the loss of a model with that of a model that has copies of shared
// parameters, and its gradients with the sums over copies.
func alike(t *testing.T, few, all *training, elements []sharedElement) {
	t.Helper()
	all.inputs = few.inputs
	for _, e := range elements {
		for _, own := range e.own {
			all.params[own] = few.params[e.one]
		}
	}
	if got, want := few.step(few.params), all.step(all.params); math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("the loss is %.17g, and %.17g of parameters that are alike", got, want)
	}
	for _, e := range elements {
		sum := 0.0
		for _, own := range e.own {
			sum += all.grads[own]
		}
		if got := few.grads[e.one]; math.Abs(got-sum) > 1e-9*(1+math.Abs(sum)) {
			t.Errorf("the gradient of element %d is %.17g, and the sum of those that are alike %.17g", e.one, got, sum)
		}
	}
}

// A sharedElement is an element of a model that shares parameters, and its copies in a
// model that does not.
type sharedElement struct {
	one int
	own []int
}

// sharedBy lists the elements of few, whose heads have width dh, with their copies in
// all.
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
