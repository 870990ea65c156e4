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
	{".rotary", either(attends, hasOp(ir.Rotate))},
	{".relative", either(attends, hasOp(ir.HeadProduct), named("relative"))},
	{".scale", attends},
	{".key_heads", hasOp(ir.RepeatHeads, ir.SumHeads)},
	{".dropout", attends},
	{".q", named("q")},
	{".k", named("k")},
	{".v", named("v")},
	{".o", named("o")},
	{".qk_norm", either(named("q.norm"), named("k.norm"))},
	{"model.heads", attends},
	{"model.dropout", func(_ *ir.Func, v *ir.Value) bool { return v.Attr.Rate > 0 }},
	{"model.ffn", func(_ *ir.Func, v *ir.Value) bool { return strings.HasPrefix(v.Attr.Name, "ffn.") }},
	{"model.norm", hasOp(norms...)},
	{"model.bias", func(_ *ir.Func, v *ir.Value) bool { return strings.HasSuffix(v.Attr.Name, ".b") }},
	{"model.embed.token", inFunction("embed_")},
	{"model.embed.position", inFunction("embed_")},
	{"model.embed.norm", both(inFunction("embed_"), hasOp(norms...))},
	{"model.decoder_only.inject", func(_ *ir.Func, v *ir.Value) bool { return v.Attr.Name == "injected" }},
	{"model.decoder_only.state", inFunction("start")},
	{"model.output", inFunction("head")},
	{"model.head", inFunction("head")},
	{"train.loss", hasOp(ir.CrossEntropy, ir.CrossEntropyGrad)},
	{"train.label_smoothing", hasOp(ir.CrossEntropy, ir.CrossEntropyGrad)},
	{"train.reduce", inFunction("loss_weight")},
	{"train.optimizer", inFunction("update")},
	{"train.clip", inFunction("sum_squares")},
	{"train.grokfast", either(inFunction("sum_squares"), inFunction("update"))},
}

var norms = []ir.Op{ir.LayerNorm, ir.LayerNormGrad, ir.RMSNorm, ir.RMSNormGrad}

func attends(_ *ir.Func, v *ir.Value) bool { return v.Attr.Attn != nil }

// hasOp tests whether a value is of one of some operations.
func hasOp(ops ...ir.Op) test {
	return func(_ *ir.Func, v *ir.Value) bool { return slices.Contains(ops, v.Op) }
}

// named tests for a part of an attention site, which is behind self. or cross. in names.
func named(part string) test {
	return func(_ *ir.Func, v *ir.Value) bool {
		_, name, _ := strings.Cut(strings.TrimPrefix(v.Attr.Name, "d."), ".")
		return name == part || strings.HasPrefix(name, part+".")
	}
}

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

// A site is an attention site of a model.
type site struct {
	path  string   // of its attributes
	in    []string // prefixes of the names of its functions
	label string   // before the names of its values
	of    func(m *check.Model) *check.Site
}

var sites = []site{
	{"model.encoder.self", []string{"encoder"}, "self", func(m *check.Model) *check.Site { return m.Encoder.Self }},
	{"model.decoder.self", []string{"decoder"}, "self", func(m *check.Model) *check.Site { return m.Decoder.Self }},
	{"model.decoder.cross", []string{"decoder", "cross_"}, "cross", func(m *check.Model) *check.Site { return m.Decoder.Cross }},
	{"model.decoder_only.self", []string{"loop"}, "self", func(m *check.Model) *check.Site {
		if m.Loop == nil {
			return nil
		}
		return m.Loop.Self
	}},
}

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
		for _, s := range sites {
			o.rules = append(o.rules, originRule{o.set[s.path+d.path], both(s.test(spec), d.what)})
		}
	}
	for _, s := range sites {
		for name := range definitionsOf(doc, s.path) {
			o.define(spec, s, name)
		}
	}
	return o
}

// define adds the rule for the definition of a bias or mask that a site uses. It affects
// the attention of the site. A learned parameter affects the values that hold or read it.
func (o *origins) define(spec *check.Spec, s site, name string) {
	here := s.test(spec)
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
	return slices.ContainsFunc(spec.Model.Sites(), func(s *check.Site) bool {
		return slices.ContainsFunc(s.Params, func(l check.BiasParam) bool { return l.Name == name })
	})
}

// test tests whether a value belongs to the site: by its function, and by the label self or
// cross or else by its position.
func (s site) test(spec *check.Spec) test {
	at := s.of(&spec.Model)
	return func(f *ir.Func, v *ir.Value) bool {
		if at == nil || !slices.ContainsFunc(s.in, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) }) {
			return false
		}
		if label, _, ok := strings.Cut(v.Attr.Name, "."); ok && (label == "self" || label == "cross") {
			return label == s.label
		}
		return v.Pos == at.Pos
	}
}

func either(any ...test) test {
	return func(f *ir.Func, v *ir.Value) bool {
		return slices.ContainsFunc(any, func(t test) bool { return t(f, v) })
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
