package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/internal/golden"
)

// sameKernels compares kernels field by field, expressions by their structure.
func sameKernels(a, b []*Kernel) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b *expr.Expr) bool {
		if a == nil || b == nil {
			return a == b
		}
		return expr.Equal(a, b)
	}))
}

// archive runs check on each file NAME.in of a txtar archive, and compares the result with the file
// NAME.out.
func archive(t *testing.T, path string, check func(t *testing.T, in string) string) {
	golden.Archives(t, path, func(t *testing.T, a *txtar.Archive) {
		kept := map[string][]byte{}
		for _, f := range a.Files {
			kept[f.Name] = f.Data
		}
		var all []txtar.File
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".in")
			if !ok {
				continue
			}
			out := txtar.File{Name: name + ".out", Data: kept[name+".out"]}
			t.Run(name, func(t *testing.T) { out.Data = []byte(check(t, string(f.Data))) })
			all = append(all, f, out)
		}
		a.Files = all
	})
}

// TestFormat reads kernels written in other ways and prints the one form.
func TestFormat(t *testing.T) {
	archive(t, filepath.Join("testdata", "format.txtar"), func(t *testing.T, in string) string {
		ks, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range ks {
			if err := Verify(k); err != nil {
				t.Error(err)
			}
		}
		roundTrip(t, ks)
		return Format(ks)
	})
}

// TestSuited wants launches within what a kernel's tables have room for.
func TestSuited(t *testing.T) {
	ks, err := Parse("kernel k attention\n out y f32[T, S]\n scalar T <= 5, S <= 6, C\n set y[i, j] = 0.0\nend\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ launch, want Scalars }{
		{Scalars{"T": 5, "S": 6, "C": 5}, Scalars{"T": 5, "S": 6, "C": 5}},
		{Scalars{"T": 9, "S": 2, "C": 9}, Scalars{"T": 5, "S": 2, "C": 5}},
		{Scalars{"T": 9, "S": 9, "C": 12}, Scalars{"T": 5, "S": 6, "C": 12}},
	} {
		if d := cmp.Diff(c.want, ks[0].Suited(c.launch)); d != "" {
			t.Errorf("%v: (-want +got)\n%s", c.launch, d)
		}
	}
}

// TestRoundTrip compares the kernels of testdata/kernels with their printed form.
func TestRoundTrip(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "kernels", "*.kir"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no kernels:", err)
	}
	var all []*Kernel
	for _, path := range paths {
		k := load(t, strings.TrimSuffix(filepath.Base(path), ".kir"))
		golden.Compare(t, path, k.String())
		all = append(all, k)
	}
	roundTrip(t, all)
}

func roundTrip(t *testing.T, ks []*Kernel) {
	t.Helper()
	again, err := Parse(Format(ks))
	if err != nil {
		t.Fatalf("%v in\n%s", err, Format(ks))
	}
	if d := sameKernels(ks, again); d != "" {
		t.Errorf("(-made +parsed)\n%s", d)
	}
}

// TestRoundTripAxes prints kernels whose axes differ from the implied ones in number, order or
// size.
func TestRoundTripAxes(t *testing.T) {
	n := func(v int64) *expr.Expr { return expr.Int(v) }
	i, j, k := expr.NewVar("i", expr.I32), expr.NewVar("j", expr.I32), expr.NewVar("k", expr.I32)
	at := expr.NewElem("a", expr.F32, i, j)
	a := func(i, j *expr.Expr) *expr.Expr { return expr.NewElem("a", expr.F32, i, j) }
	x := func(i, j *expr.Expr) *expr.Expr { return expr.NewElem("x", expr.F32, i, j) }
	y := func(i, j *expr.Expr) *expr.Expr { return expr.NewElem("y", expr.F32, i, j) }
	base := func(s ...Stmt) *Kernel {
		tile := []Stmt{&Tile{"a", expr.F32, []*expr.Expr{n(4), n(5)}}, &Set{[]Axis{{"i", n(4)}, {"j", n(5)}}, at, expr.F(0)}}
		return &Kernel{
			Name: "axes", Kind: "map",
			Params: []Param{{"x", expr.F32, In, []*expr.Expr{n(4), n(5)}}, {"y", expr.F32, Out, []*expr.Expr{n(5), n(5)}}},
			Body:   append(tile, s...),
		}
	}
	axes := func(ni, nj int64) []Axis { return []Axis{{"i", n(ni)}, {"j", n(nj)}} }
	ji := []Axis{{"j", n(5)}, {"i", n(4)}}
	for _, c := range []struct {
		text string
		s    Stmt
	}{
		{"set    a[i, j] = x[i, j]\n", &Set{axes(4, 5), at, x(i, j)}},
		{"set    a[i, j] = x[i, j] for i < 3, j < 5\n", &Set{axes(3, 5), at, x(i, j)}},
		{"set    a[j, i] = x[i, j]\n", &Set{[]Axis{{"j", n(4)}, {"i", n(5)}}, a(j, i), x(i, j)}},
		{"set    a[i, j] = a[i, j] + 1.0\n", &Set{axes(4, 5), at, expr.New(expr.Add, at, expr.F(1))}},
		{"set    a[i, j] = 1.0 for j < 5, i < 4\n", &Set{ji, at, expr.F(1)}},
		{"set    a[3, 3 - i] = 1.0 for i < 4\n", &Set{[]Axis{{"i", n(4)}}, a(n(3), expr.New(expr.Sub, n(3), i)), expr.F(1)}},
		{"set    a[0, 1] = 1.0\n", &Set{nil, a(n(0), n(1)), expr.F(1)}},
		{"set    y[i, j] = a[i, j]\n", &Set{axes(4, 5), y(i, j), at}},
		{"set    y[i, j] = a[i, j] for i < 5, j < 5\n", &Set{axes(5, 5), y(i, j), at}},
		{"set    y[i, j] = 2.0\n", &Set{axes(5, 5), y(i, j), expr.F(2)}},
		{"set    y[i, j] = 2.0 for j < 5, i < 5\n", &Set{[]Axis{{"j", n(5)}, {"i", n(5)}}, y(i, j), expr.F(2)}},
		{"set    y[j, i] = a[i, j]\n", &Set{ji, y(j, i), at}},
		{"dot    y[i, j] += a[k, i] * x[k, j]\n", &Dot{Axes: []Axis{{"i", n(5)}, {"j", n(5)}, {"k", n(4)}}, Dst: y(i, j), A: a(k, i), B: x(k, j)}},
		{"dot    y[i, j] = a[k, i] * x[k, j] for i < 2, j < 5, k < 4; most 2, 5\n", &Dot{
			Axes: []Axis{{"i", n(2)}, {"j", n(5)}, {"k", n(4)}}, Dst: y(i, j), A: a(k, i), B: x(k, j), Zero: true, MostRows: 2, MostCols: 5}},
		{"reduce r = max(a[1, i])\n", &Reduce{"r", expr.Max, Axis{"i", n(5)}, a(n(1), i)}},
		{"reduce r = sum(a[1, i]) for i < 4\n", &Reduce{"r", expr.Add, Axis{"i", n(4)}, a(n(1), i)}},
		{"reduce r = min(1.0) for i < 4\n", &Reduce{"r", expr.Min, Axis{"i", n(4)}, expr.F(1)}},
	} {
		k := base(c.s)
		if text := k.String(); !strings.Contains(text, "  "+c.text) {
			t.Errorf("want %s in\n%s", c.text, text)
		}
		roundTrip(t, []*Kernel{k})
	}
}

// FuzzParse looks for valid kernels that differ from the kernels parsed from their printed text.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("testdata", "kernels", "*.kir"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	more, err := txtar.ParseFile(filepath.Join("testdata", "format.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range more.Files {
		f.Add(string(file.Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		ks, err := Parse(text)
		if err != nil {
			return
		}
		for _, k := range ks {
			if err := Verify(k); err != nil {
				return
			}
		}
		roundTrip(t, ks)
	})
}
