package look

import (
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/dsl/diag"
)

// A test reports whether a setting affects a value of a function.
type test func(f *ir.Func, v *ir.Value) bool

// decidesTable lists the values that each setting affects. A path that begins with a dot is
// an attribute of each attention site, and affects only values of its site.
var decidesTable = []struct {
	path string
	what test
}{
	{".mask", attends},
	{".bias", attends},
	{".rotary", attends},
	{".scale", attends},
	{".key_heads", func(_ *ir.Func, v *ir.Value) bool { return v.Op == ir.RepeatHeads || v.Op == ir.SumHeads }},
	{".dropout", attends},
	{"model.heads", attends},
	{"model.dropout", func(_ *ir.Func, v *ir.Value) bool { return v.Attr.Rate > 0 }},
	{"model.ffn", func(_ *ir.Func, v *ir.Value) bool { return strings.HasPrefix(v.Attr.Name, "ffn.") }},
	{"model.norm", func(_ *ir.Func, v *ir.Value) bool { return slices.Contains(norms, v.Op) }},
	{"model.embed.token", inFunction("embed_")},
	{"model.embed.position", inFunction("embed_")},
	{"model.output", inFunction("head")},
	{"model.head", inFunction("head")},
	{"train.loss", func(_ *ir.Func, v *ir.Value) bool { return v.Op == ir.CrossEntropy || v.Op == ir.CrossEntropyGrad }},
	{"train.reduce", inFunction("loss_weight")},
	{"train.optimizer", inFunction("update")},
	{"train.clip", inFunction("sum_squares")},
	{"train.grokfast", inFunction("sum_squares")},
	{"train.grokfast", inFunction("update")},
}

var norms = []ir.Op{ir.LayerNorm, ir.LayerNormGrad, ir.RMSNorm, ir.RMSNormGrad}

func attends(_ *ir.Func, v *ir.Value) bool { return v.Attr.Attn != nil }

func inFunction(prefix string) test {
	return func(f *ir.Func, _ *ir.Value) bool { return strings.HasPrefix(f.Name, prefix) }
}

// origins finds the places of a spec that a value comes from: the line that created it, and
// the settings that affect it.
type origins struct {
	rules []originRule
	set   map[string][]place // places that set an attribute, by path
}

type originRule struct {
	from []place
	what test
}

// sitePaths lists the attention sites.
var sitePaths = []string{"model.encoder.self", "model.decoder.self", "model.decoder.cross", "model.decoder_only.self"}

// newOrigins reads the settings of a spec in order of precedence. A stage's settings come
// last, under their paths in the stage.
func newOrigins(spec *check.Spec, stage string, doc *check.Document) *origins {
	o := &origins{set: map[string][]place{}}
	for _, s := range doc.Settings {
		if from := lines(diag.Range{Start: s.Name.Start, End: s.Value.End}); s.Wins && s.Path == s.Attr {
			o.set[s.Path] = from
		} else if s.Wins {
			o.set[s.Attr] = union(o.set[s.Attr], from)
		}
	}
	for path, from := range maps.Clone(o.set) {
		if path, ok := strings.CutPrefix(path, "stage."+stage+"."); ok && stage != "" {
			o.set[path] = from
		}
	}
	for _, d := range decidesTable {
		if !strings.HasPrefix(d.path, ".") {
			o.rules = append(o.rules, originRule{o.set[d.path], d.what})
			continue
		}
		for _, site := range sitePaths {
			o.rules = append(o.rules, originRule{o.set[site+d.path], both(atSite(spec, site), d.what)})
		}
	}
	for _, site := range sitePaths {
		for name := range definitionsOf(doc, site) {
			o.define(spec, site, name)
		}
	}
	return o
}

// define adds the rule for the definition of a bias or mask that a site uses. It affects
// the attention of the site. A learned parameter affects the values that hold or read it.
func (o *origins) define(spec *check.Spec, site, name string) {
	here := atSite(spec, site)
	for path, from := range o.set {
		local, ok := strings.CutPrefix(path, name+".")
		if !ok {
			continue
		}
		param := strings.TrimPrefix(name, "bias.") + "." + local
		what := both(here, attends)
		if isBiasParam(spec, param) {
			what = func(f *ir.Func, v *ir.Value) bool { return names(v, param) }
		}
		o.rules = append(o.rules, originRule{from, what})
	}
}

// names reports whether a value is a parameter or its gradient, or reads the parameter by
// name.
func names(v *ir.Value, param string) bool {
	if strings.Contains(v.Attr.Name, param) || v.Attr.Result == param {
		return true
	}
	return v.Attr.Attn != nil && v.Attr.Result == "" && slices.Contains(v.Attr.Attn.Params, param)
}

func isBiasParam(spec *check.Spec, name string) bool {
	for _, s := range sites(spec) {
		if s != nil && slices.ContainsFunc(s.Params, func(l check.BiasParam) bool { return l.Name == name }) {
			return true
		}
	}
	return false
}

// sites returns the sites of sitePaths.
func sites(spec *check.Spec) map[string]*check.Site {
	m := spec.Model
	return map[string]*check.Site{
		"model.encoder.self": m.Encoder.Self, "model.decoder.self": m.Decoder.Self, "model.decoder.cross": m.Decoder.Cross,
	}
}

// atSite tests whether a value belongs to an attention site: by its function, and by the
// label self or cross or else by its position.
func atSite(spec *check.Spec, path string) test {
	s := sites(spec)[path]
	stack, name, _ := strings.Cut(strings.TrimPrefix(path, "model."), ".")
	return func(f *ir.Func, v *ir.Value) bool {
		switch label, _, ok := strings.Cut(v.Attr.Name, "."); {
		case s == nil || !strings.HasPrefix(f.Name, stack):
			return false
		case ok && (label == "self" || label == "cross"):
			return label == name
		}
		return v.Pos == s.Pos
	}
}

func both(a, b test) test {
	return func(f *ir.Func, v *ir.Value) bool { return a(f, v) && b(f, v) }
}

// definitionsOf returns the paths of the bias and mask blocks that a site uses, directly or
// through other blocks.
func definitionsOf(doc *check.Document, site string) map[string]bool {
	used := map[string]bool{}
	var within func(r diag.Range)
	within = func(r diag.Range) {
		for _, d := range doc.Definitions {
			path := d.Kind + "." + d.Name
			if used[path] || !slices.ContainsFunc(d.Uses, func(u diag.Range) bool { return inside(u, r) }) {
				continue
			}
			used[path] = true
			for _, b := range doc.Blocks {
				if b.Path == path {
					within(b.Body)
				}
			}
		}
	}
	for _, s := range doc.Settings {
		if s.Wins && (s.Path == site+".bias" || s.Path == site+".mask") {
			within(s.Value)
		}
	}
	return used
}

// inside reports whether range a lies in b.
func inside(a, b diag.Range) bool {
	return a.Start.File == b.Start.File && !before(a.Start, b.Start) && !before(b.End, a.End)
}

func before(p, q diag.Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// lines lists the lines of a range.
func lines(r diag.Range) []place {
	var out []place
	for n := r.Start.Line; n <= max(r.Start.Line, r.End.Line); n++ {
		out = append(out, place{r.Start.File, n})
	}
	return out
}

// of lists the places that a value comes from.
func (o *origins) of(f *ir.Func, v *ir.Value) []place {
	var from []place
	if v.Pos.IsValid() {
		from = []place{{v.Pos.File, v.Pos.Line}}
	}
	for _, r := range o.rules {
		if len(r.from) > 0 && r.what(f, v) {
			from = union(from, r.from)
		}
	}
	return from
}
