package ir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// An attrRow is one attribute in the text form: key, or key = value. show gives
// the value, or "" when the attribute is unset; read is its inverse and is called
// after the rows above it, with the value's arguments known.
type attrRow struct {
	key  string
	show func(v *Value) string
	read func(v *Value, text string) error
}

// attrTable is in the order of printing.
var attrTable = []attrRow{
	{"name", func(v *Value) string { return v.Attr.Name }, func(v *Value, s string) error { v.Attr.Name = s; return nil }},
	{"transa", func(v *Value) string { return showBool(v.Attr.TransA) }, func(v *Value, s string) error { return readBool(&v.Attr.TransA, s) }},
	{"transb", func(v *Value) string { return showBool(v.Attr.TransB) }, func(v *Value, s string) error { return readBool(&v.Attr.TransB, s) }},
	{"axes", func(v *Value) string { return showInts(v.Attr.Axes) }, func(v *Value, s string) error { return readInts(&v.Attr.Axes, s) }},
	{"shape", showShape, func(v *Value, s string) (err error) { v.Attr.Shape, err = parseShape(s); return err }},
	{"expr", func(v *Value) string { return showExpr(v.Attr.Expr) }, readMapExpr},
	{"rate", func(v *Value) string { return showFloat(v.Attr.Rate) }, func(v *Value, s string) error { return readFloat(&v.Attr.Rate, s) }},
	{"stream", func(v *Value) string { return showInt(int(v.Attr.Stream)) }, readStream},
	{"eps", func(v *Value) string { return showFloat(v.Attr.Eps) }, func(v *Value, s string) error { return readFloat(&v.Attr.Eps, s) }},
	{"rows", func(v *Value) string { return showInt(v.Attr.Rows) }, func(v *Value, s string) error { return readInt(&v.Attr.Rows, s) }},
	{"size", func(v *Value) string { return showInt(v.Attr.Size) }, func(v *Value, s string) error { return readInt(&v.Attr.Size, s) }},
	{"group", func(v *Value) string { return showInt(v.Attr.Group) }, func(v *Value, s string) error { return readInt(&v.Attr.Group, s) }},
	{"result", func(v *Value) string { return v.Attr.Result }, func(v *Value, s string) error { v.Attr.Result = s; return nil }},
	{"heads", func(v *Value) string { return showInt(site(v).Heads) }, func(v *Value, s string) error { return readInt(&newSite(v).Heads, s) }},
	{"scale", func(v *Value) string { return showFloat(site(v).Scale) }, func(v *Value, s string) error { return readFloat(&newSite(v).Scale, s) }},
	{"self", func(v *Value) string { return showBool(site(v).Self) }, func(v *Value, s string) error { return readBool(&newSite(v).Self, s) }},
	{"table", func(v *Value) string { return showBool(site(v).Table) }, func(v *Value, s string) error { return readBool(&newSite(v).Table, s) }},
	{"fixed", func(v *Value) string { return showBool(site(v).Fixed) }, func(v *Value, s string) error { return readBool(&newSite(v).Fixed, s) }},
	{"relative", func(v *Value) string { return showInt(site(v).Relative) }, func(v *Value, s string) error { return readInt(&newSite(v).Relative, s) }},
	{"parameters", func(v *Value) string { return strings.Join(site(v).Params, " ") }, func(v *Value, s string) error { newSite(v).Params = strings.Fields(s); return nil }},
	{"mask", func(v *Value) string { return showExpr(site(v).Mask) }, func(v *Value, s string) (err error) { newSite(v).Mask, err = parseSite(v, s); return err }},
	{"bias", func(v *Value) string { return showExpr(site(v).Bias) }, func(v *Value, s string) (err error) { newSite(v).Bias, err = parseSite(v, s); return err }},
}

// site is the attention description, empty when there is none.
func site(v *Value) *AttnAttr {
	if v.Attr.Attn == nil {
		return &AttnAttr{}
	}
	return v.Attr.Attn
}

func newSite(v *Value) *AttnAttr {
	if v.Attr.Attn == nil {
		v.Attr.Attn = &AttnAttr{}
	}
	return v.Attr.Attn
}

// SiteArgs are the arguments of an attention besides queries, keys, values and a
// gradient: its relative scores and its bias table, nil where it has none, and the
// parameters of its bias.
func (v *Value) SiteArgs() (relative, table *Value, params []*Value) { return v.siteArgs(v.Args) }

// siteArgs is SiteArgs of args that stand for v's own, of which there may be too few
// before v is verified.
func (v *Value) siteArgs(args []*Value) (relative, table *Value, params []*Value) {
	named, _ := v.named()
	named = named[:min(len(named), len(args))]
	for k, p := range named {
		switch p.name {
		case "relative":
			relative = args[k]
		case "table":
			table = args[k]
		}
	}
	return relative, table, args[len(named):]
}

// params are the arguments that hold the parameters of an attention's bias.
func (v *Value) params() []*Value {
	_, _, params := v.SiteArgs()
	return params
}

func showBool(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func readBool(b *bool, s string) error {
	if s != "true" {
		return fmt.Errorf("%q where only true is possible", s)
	}
	*b = true
	return nil
}

func showInt(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func readInt(n *int, s string) (err error) {
	*n, err = strconv.Atoi(s)
	return err
}

func readStream(v *Value, s string) error {
	n, err := strconv.ParseUint(s, 10, 32)
	v.Attr.Stream = uint32(n)
	return err
}

func showFloat(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func readFloat(f *float64, s string) (err error) {
	*f, err = strconv.ParseFloat(s, 64)
	return err
}

func showInts(ns []int) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

func readInts(ns *[]int, s string) error {
	for w := range strings.FieldsSeq(s) {
		n, err := strconv.Atoi(w)
		if err != nil {
			return err
		}
		*ns = append(*ns, n)
	}
	return nil
}

func showShape(v *Value) string {
	if v.Attr.Shape == nil {
		return ""
	}
	return shapeString(v.Attr.Shape)
}

func showExpr(e *expr.Expr) string {
	if e == nil {
		return ""
	}
	return e.String()
}

// readMapExpr comes after shape, which may decide the rank.
func readMapExpr(v *Value, s string) (err error) {
	rank := len(v.Attr.Shape)
	for _, a := range v.Args {
		rank = max(rank, a.Type.Rank())
	}
	v.Attr.Expr, err = expr.Parse(s, mapScope(v.Args, rank).typeOf)
	return err
}

// parseSite comes after parameters.
func parseSite(v *Value, s string) (*expr.Expr, error) {
	params := v.params()
	names := site(v).Params
	if len(params) != len(names) {
		return nil, fmt.Errorf("%d parameters, %d arguments for them", len(names), len(params))
	}
	return expr.Parse(s, attnScope(names, params).typeOf)
}
