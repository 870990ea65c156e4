package check

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/google/go-cmp/cmp"
)

// cut returns the text of a range within one line.
func cut(files map[string]string, r diag.Range) string {
	lines := strings.Split(files[r.Start.File], "\n")
	if r.Start.Line < 1 || r.Start.Line > len(lines) || r.Start.Line != r.End.Line {
		return "?"
	}
	return lines[r.Start.Line-1][r.Start.Col-1 : r.End.Col-1]
}

// TestInspect describes a spec of two files for tools.
func TestInspect(t *testing.T) {
	files := map[string]string{
		"a.arith": `arith 2
include "b.arith" { train.batch = 32 }
bias slope {
  c     = 0.5
  w     = learned([H])
  value = c * w[h] * abs(i - j)
}
model.decoder { self.bias = slope(c = 2) + kerple }
stage one { task.examples = 20M }
stage two { from = one }
`,
		"b.arith": "arith 2\ntask successor {}\ntrain.batch = 64\nmodel.ffn = gelu(hidden = 2 * width)\n",
	}
	name, prelude := Prelude()
	files[name] = string(prelude)
	doc := Inspect(Options{Path: "a.arith", Read: reader(files)})
	if doc.Spec == nil || len(doc.List) > 0 || len(doc.Limits) == 0 {
		t.Fatalf("spec %v, findings %v, limits %v", doc.Spec, doc.List, doc.Limits)
	}
	var got []string
	for _, b := range doc.Blocks {
		got = append(got, "block "+b.Path+" "+cut(files, b.Name))
	}
	for _, s := range doc.Settings {
		line := s.Path + ": " + cut(files, s.Value) + " = " + s.Text
		if !s.Wins {
			line += " (overridden)"
		}
		if s.Row == nil {
			line += " (definition)"
		}
		got = append(got, line)
	}
	for _, d := range doc.Definitions {
		if d.Prelude && d.Name != "kerple" {
			continue
		}
		line := d.Kind + " " + d.Name + " at " + cut(files, d.At) + ", used by"
		for _, u := range d.Uses {
			line += " " + cut(files, u)
		}
		for _, p := range d.Params {
			line += ", " + p.Name + " = " + p.Default
		}
		got = append(got, line)
	}
	for _, i := range doc.Includes {
		got = append(got, "include "+cut(files, i.At)+" "+i.File)
	}
	want := []string{
		"block task task",
		"block bias.slope slope",
		"block model.decoder decoder",
		"block stage.one one",
		"block stage.two two",
		"train.batch: 64 = 32 (overridden)",
		"model.ffn: gelu(hidden = 2 * width) = gelu(hidden = 2 * width)",
		"train.batch: 32 = 32",
		"bias.slope.c: 0.5 = 0.5 (definition)",
		"bias.slope.w: learned([H]) = learned([H]) (definition)",
		"bias.slope.value: c * w[h] * abs(i - j) = c * w[h] * abs(i - j) (definition)",
		"model.decoder.self.bias: slope(c = 2) + kerple = slope(c = 2) + kerple",
		"stage.one.task.examples: 20M = 20M",
		"stage.two.from: one = one",
		"bias slope at slope, used by slope, c = 0.5",
		"stage one at one, used by one",
		"stage two at two, used by",
		"bias kerple at kerple, used by kerple",
		`include "b.arith" b.arith`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := cut(files, doc.Spec.At("model.decoder.self.bias")); got != "slope(c = 2) + kerple" {
		t.Errorf("the bias is at %s", got)
	}
	if got := cut(files, doc.Spec.At("model.decoder.cross.mask")); got != "decoder" {
		t.Errorf("the default mask is at %s", got)
	}
}

// TestInspectBroken checks the document of a spec with errors.
func TestInspectBroken(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\ntask successor {}\nbias b { value = i }\nmodel.heads = 3\nmodel.width 3\n"}
	doc := Inspect(Options{Path: "a.arith", Read: reader(files)})
	if doc.Spec != nil || len(doc.List) != 1 || doc.List[0].Code != "E0101" {
		t.Errorf("spec %v, findings %v", doc.Spec, doc.List)
	}
	if len(doc.Blocks) != 2 || len(doc.Settings) != 2 || doc.Definitions[0].Name != "b" {
		t.Errorf("%+v", doc)
	}
	if doc := Inspect(Options{Path: "none.arith", Read: reader(nil)}); len(doc.List) != 1 || len(doc.Definitions) == 0 {
		t.Errorf("%+v", doc)
	}
}
