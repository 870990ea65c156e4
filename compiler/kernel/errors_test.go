package kernel

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
)

// TestErrors has one misuse a case: of the text, of the rules that Verify knows, or of rules that
// only a run can check.
func TestErrors(t *testing.T) {
	message := func(t *testing.T, err error) string {
		if err == nil {
			t.Fatal("no error")
		}
		return err.Error() + "\n"
	}
	archive(t, filepath.Join("testdata", "errors", "parse.txtar"), func(t *testing.T, in string) string {
		_, err := Parse(in)
		return message(t, err)
	})
	archive(t, filepath.Join("testdata", "errors", "verify.txtar"), func(t *testing.T, in string) string {
		ks, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		return message(t, Verify(ks[0]))
	})
	archive(t, filepath.Join("testdata", "errors", "run.txtar"), func(t *testing.T, in string) string {
		ks, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		s := Scalars{"B": 2, "T": 3, "S": 0, "N": 5, "step": 1, "example": 0}
		shapes, err := Extents(ks[0], s)
		if err != nil {
			return message(t, err)
		}
		var bufs []Buffer
		for i, shape := range shapes {
			n := count(shape)
			if ks[0].Params[i].Type == expr.F32 {
				bufs = append(bufs, Buffer{F: wave(n, 1)})
				continue
			}
			ids := make([]int32, n)
			for j := range ids {
				ids[j] = int32(j)
			}
			bufs = append(bufs, Buffer{I: ids})
		}
		return message(t, Run(ks[0], s, bufs))
	})
}

// TestVerifyMade has kernels that no text can express.
func TestVerifyMade(t *testing.T) {
	i, f := expr.NewVar("i", expr.I32), expr.F(0)
	y := expr.NewElem("y", expr.F32, i)
	axis := []Axis{{"i", expr.Int(4)}}
	for _, c := range []struct {
		want string
		edit func(k *Kernel)
	}{
		{"let p = ?: it has no value", func(k *Kernel) { k.Body = []Stmt{&Let{Name: "p"}} }},
		{"set ? = ?: it sets nothing", func(k *Kernel) { k.Body = []Stmt{&Set{}} }},
		{"set 1 = 0: 1 is nothing that can be set", func(k *Kernel) { k.Body = []Stmt{&Set{nil, expr.Int(1), expr.Int(0)}} }},
		{"axis i: there is no expression", func(k *Kernel) {
			k.Body = []Stmt{&Set{[]Axis{{"i", nil}}, y, f}}
		}},
		{"axis j: i is not known here", func(k *Kernel) {
			k.Body = []Stmt{&Set{[]Axis{{"i", expr.Int(4)}, {"j", i}}, y, f}}
		}},
		{"set y[i] = ?: value: there is no expression", func(k *Kernel) { k.Body = []Stmt{&Set{axis, y, nil}} }},
		{"v is f32, not i32", func(k *Kernel) {
			k.Body = []Stmt{&Var{"v", expr.F32, nil}, &Set{nil, expr.NewVar("v", expr.I32), expr.Int(1)}}
		}},
		{"buffer y is f32, not i32", func(k *Kernel) { k.Body = []Stmt{&Set{axis, expr.NewElem("y", expr.I32, i), expr.Int(1)}} }},
		{"its iterations follow one another, but have tiles of their own", func(k *Kernel) {
			k.Body = []Stmt{&For{Var: "q", Lo: expr.Int(0), Hi: expr.Int(1), Own: map[string]bool{"t": true}}}
		}},
		{"if ?: condition: there is no expression", func(k *Kernel) { k.Body = []Stmt{&If{}} }},
		{"for q = ? until ?: first: there is no expression", func(k *Kernel) { k.Body = []Stmt{&For{Var: "q"}} }},
		{"reduce r = ?(0.0) for i < 4: / is no reduction", func(k *Kernel) {
			k.Body = []Stmt{&Reduce{"r", expr.Div, axis[0], f}}
		}},
		{"tile a f32[?]: extent: there is no expression", func(k *Kernel) { k.Body = []Stmt{&Tile{"a", expr.F32, []*expr.Expr{nil}}} }},
		{"tile a bool[4]: a tile holds no bool", func(k *Kernel) { k.Body = []Stmt{&Tile{"a", expr.Bool, []*expr.Expr{expr.Int(4)}}} }},
		{"buffer x: there is no expression", func(k *Kernel) { k.Params[0].Shape[0] = nil }},
		{"buffer x: a buffer holds no u32", func(k *Kernel) { k.Params[0].Type = expr.U32 }},
		{"buffer z stands after a scalar", func(k *Kernel) {
			k.Params = append(k.Params, Param{"z", expr.F32, Out, nil})
		}},
		{"scalar B is i32, not f32", func(k *Kernel) { k.Params[2].Type = expr.F32 }},
		{"scalar B has a shape", func(k *Kernel) { k.Params[2].Shape = []*expr.Expr{expr.Int(1)} }},
		{"no scalar is called Q; there are B, T,", func(k *Kernel) { k.Params[2].Name = "Q" }},
		{"value: B is i32, not f32", func(k *Kernel) {
			k.Body = []Stmt{&Set{axis, y, expr.NewVar("B", expr.F32)}}
		}},
		{"value: + wants operands", func(k *Kernel) {
			k.Body = []Stmt{&Set{axis, y, &expr.Expr{Op: expr.Add, Type: expr.F32, Args: []*expr.Expr{i, f}}}}
		}},
		{`"" is no valid name`, func(k *Kernel) { k.Name = "" }},
		{`"for" is no valid name`, func(k *Kernel) { k.Body = []Stmt{&Let{"for", f}} }},
		{`"9x" is no valid name`, func(k *Kernel) { k.Body = []Stmt{&Var{"9x", expr.F32, f}} }},
		{`"a.b" is no valid name`, func(k *Kernel) { k.Body = []Stmt{&Reduce{"a.b", expr.Add, axis[0], f}} }},
	} {
		k := &Kernel{
			Name: "made", Kind: "map",
			Params: []Param{
				{"x", expr.F32, In, []*expr.Expr{expr.Int(4)}},
				{"y", expr.F32, Out, []*expr.Expr{expr.Int(4)}},
				{"B", expr.I32, Scalar, nil},
			},
			Body: []Stmt{&Set{axis, y, f}},
		}
		if err := Verify(k); err != nil {
			t.Fatal(err)
		}
		c.edit(k)
		err := Verify(k)
		if err == nil {
			t.Errorf("no error, want %q", c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}

// TestRunArguments has launches that do not fit a kernel.
func TestRunArguments(t *testing.T) {
	k, f, i := load(t, "embed"), make([]float32, 100), make([]int32, 6)
	good := Scalars{"B": 2, "T": 3, "P": 0}
	bufs := []Buffer{{I: i}, {F: f}, {F: f}, {F: f}}
	if err := Run(k, good, bufs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		s    Scalars
		bufs []Buffer
	}{
		{"kernel embed: scalar P is not bound", Scalars{"B": 2, "T": 3}, bufs},
		{"scalar T = 1.5 is no i32", Scalars{"B": 2, "T": 1.5, "P": 0}, bufs},
		{"scalar T = 4.294967296e+09 is no i32", Scalars{"B": 2, "T": 1 << 32, "P": 0}, bufs},
		{"buffer ids: size T is -1", Scalars{"B": 2, "T": -1, "P": 0}, bufs},
		{"it has 4 buffers, not 3", good, bufs[:3]},
		{"buffer ids[2 3] has 0 elements of i32", good, []Buffer{{F: f}, {F: f}, {F: f}, {F: f}}},
		{"buffer x[2 3 5] has 29 elements of f32", good, []Buffer{{I: i}, {F: f}, {F: f}, {F: f[:29]}}},
	} {
		err := Run(k, c.s, c.bufs)
		if err == nil {
			t.Errorf("no error, want %q", c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}
