package diff

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/internal/full"
)

func cases(t *testing.T, spec string, set ...string) []*Case {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: "../specs/" + spec + ".arith", Read: os.ReadFile, Set: set})
	if err != nil || found.HasErrors() {
		t.Fatal(spec, err, found)
	}
	return casesOf(t, p.Lowered)
}

func casesOf(t *testing.T, p *lower.Program) []*Case {
	t.Helper()
	cs, err := Cases(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) != len(p.Kernels) {
		t.Fatalf("%d cases for %d kernels", len(cs), len(p.Kernels))
	}
	return cs
}

// TestInterpretersAgree wants every kernel within the tolerance of its function, and the
// kernel interpreter's bits.
func TestInterpretersAgree(t *testing.T) {
	for _, set := range [][]string{
		nil,
		{"model.encoder.layers=2", "model.embed.position=learned(max = 99)", "model.ffn=gelu(hidden = 24)", "model.dropout=25%",
			"model.decoder.layers=3", "model.decoder.self.mask=causal() && (h == 0 || mod(layer, 2) == 0 || i - j < 2)", "model.decoder.cross.bias=-0.5 * layer * abs(J - 2 - i - j)"},
	} {
		for _, c := range cases(t, "tiny", set...) {
			for _, length := range []int{1, 5, 34} {
				r, err := c.Compare(Shape{Batch: 2, Length: length}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Out() || r.Rel > 1e-5 || r.Inexact != 0 || r.Elements == 0 {
					t.Errorf("%s at %d: %+v", c.Kernel.Name, length, r)
				}
			}
		}
	}
}

// TestShipped holds the smallest kernel of each kind to its tensor function; with -tags full, the
// smallest of those that differ only in numbers.
func TestShipped(t *testing.T) {
	smallest, numbers := map[string]*Case{}, regexp.MustCompile(`\d+`)
	elements := func(c *Case) int {
		_, shapes, err := c.extents(Shape{Batch: 2, Length: 7})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range shapes {
			n += size(s)
		}
		return n
	}
	specs, err := ptxtest.Shipped("../specs")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		for _, c := range casesOf(t, spec.Lowered) {
			form := c.Kernel.Kind
			if full.Tests { // package specs compares all kernels of a few specs
				form = numbers.ReplaceAllString(c.Kernel.Kind+c.fn.String(), "#")
			}
			if old := smallest[form]; old == nil || elements(c) < elements(old) {
				smallest[form] = c
			}
		}
	}
	kinds := map[string]bool{}
	for _, c := range smallest {
		kinds[c.Kernel.Kind] = true
		for _, s := range full.Some([]Shape{{Batch: 2, Length: 6}, {Batch: 3, Length: 1}, {Batch: 1, Length: 34}}, 1) {
			r, err := c.Compare(s, nil)
			if err != nil {
				t.Fatalf("%s: %v", c.Kernel.Name, err)
			}
			if r.Out() || r.Elements == 0 {
				t.Errorf("%+v\n%s", r, c.Kernel)
			}
		}
	}
	for _, kind := range strings.Fields(`append argmax attention attention_grad attention_weights bias_table bias_table_grad
		cross_entropy cross_entropy_grad gather head_outer head_product layernorm layernorm_grad map matmul outer rotate runs
		scatter segment_sum subset sum`) {
		if !kinds[kind] {
			t.Errorf("no spec has a kernel of kind %s", kind)
		}
	}
}

// TestCompareFinds changes one element of a back end's results.
func TestCompareFinds(t *testing.T) {
	for _, c := range cases(t, "tiny") {
		out := -1
		for i, p := range c.Kernel.Params {
			if p.Mode == kernel.Out || p.Mode == kernel.InOut {
				out = i
			}
		}
		if c.Kernel.Params[out].Type.String() != "f32" {
			continue
		}
		for _, x := range []struct {
			name    string
			edit    func(x float32) float32
			out     bool
			inexact int
		}{
			{"nothing", func(x float32) float32 { return x }, false, 0},
			{"one bit", func(x float32) float32 { return math.Nextafter32(x, 9) }, false, 1},
			{"a little", func(x float32) float32 { return x + 1 + x*0x1p-8 }, true, 1},
			{"no number", func(x float32) float32 { return float32(math.NaN()) }, true, 1},
		} {
			r, err := c.Compare(Shape{Batch: 2, Length: 3}, func(_ string, s kernel.Scalars, bufs []kernel.Buffer) error {
				if err := kernel.Run(c.Kernel, s, bufs); err != nil {
					return err
				}
				last := len(bufs[out].F) - 1
				bufs[out].F[last] = x.edit(bufs[out].F[last])
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Out() != x.out || r.Inexact != x.inexact {
				t.Errorf("%s, %s: %+v", c.Kernel.Name, x.name, r)
			}
		}
	}
}

// TestNarrow accepts correct norms of two elements, which divide by the distance of these,
// and finds wrong ones.
func TestNarrow(t *testing.T) {
	for _, norm := range []string{"layernorm", "rmsnorm"} {
		for _, c := range cases(t, "tiny", "model.width=2", "model.heads=1", "model.norm="+norm) {
			if !strings.Contains(c.Kernel.Name, "norm") {
				continue
			}
			for _, length := range []int{1, 7, 33} {
				wrong := func(_ string, s kernel.Scalars, bufs []kernel.Buffer) error {
					err := kernel.Run(c.Kernel, s, bufs)
					for i := range bufs {
						if c.Kernel.Params[i].Mode != kernel.In {
							bufs[i].F[0] = 1.1*bufs[i].F[0] + 0.01
						}
					}
					return err
				}
				for _, run := range []remote.Runner{nil, wrong} {
					r, err := c.Compare(Shape{Batch: 2, Length: length}, run)
					if err != nil {
						t.Fatal(err)
					}
					if r.Out() != (run != nil) {
						t.Errorf("%s, %s at %d, wrong %v: %+v", norm, c.Kernel.Name, length, run != nil, r)
					}
				}
			}
		}
	}
}

// TestClosedCells compares kernels where a cell is closed or a branch not taken whose bias
// is NaN, and where a window has no key.
func TestClosedCells(t *testing.T) {
	bias := func(value string) string {
		return "model.decoder.self.bias = b\nbias b {\n  r = learned([H], init = 1)\n  value = " + value + "\n}\n"
	}
	for _, text := range []string{
		bias("-r[h] * log(1 + i - j)"),
		bias("r[h] / (i - j + 1)"),
		bias("where(i == j, 0, r[h] / (i - j))"),
		bias("where(j < i, log(r[h] * (i - j)), 0)"),
		bias("where(j < i, r[h] * log(i - j), 0)"),
		"model.decoder.cross {\n  mask = j < 0\n  relative = shaw(clip = 2)\n}\n",
		"model.decoder.self {\n  mask = j <= i - 4\n  relative = shaw(clip = 2)\n}\n",
		"model.decoder.self.mask = j - 2000000000 <= i + 2000000000\n",
	} {
		spec := "arith 2\ntask addition { operands = digits(1..3) }\nmodel {\n  width = 8\n  heads = 2\n  decoder.layers = 1\n}\n" + text
		p, found, err := compiler.Compile(check.Options{Path: "x.arith", Read: func(string) ([]byte, error) { return []byte(spec), nil }})
		if err != nil || found.HasErrors() {
			t.Fatal(text, err, found)
		}
		cs, err := Cases(p.Lowered)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			if !strings.Contains(c.Kernel.Name, "attention") && !strings.Contains(c.Kernel.Name, "bias") {
				continue
			}
			for _, length := range []int{1, 5, 34} {
				r, err := c.Compare(Shape{Batch: 2, Length: length}, nil)
				if err != nil {
					t.Fatalf("%s: %s at %d: %v", text, c.Kernel.Name, length, err)
				}
				if r.Out() || r.Elements == 0 {
					t.Errorf("%s: %s at %d: %+v", text, c.Kernel.Name, length, r)
				}
			}
		}
	}
}

// TestCompareRefusesWhatDoesNotFit wants an error, not an allocation, for weights of
// 256 GiB.
func TestCompareRefusesWhatDoesNotFit(t *testing.T) {
	refused := 0
	for _, c := range cases(t, "tiny", "model.width=65536", "model.ffn=relu(hidden=1Mi)") {
		s := Shape{Batch: 2, Length: 1}
		shapes, err := kernel.Extents(c.Kernel, c.scalars(s))
		if err != nil {
			t.Fatal(err)
		}
		if c.fits(c.scalars(s), shapes) == nil {
			continue
		}
		refused++
		if _, err := c.Compare(s, nil); err == nil || !strings.Contains(err.Error(), "make the model smaller") {
			t.Errorf("%s: %v", c.Kernel.Name, err)
		}
	}
	if refused == 0 {
		t.Error("every kernel fits")
	}
}
