package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/google/go-cmp/cmp"
)

// alone resolves a spec of attention alone, which must have no findings.
func alone(t *testing.T, files map[string]string, set ...string) *Attention {
	t.Helper()
	a, list := ResolveAttention(Options{Path: "a.arith", Read: reader(files), Set: set})
	if len(list) > 0 {
		t.Fatal(textOf(list, files))
	}
	return a
}

// TestAttention checks the fields of attention alone.
func TestAttention(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\nattention {\n  heads = 6\n  width = 16\n  mask = causal()\n  bias = kerple + kerple\n}\n"}
	a := alone(t, files)
	if a.Name != "a" || a.Heads != 6 || a.KeyHeads != 6 || a.Width != 16 || a.Site.Scale != 0.25 || a.Pos.Line != 2 || a.Mask != "causal()" || a.Bias != "kerple + kerple" {
		t.Errorf("%+v, scale %g", a, a.Site.Scale)
	}
	var params []string
	for _, p := range a.Site.Params {
		params = append(params, p.Name+" "+shapeText(p.Shape))
	}
	if diff := cmp.Diff([]string{"kerple.r1 [6]", "kerple.r2 [6]"}, params); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if a := alone(t, files, "attention.key_heads=2", "attention.scale=0.5"); a.KeyHeads != 2 || a.Site.Scale != 0.5 {
		t.Errorf("%d heads of keys, scale %g", a.KeyHeads, a.Site.Scale)
	}
	if a := alone(t, map[string]string{"a.arith": "arith 2\nattention {}\n"}); a.Site.Mask != nil || a.Site.Bias != nil || a.Heads != 8 || a.Width != 64 || a.Site.Scale != 0.125 {
		t.Errorf("by default %+v, %+v", a, a.Site)
	}
	if b := alone(t, files, "attention.mask=window(3)"); a.Hash == b.Hash {
		t.Error("another mask does not change the hash")
	}
}

// TestGiven: a given bias leaves the site without a bias, and is not none.
func TestGiven(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\nattention { bias = given }\n"}
	a, none := alone(t, files), alone(t, files, "attention.bias=none")
	if !a.Given || a.Bias != "given" || a.Site.Bias != nil || len(a.Site.Params) > 0 || none.Given {
		t.Errorf("%+v, %+v, none: given %v", a, a.Site, none.Given)
	}
	if a.Hash == none.Hash {
		t.Error("a given bias has the hash of none")
	}
}

// TestPreludeAlone wants token indices for the positions of the prelude, which models
// keep.
func TestPreludeAlone(t *testing.T) {
	bias := "alibi + kerple + sandwich + t5 + rpe + fire"
	a := alone(t, map[string]string{"a.arith": "arith 2\nattention { mask = causal() && window() || antiwindow()  bias = " + bias + " }\n"})
	for _, x := range []*expr.Expr{a.Site.Mask, a.Site.Bias} {
		for _, v := range expr.Vars(x) {
			if !slices.Contains(aloneIndices, v.Name) {
				t.Errorf("%s in %s", v.Name, x)
			}
		}
	}
	if strings.Contains(a.Resolved, "pi") {
		t.Errorf("positions in\n%s", a.Resolved)
	}
	spec := one(t, "task successor {}\nmodel.decoder.self.bias = fire")
	if !mentions(spec.Model.Decoder.Self.Bias, "pi") {
		t.Error("a model's FIRE has no positions")
	}
}

// TestKinds: an include or an option decides which kind a spec has, and neither kind is
// taken for the other.
func TestKinds(t *testing.T) {
	files := map[string]string{
		"a.arith":     "arith 2\ninclude \"b.arith\"\nbias far { value = -abs(i - j) }\n",
		"b.arith":     "arith 2\nattention.bias = far\n",
		"model.arith": "arith 2\ntask successor {}\n",
		"none.arith":  "arith 2\n",
		"axis.arith":  "arith 2\ntask successor {}\nsweep { attention few { model.heads = 2 }  attention all {} }\n",
	}
	for _, c := range []struct {
		path, set    string
		alone        bool
		model, other string // findings of Resolve and of ResolveAttention
	}{
		{"a.arith", "", true, "E0361", ""},
		{"b.arith", "bias.far.value=j", true, "E0361", ""},
		{"model.arith", "", false, "", "E0361"},
		{"model.arith", "attention.heads=2", false, "E0360", "E0360"},
		{"a.arith", "train.seed=2", false, "E0360", "E0360"},
		{"a.arith", "vet.no_key=off", true, "E0361", ""},
		{"none.arith", "attention.heads=2", true, "E0361", ""},
		{"none.arith", "", false, "E0307", "E0361"},
		{"axis.arith", "", false, "", "E0361"},
	} {
		opts := Options{Path: c.path, Read: reader(files)}
		if c.set != "" {
			opts.Set = []string{c.set}
		}
		var got, other []string
		_, list := Resolve(opts)
		for _, d := range list {
			got = append(got, d.Code)
		}
		_, list = ResolveAttention(opts)
		for _, d := range list {
			other = append(other, d.Code)
		}
		if is := IsAttention(opts); is != c.alone || strings.Join(got, " ") != c.model || strings.Join(other, " ") != c.other {
			t.Errorf("%s %s: alone %v, Resolve %v, ResolveAttention %v; want %+v", c.path, c.set, is, got, other, c)
		}
	}
}

// TestTableAlone: a table from a file is part of the hash. Calibrated lines belong to a
// model.
func TestTableAlone(t *testing.T) {
	files := example("arith 2\nattention { heads = 4  bias = table(\"bias.safetensors\") }\n")
	files["a.arith"] = files["example.arith"]
	a := alone(t, files)
	if p := a.Site.Params; len(p) != 1 || !p[0].Fixed() || len(p[0].Values) != 4*8*8 {
		t.Errorf("the parameters are %+v", p)
	}
	text := []byte(files["bias.safetensors"])
	text[len(text)-1] = 1
	files["bias.safetensors"] = string(text)
	if b := alone(t, files); a.Hash == b.Hash {
		t.Error("another table does not change the hash")
	}
	_, list := ResolveAttention(Options{Path: "a.arith", Read: reader(files), Set: []string{`attention.bias=table("lines.safetensors")`}})
	if len(list) != 1 || list[0].Code != "E0332" {
		t.Errorf("calibrated lines: %s", textOf(list, files))
	}
}

// TestInspectAlone describes attention alone for tools.
func TestInspectAlone(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\nattention {\n  scale = 1 / width\n  bias = far + fire\n}\nbias far { value = -abs(i - j) }\n"}
	doc := Inspect(Options{Path: "a.arith", Read: reader(files)})
	if !doc.Alone || doc.Spec != nil || len(doc.List) > 0 {
		t.Fatalf("alone %v, spec %v, findings %v", doc.Alone, doc.Spec, doc.List)
	}
	var got []string
	for _, s := range doc.Settings {
		got = append(got, s.Path+": "+s.Text)
	}
	for _, d := range doc.Definitions {
		if len(d.Uses) > 0 {
			got = append(got, d.Kind+" "+d.Name)
		}
	}
	want := []string{"attention.scale: 1 / width", "attention.bias: far + fire", "bias.far.value: -abs(i - j)", "bias far", "bias fire"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
