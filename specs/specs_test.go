package specs

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
)

// parts lists the files of base that are no specs, because they have no task.
var parts = []string{
	"base/alibi.arith", "base/architectures.arith", "base/calibration.arith", "base/calibration_narrow.arith",
	"base/embeddings.arith", "base/narrow.arith", "base/paper.arith", "base/rope.arith", "base/rpe.arith",
	"base/scaffold_binary.arith", "base/scaffold_unary.arith", "base/seq2seq.arith",
}

// attentionAlone has the specs of attention alone, which have no model.
const attentionAlone = "attention"

// files lists every spec of a model below this folder, without the parts.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if name == attentionAlone {
			return fs.SkipDir
		}
		if path.Ext(name) == ".arith" && !slices.Contains(parts, name) {
			found = append(found, name)
		}
		return err
	})
	if err != nil || len(found) < 60 {
		t.Fatalf("only %d specs: %v", len(found), err)
	}
	return found
}

// few lists some of the files; with -tags full, all.
func few(t *testing.T) []string {
	t.Helper()
	all := files(t)
	if full.Tests {
		return all
	}
	return slices.DeleteFunc(all, func(name string) bool {
		return !slices.Contains(ptxtest.Representatives, strings.TrimSuffix(name, ".arith"))
	})
}

// resolve wants a spec without errors and without warnings.
func resolve(t *testing.T, opts check.Options) *check.Spec {
	t.Helper()
	spec, list := check.Resolve(opts)
	silent(t, opts.Path, list)
	return spec
}

func silent(t *testing.T, file string, list diag.List) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	var b strings.Builder
	if err := list.Text(&b, os.ReadFile, false); err != nil {
		t.Fatal(err)
	}
	t.Fatalf("%s:\n%s", file, b.String())
}

// TestSpecs resolves every spec at every point of its sweep. The resolved text must mean the same.
func TestSpecs(t *testing.T) {
	for _, file := range files(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			opts := check.Options{Path: file, Read: os.ReadFile}
			fixedPoint(t, path.Dir(file), resolve(t, opts))
			all, list := check.Points(opts)
			silent(t, file, list)
			hashes := make(map[string]string)
			if !full.Tests && len(all) > 1 {
				all = all[len(all)-1:]
			}
			for _, p := range all {
				opts.Set = p.Set
				spec := resolve(t, opts)
				fixedPoint(t, path.Dir(file), spec)
				if twin, ok := hashes[spec.Hash]; ok {
					t.Errorf("the points %s and %s are the same spec", twin, p.Name)
				}
				hashes[spec.Hash] = p.Name
			}
		})
	}
}

// TestAttentionAlone resolves every spec of attention alone. The resolved text must mean the same.
func TestAttentionAlone(t *testing.T) {
	found, err := fs.Glob(os.DirFS("."), attentionAlone+"/*.arith")
	if err != nil || len(found) < 4 {
		t.Fatalf("only %d specs: %v", len(found), err)
	}
	for _, file := range found {
		a, list := check.ResolveAttention(check.Options{Path: file, Read: os.ReadFile})
		silent(t, file, list)
		again, list := check.ResolveAttention(check.Options{Path: file, Read: func(string) ([]byte, error) { return []byte(a.Resolved), nil }})
		silent(t, file+" resolved", list)
		if again.Resolved != a.Resolved || again.Hash != a.Hash {
			t.Errorf("%s resolved twice is\n%s\nand resolved once\n%s", file, again.Resolved, a.Resolved)
		}
	}
}

// fixedPoint resolves the resolved text of a spec. The text may have warnings, since it spells out
// attributes without effect.
func fixedPoint(t *testing.T, folder string, spec *check.Spec) {
	t.Helper()
	file := path.Join(folder, spec.Name+".arith")
	again, list := check.Resolve(check.Options{Path: file, Read: func(name string) ([]byte, error) {
		if name == file {
			return []byte(spec.Resolved), nil
		}
		return os.ReadFile(name)
	}})
	if list.HasErrors() {
		silent(t, spec.Name+" resolved", list)
	}
	if again.Resolved != spec.Resolved {
		t.Errorf("%s resolved twice is\n%s\nand resolved once\n%s", spec.Name, again.Resolved, spec.Resolved)
	}
}

// TestParts wants each part to be used by a spec.
func TestParts(t *testing.T) {
	full.Only(t)
	used := make(map[string]bool)
	read := func(name string) ([]byte, error) {
		used[name] = true
		return os.ReadFile(name)
	}
	for _, file := range files(t) {
		check.Resolve(check.Options{Path: file, Read: read})
	}
	for _, p := range parts {
		if !used[p] {
			t.Errorf("no spec includes %s", p)
		}
	}
}

// TestPoints counts the trainings of each figure and table.
func TestPoints(t *testing.T) {
	for file, want := range map[string]int{
		"abacus/table1.arith":     3,
		"abacus/table2.arith":     3,
		"abacus/table3.arith":     5,
		"abacus/figure5.arith":    3,
		"abacus/figure6.arith":    3,
		"abacus/figure7.arith":    4,
		"abacus/figure8.arith":    3 * 3 * 3,
		"abacus/figure9.arith":    3 * 3 * 4 * 3,
		"abacus/figure10.arith":   4 * 5,
		"abacus/figure11.arith":   2 * 3 * 3,
		"abacus/figure16.arith":   3 * 3 * 3,
		"abacus/figure17.arith":   3 * 4 * 3,
		"abacus/figure18.arith":   6 * 3 * 3,
		"abacus/figure19.arith":   2 * 3 * 3,
		"abacus/figure20.arith":   3 * 3 * 3,
		"abacus/figure21.arith":   3 * 2 * 3,
		"bias/table1.arith":       6 + 7 + 5 + 5,
		"bias/table3.arith":       4 + 5 + 3,
		"bias/variants.arith":     3 * 3,
		"bias/paper.arith":        6 + 7 + 5 + 5,
		"bias/paper_abc.arith":    3,
		"bias/abc_narrow.arith":   4 * 5,
		"bias/fewer_digits.arith": 4,
		"looped8x2.arith":         0,
	} {
		all, list := check.Points(check.Options{Path: file, Read: os.ReadFile})
		silent(t, file, list)
		if len(all) != want {
			t.Errorf("%s has %d points, want %d", file, len(all), want)
		}
	}
}

// TestDepth wants the effective depth of each comparison, and the loss and the
// backpropagation that the authors' code gives a block that is run so often.
func TestDepth(t *testing.T) {
	full.Only(t)
	for file, depth := range map[string]int{
		"looped8x2.arith":        16,
		"abacus/table1.arith":    8,
		"abacus/table2.arith":    8,
		"abacus/table3.arith":    16,
		"abacus/figure6.arith":   16,
		"abacus/figure7.arith":   16,
		"abacus/figure8.arith":   16,
		"abacus/figure9.arith":   16,
		"abacus/figure17.arith":  16,
		"abacus/figure19.arith":  16,
		"small/recurrence.arith": 4,
	} {
		opts := check.Options{Path: file, Read: os.ReadFile}
		all, _ := check.Points(opts)
		for _, p := range append(all, check.Point{Name: "the first"}) {
			opts.Set = p.Set
			s := resolve(t, opts)
			if loop := s.Model.Loop; loop.Layers*loop.Times != depth {
				t.Errorf("%s, %s: %dx%d, want depth %d", file, p.Name, loop.Layers, loop.Times, depth)
			}
			if s.Train.Progressive && s.Train.Backprop != max(s.Model.Loop.Times/2, 1) {
				t.Errorf("%s, %s: %d times with backprop = %d", file, p.Name, s.Model.Loop.Times, s.Train.Backprop)
			}
			if s.Train.Progressive != (s.Model.Loop.Times > 1) && file != "abacus/table3.arith" {
				t.Errorf("%s, %s: progressive is %t for times = %d", file, p.Name, s.Train.Progressive, s.Model.Loop.Times)
			}
		}
	}
}

// TestWindows draws the masks of the scaffolded specs for short problems: 099 + 1,
// the parity of 1011, 099 + 012 and 048 * 7. Derived by hand from the figures of
// arXiv:2310.11984; o is open.
func TestWindows(t *testing.T) {
	unary := map[string][]string{
		"figure": {"..ooo", ".ooo.", "ooo..", "oo..."},
		"code":   {"...oo", "..oo.", ".oo..", "oo..."},
		"parity": {"...ooo", "..ooo.", ".ooo..", "ooo...", "oo...."},
		"pcode":  {"....oo", "...oo.", "..oo..", ".oo...", "oo...."},
	}
	binary := map[string][]string{
		"figure": {".....oooo", "...oooo..", ".oooo....", "ooo......"},
		"pair":   {"......oo.", "....oo...", "..oo.....", "oo......."},
	}
	band := []string{"o...", "oo..", ".oo.", "..oo"}
	for file, cross := range map[string][]string{
		"successor.arith":             unary["code"],
		"bias/successor_window.arith": unary["code"],
		"bias/successor_abs.arith":    unary["code"],
		"bias/successor_nope.arith":   unary["code"],
		"bias/parity_window.arith":    unary["pcode"],
		"bias/parity_abs.arith":       unary["parity"],
		"bias/parity_nope.arith":      unary["pcode"],
		"small/parity.arith":          unary["pcode"],
		"addition.arith":              binary["figure"],
		"bias/addition_window.arith":  binary["figure"],
		"bias/addition_abs.arith":     binary["figure"],
		"bias/addition_nope.arith":    binary["pair"],
		"bias/nx1_window.arith":       binary["figure"],
		"bias/nx1_abs.arith":          binary["figure"],
		"bias/nx1_nope.arith":         binary["figure"],
		"small/nx1.arith":             binary["figure"],
	} {
		spec := resolve(t, check.Options{Path: file, Read: os.ReadFile})
		if got := draw(spec.Model.Decoder.Self.Mask, 4, 4); !slices.Equal(got, band) {
			t.Errorf("%s: the self mask is\n%s", file, strings.Join(got, "\n"))
		}
		if got := draw(spec.Model.Decoder.Cross.Mask, len(cross), len(cross[0])); !slices.Equal(got, cross) {
			t.Errorf("%s: the cross mask is\n%s\nwant\n%s", file, strings.Join(got, "\n"), strings.Join(cross, "\n"))
		}
	}
}

// draw shows a mask over rows and columns.
func draw(mask *expr.Expr, rows, columns int) []string {
	at := expr.Bindings{"I": {I: int64(rows)}, "J": {I: int64(columns)}}
	var lines []string
	for i := range rows {
		var line strings.Builder
		for j := range columns {
			at["i"], at["j"] = expr.Value{I: int64(i)}, expr.Value{I: int64(j)}
			if expr.Eval64(mask, at).I != 0 {
				line.WriteByte('o')
			} else {
				line.WriteByte('.')
			}
		}
		lines = append(lines, line.String())
	}
	return lines
}

// TestRowsAreSpecs wants the rows of a table to be the very specs of its folder.
func TestRowsAreSpecs(t *testing.T) {
	for _, table := range []string{"bias/table1.arith", "bias/table3.arith"} {
		all, _ := check.Points(check.Options{Path: table, Read: os.ReadFile})
		for _, p := range all {
			row := resolve(t, check.Options{Path: table, Read: os.ReadFile, Set: p.Set})
			alone := resolve(t, check.Options{Path: "bias/" + p.Slug + ".arith", Read: os.ReadFile})
			if row.Hash != alone.Hash {
				t.Errorf("%s of %s is another spec than bias/%s.arith", p.Name, table, p.Slug)
			}
		}
	}
}

// TestExportedAdders wants each exported adder to be the present spec of its name.
func TestExportedAdders(t *testing.T) {
	files, err := fs.Glob(os.DirFS("."), "adders/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no exported adders", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spec, list := check.Resolve(check.Options{Path: strings.TrimSuffix(file, ".py") + ".arith", Read: os.ReadFile})
		if list.HasErrors() {
			t.Fatal(list)
		}
		if !strings.Contains(string(text), strings.TrimSpace(spec.Resolved)) {
			t.Errorf("%s is of another spec: train %s again and export it by the command in the file", file, spec.Name)
		}
	}
}
