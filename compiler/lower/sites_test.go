package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// direct are biases that the attention kernels read themselves, over lines of up to 40 rows and
// 45 keys. The first and last elements of diagonal and anti are for cells beyond. Relative
// scores have distances up to 3.
var direct = []struct{ name, params, bias, relative string }{
	{"clipped diagonals", "diagonal", "diagonal[h, min(max(j - i + 40, 0), 85)]", ""},
	{"two directions", "diagonal anti", "max(diagonal[h, min(max(j - i + 40, 0), 85)], anti[h, min(max(i + j + 46 - J, 0), 85)])", ""},
	{"steep lines", "anti", "anti[h, min(max(2*i + j, 0), 85)]", ""},
	{"flat lines", "anti", "anti[h, min(max(i + 2*j, 0), 85)]", ""},
	{"columns, and rows", "anti diagonal", "anti[h, min(max(j + 1 + 45 - J, 0), 85)] + diagonal[1, min(i, 85)]", ""},
	{"unclipped", "diagonal", "diagonal[h, j - i + 40]", ""},
	{"cells", "cells", "cells[h, min(i, 39), min(j, 44)]", ""},
	{"relative", "", "", "relative = 3; "},
	{"relative with lines", "diagonal", "diagonal[h, min(max(j - i + 40, 0), 85)]", "relative = 3; "},
}

// directMasks leave narrow and wide windows, and rows and blocks without keys.
var directMasks = []string{"", "j <= i", "j <= i && i - 2 <= j", "J - 4 - 2*i <= j && j <= J - 1 - 2*i", "i < 3 && j <= i", "34 <= j && j <= i", "i + 2 <= j && j <= i + 4"}

// directSite returns an attention of two heads of width 4 or, if more is set, the attention's
// weights or logits.
func directSite(params, bias, relative, mask, more string) string {
	var b strings.Builder
	b.WriteString("func site\n  v0 = param q input : f32[B, T, 8]\n  v1 = param k input : f32[B, S, 8]\n  v2 = param v input : f32[B, S, 8]\n")
	args := ""
	if relative != "" {
		b.WriteString("  v3 = param far weight : f32[7, 4]\n")
		args = " v10"
	}
	shapes := map[string]string{"diagonal": "2, 86", "anti": "2, 86", "cells": "2, 40, 45"}
	for n, param := range strings.Fields(params) {
		fmt.Fprintf(&b, "  v%d = param %s fixed : f32[%s]\n", 4+n, param, shapes[param])
		args += fmt.Sprintf(" v%d", 4+n)
	}
	if relative != "" {
		b.WriteString("  v10 = head_product v0 v3 {transb; heads = 2} : f32[B, T, 14]\n")
	}
	attrs := relative + "heads = 2; scale = 0.5"
	if bias != "" {
		attrs += "; fixed; parameters = " + params + "; bias = " + bias
	}
	if mask != "" {
		attrs += "; mask = " + mask
	}
	if more == "" {
		fmt.Fprintf(&b, "  v11 = attention v0 v1 v2%s {rate = 0.25; stream = 3; %s} : f32[B, T, 8]\n  result y v11\nend\n", args, attrs)
	} else {
		fmt.Fprintf(&b, "  v11 = attention_weights v0 v1%s {result = %s; %s} : f32[B, 2, T, S]\n  result y v11\nend\n", args, more, attrs)
	}
	return b.String()
}

// calling returns a program that calls a function with parameters and buffers named alike. With
// gradients, it also computes the gradients of a result y.
func calling(t *testing.T, f *ir.Func, gradients bool) *lower.Program {
	t.Helper()
	group := &plan.Group{Name: "site", Layers: 1}
	fixed := &plan.Group{Name: plan.Fixed, Layers: 1}
	call := &plan.Call{Func: f, Group: group.Name, Args: map[string]plan.Ref{}, Results: map[string]plan.Ref{"y": plan.At("y", 0)}}
	p := &plan.Program{Name: "forward", Memory: "forward", Body: []plan.Stmt{call}}
	for i, x := range f.Params {
		name := x.Attr.Name
		if f.Roles[i] == ir.Input {
			call.Args[name] = plan.At(name, 0)
			p.Buffers = append(p.Buffers, &plan.Buffer{Name: name, Type: x.Type, Count: 1})
			continue
		}
		in := group
		if f.Roles[i] == ir.Fixed {
			in = fixed
		}
		var shape []int
		for _, d := range x.Type.Shape {
			shape = append(shape, d.N)
		}
		in.Params = append(in.Params, plan.Param{Name: name, Shape: shape, Init: plan.Init{Kind: "normal", A: 1}})
	}
	y := f.Results[0].Value.Type
	p.Buffers = append(p.Buffers, &plan.Buffer{Name: "y", Type: y, Count: 1})
	if gradients {
		b := ir.NewBuilder("seed", diag.Pos{})
		e, err := expr.Parse("f32((d0 + 3*d1 + 5*d2) % 7 - 3)", func(string) (expr.Type, bool) { return expr.I32, true })
		if err != nil {
			t.Fatal(err)
		}
		b.Result("dy", b.MapShape(e, y.Shape), false)
		seed, err := b.Func()
		if err != nil {
			t.Fatal(err)
		}
		if p, err = plan.Differentiate("gradients", "", p, map[string]*ir.Func{"y": seed}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := lower.Lower(&plan.Plan{Groups: []*plan.Group{group, fixed}, Programs: []*plan.Program{p}})
	if err != nil {
		t.Fatalf("%v in\n%s", err, f)
	}
	return l
}

// noTable wants a kernel without memory for all queries by all keys.
func noTable(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	all := func(shape []*expr.Expr) bool {
		n := len(shape)
		return n >= 2 && shape[n-2].String() == "T" && shape[n-1].String() == "S"
	}
	for _, p := range k.Params {
		if all(p.Shape) {
			t.Errorf("kernel %s has buffer %s", k.Name, p.Name)
		}
	}
	for _, tile := range k.Tiles() {
		if all(tile.Shape) || strings.HasPrefix(tile.Name, "line") && len(tile.Shape) != 1 {
			t.Errorf("kernel %s has tile %s", k.Name, tile.Name)
		}
	}
}

// TestDirectSites runs attention, its gradient and its weights with biases and relative scores
// that the kernels read themselves.
func TestDirectSites(t *testing.T) {
	shapes := []kernel.Scalars{
		{"B": 2, "T": 1, "S": 1, "C": 1, "P": 0, "N": 1},
		{"B": 2, "T": 3, "S": 11, "C": 9, "P": 5, "N": 1},
		{"B": 1, "T": 37, "S": 41, "C": 37, "P": 0, "N": 1},
	}
	for _, d := range direct {
		for _, mask := range directMasks {
			t.Run(d.name+" "+mask, func(t *testing.T) {
				f := irtest.Parse(t, directSite(d.params, d.bias, d.relative, mask, ""))
				p := calling(t, f, true)
				for _, k := range p.Kernels {
					noTable(t, k)
				}
				runAll(t, p, shapes, "")
				for _, result := range []string{"weights", "logits"} {
					f := irtest.Parse(t, directSite(d.params, d.bias, d.relative, mask, result))
					runAll(t, calling(t, f, false), shapes, "")
				}
			})
		}
	}
}

// TestLearnedParametersNeedATable wants no kernel for a parameter's gradient without a table.
func TestLearnedParametersNeedATable(t *testing.T) {
	text := strings.ReplaceAll(directSite("diagonal", "diagonal[h, j - i + 40]", "", "", ""), " fixed : ", " weight : ")
	f := irtest.Parse(t, text)
	b := ir.NewBuilder("seed", diag.Pos{})
	b.Result("dy", b.MapShape(expr.F(1), f.Results[0].Value.Type.Shape), false)
	seed, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Program{Name: "forward", Memory: "forward", Body: []plan.Stmt{&plan.Call{Func: f, Group: "site",
		Args: map[string]plan.Ref{"q": plan.At("q", 0), "k": plan.At("k", 0), "v": plan.At("v", 0)}, Results: map[string]plan.Ref{"y": plan.At("y", 0)}}}}
	for _, name := range []string{"q", "k", "v", "y"} {
		p.Buffers = append(p.Buffers, &plan.Buffer{Name: name, Type: f.Params[0].Type, Count: 1})
	}
	if p, err = plan.Differentiate("gradients", "", p, map[string]*ir.Func{"y": seed}); err != nil {
		t.Fatal(err)
	}
	group := &plan.Group{Name: "site", Layers: 1, Params: []plan.Param{{Name: "diagonal", Shape: []int{2, 86}}}}
	_, err = lower.Lower(&plan.Plan{Groups: []*plan.Group{group}, Programs: []*plan.Program{p}})
	if err == nil || !strings.Contains(err.Error(), "the gradient of parameter diagonal outside of a bias table") {
		t.Errorf("lowering gives %v", err)
	}
}
