package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
)

// A Weight describes the matrix of a projection. The zero Weight is a separate matrix.
type Weight struct {
	None       bool   // no matrix: the projection is the identity
	Scalar     bool   // a multiple of the identity by one number
	Init       *Init  // initial values; nil: as in the model
	Rank       int    // a product of two matrices with this inner width; 0: full
	Of         string // the matrix of another projection in the layer, as in self.q; "": its own
	Transposed bool   // the other's matrix, transposed
}

// Weights are the projections of an attention.
type Weights struct{ Q, K, V, O Weight }

// Of returns a projection by its name: q, k, v or o.
func (w *Weights) Of(name string) *Weight {
	return map[string]*Weight{"q": &w.Q, "k": &w.K, "v": &w.V, "o": &w.O}[name]
}

// projections are the names of Weights, in order.
var projections = []string{"q", "k", "v", "o"}

// QKNorm is a norm of each head of queries and keys. Gain is own, shared or none.
type QKNorm struct {
	Eps  float64
	Gain string
}

// A Table is an embedding whose rows are an expression: F32 over the I32 variables n
// (row) and c (column) and the elements of its parameters. All uses of a table share its
// parameters.
type Table struct {
	Value  *expr.Expr
	Params []BiasParam
}

const weightHelp = "write own, none, scalar, low(rank = 2), the name of another projection, as in q or self.k, or transposed(q)"

// weight reads the matrix of a projection.
func (c *checker) weight(path string, e *dsl.Expr) *value {
	v := &value{text: dsl.Format(e), word: e.Text}
	switch {
	case e.Kind == dsl.Name && e.Text == "none":
		v.weight.None = true
	case (e.Kind == dsl.Name || e.Kind == dsl.Call) && slices.Contains([]string{"own", "scalar", "low"}, e.Text):
		return c.ownWeight(path, e)
	case e.Kind == dsl.Call && e.Text == "transposed" && len(e.Args) == 1 && e.Arg(0).Kind == dsl.Name:
		v.weight.Of, v.weight.Transposed = otherProjection(path, e.Arg(0).Text), true
	case e.Kind == dsl.Name:
		v.weight.Of = otherProjection(path, e.Text)
	default:
		c.report("E0206", e.Range, "%s is no matrix: %s", path, text(e)).WithHelp(weightHelp)
		return nil
	}
	return v
}

// weightOptions describes the matrices that a projection can have for itself.
func weightOptions() *dsl.Row {
	init := dsl.Row{Path: "init", Type: dsl.Any, Default: "auto", Later: true, Doc: "a number, uniform(low, high) or normal(std); auto: as model.init"}
	return &dsl.Row{Type: dsl.Choice, Choices: []dsl.Option{
		{Name: "own", Args: []dsl.Row{init}, Doc: "a matrix"},
		{Name: "scalar", Args: []dsl.Row{init}, Doc: "a multiple of the identity, by one number"},
		{Name: "low", Args: []dsl.Row{{Path: "rank", Type: dsl.Int, Min: 1, Max: 1 << 16}, init}, Doc: "a product of two matrices with inner width rank"},
	}}
}

// ownWeight reads a matrix that a projection has for itself.
func (c *checker) ownWeight(path string, e *dsl.Expr) *value {
	v := c.choice(c.lang.weights, path, e)
	if v == nil {
		return nil
	}
	v.weight = Weight{Scalar: v.is("scalar"), Rank: v.int("rank")}
	v.weight.Init = c.initOf(path, v)
	return v
}

// initOf returns the initial values that a value's argument init gives, or nil for auto.
func (c *checker) initOf(path string, v *value) *Init {
	init := v.arg("init")
	if init.expr == nil || init.expr.Kind == dsl.Name && init.expr.Text == "auto" {
		return nil
	}
	start, text := c.init(path, init, nil)
	if init.text = text; start.Kind == "xavier" {
		c.report("E0206", init.at, "%s.init is a number, uniform(low, high) or normal(std), not %s", path, text).WithHelp("xavier is model.init")
		return nil
	}
	return &start
}

// otherProjection returns the full name of a projection that the projection at path
// names.
func otherProjection(path, name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	names := strings.Split(path, ".")
	return names[len(names)-2] + "." + name
}

func (c *checker) weights(site string) Weights {
	var out Weights
	for _, name := range projections {
		*out.Of(name) = c.get(site + "." + name).weight
	}
	return out
}

// headUnits returns the units of a head.
func (c *checker) headUnits() int {
	if v := c.values["attention.width"]; v != nil {
		return int(v.num)
	}
	m := Model{Width: c.int("model.width"), Heads: c.int("model.heads"), HeadWidth: c.int("model.head_width")}
	return m.HeadUnits()
}

// tableOf returns the table in the argument named value, or nil.
func (c *checker) tableOf(path string, v *value) *Table {
	of := v.arg("value")
	if of.expr == nil || of.is("none") {
		return nil
	}
	x := (&scope{checker: c, path: path + ".value", rows: true}).number(of.expr)
	if x == nil {
		return nil
	}
	return &Table{Value: x, Params: c.paramsOf(x)}
}

// checkTables reports tables that another attribute replaces.
func (c *checker) checkTables(m *Model) {
	const token, position, output = "model.embed.token", "model.embed.position", "model.output"
	switch {
	case m.Output != nil && m.Tied:
		c.report("E0335", c.get(output).args["value"].at, "the output matrix is the token table, but also has a value").
			WithHelp("leave out tied = true, or give the token table the value")
	case m.Output != nil && m.OutputRank > 0, m.Tied && m.OutputRank > 0:
		c.report("E0335", c.get(output).args["rank"].at, "rank = %d is for a learned output matrix, but this one is not learned", m.OutputRank).WithHelp("leave out rank")
	}
	if m.Position.Value != nil && m.Position.Fixed {
		c.report("E0335", c.get(position).args["value"].at, "learned = false keeps random rows, but value gives others").WithHelp("leave out learned, or value")
	}
}

// checkProjections reports heads of keys that do not divide the heads of queries, and
// projections with incompatible shapes.
func (c *checker) checkProjections(m *Model) {
	layers := []struct {
		block string
		sites map[string]*Site
	}{
		{"model.encoder.", map[string]*Site{"self": m.Encoder.Self}},
		{"model.decoder.", map[string]*Site{"self": m.Decoder.Self, "cross": m.Decoder.Cross}},
	}
	if m.Loop != nil {
		layers[0].block, layers[0].sites = "model.decoder_only.", map[string]*Site{"self": m.Loop.Self}
	}
	for _, layer := range layers {
		fits := true
		for _, name := range []string{"self", "cross"} {
			fits = c.checkKeyHeads(layer.block+name, layer.sites[name], m.Heads) && fits
		}
		for _, name := range []string{"self", "cross"} {
			site := layer.sites[name]
			if site == nil || !fits {
				continue
			}
			path := layer.block + name
			if site.Weights.Q.None != site.Weights.K.None {
				c.report("E0336", c.atFirst(path+".q", path+".k"), "%s has only queries or only keys", path).WithHelp("leave out both, so that scores are only mask and bias, or neither")
			}
			for _, p := range projections {
				c.checkProjection(path, p, m, layer.sites, name)
			}
		}
	}
}

// checkKeyHeads reports whether the heads of keys divide the heads of queries, and have
// gains that both norms can share.
func (c *checker) checkKeyHeads(path string, s *Site, heads int) bool {
	switch {
	case s == nil || s.KeyHeads == 0 || s.KeyHeads == heads:
		return true
	case heads%s.KeyHeads != 0:
		below := min(s.KeyHeads, heads)
		for heads%below != 0 {
			below--
		}
		c.report("E0345", c.at(path+".key_heads"), "key_heads = %d does not divide heads = %d", s.KeyHeads, heads).WithHelp("use %d", below)
		return false
	case s.QKNorm != nil && s.QKNorm.Gain == "shared":
		c.report("E0345", c.at(path+".qk_norm"), "%d heads of keys cannot share the gains of %d heads of queries", s.KeyHeads, heads).WithHelp("write gain = own")
	}
	return true
}

// checkProjection reports a projection without a matrix between different widths, and a
// tie to a projection that has no matrix, or one of another shape.
func (c *checker) checkProjection(site, name string, m *Model, sites map[string]*Site, own string) {
	path := site + "." + name
	at, w := c.at(path), *sites[own].Weights.Of(name)
	in, out := m.Projection(sites[own], name)
	switch {
	case in != out && (w.Scalar || w.None && (name == "v" || name == "o")):
		c.report("E0336", at, "%s = %s, but it leads from %d units to %d", path, c.get(path).text, in, out).
			WithHelp("a projection needs no matrix only if all heads together are as wide as the model")
		return
	case w.Of == "":
		return
	}
	of, part, _ := strings.Cut(w.Of, ".")
	s := sites[of]
	var other *Weight
	if s != nil {
		other = s.Weights.Of(part)
	}
	switch {
	case other == nil:
		c.report("E0336", at, "%s: the layer has no projection %s", path, w.Of).WithHelp(weightHelp)
		return
	case other.Of != "" || other.None || other.Scalar:
		c.report("E0336", at, "%s is %s, which does not have its own matrix", path, w.Of).WithHelp("name a projection that has, or write own")
		return
	}
	otherIn, otherOut := m.Projection(s, part)
	if w.Transposed {
		otherIn, otherOut = otherOut, otherIn
	}
	if in == otherIn && out == otherOut {
		return
	}
	help := "own"
	if turned := in == otherOut && out == otherIn; turned && w.Transposed {
		help = w.Of
	} else if turned {
		help = fmt.Sprintf("transposed(%s)", w.Of)
	}
	c.report("E0336", at, "%s cannot be %s: their shapes differ", path, c.get(path).text).WithHelp("write %s", help)
}
