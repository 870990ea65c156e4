package ir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// An attribute is a field that the text form prints as key, or as key = value. A zero
// field is omitted.
type attribute struct {
	key   string
	field func(a *Attr, s *AttnAttr) any // its address
}

// attributes are in the order of printing and reading. Attributes that decide which names
// an expression may use come before it.
var attributes = []attribute{
	{"name", func(a *Attr, _ *AttnAttr) any { return &a.Name }},
	{"transa", func(a *Attr, _ *AttnAttr) any { return &a.TransA }},
	{"transb", func(a *Attr, _ *AttnAttr) any { return &a.TransB }},
	{"total", func(a *Attr, _ *AttnAttr) any { return &a.Total }},
	{"split", func(a *Attr, _ *AttnAttr) any { return &a.Split }},
	{"axes", func(a *Attr, _ *AttnAttr) any { return &a.Axes }},
	{"shape", func(a *Attr, _ *AttnAttr) any { return &a.Shape }},
	{"expr", func(a *Attr, _ *AttnAttr) any { return &a.Expr }},
	{"rate", func(a *Attr, _ *AttnAttr) any { return &a.Rate }},
	{"stream", func(a *Attr, _ *AttnAttr) any { return &a.Stream }},
	{"eps", func(a *Attr, _ *AttnAttr) any { return &a.Eps }},
	{"rows", func(a *Attr, _ *AttnAttr) any { return &a.Rows }},
	{"size", func(a *Attr, _ *AttnAttr) any { return &a.Size }},
	{"group", func(a *Attr, _ *AttnAttr) any { return &a.Group }},
	{"result", func(a *Attr, _ *AttnAttr) any { return &a.Result }},
	{"heads", func(_ *Attr, s *AttnAttr) any { return &s.Heads }},
	{"scale", func(_ *Attr, s *AttnAttr) any { return &s.Scale }},
	{"self", func(_ *Attr, s *AttnAttr) any { return &s.Self }},
	{"table", func(_ *Attr, s *AttnAttr) any { return &s.Table }},
	{"line", func(_ *Attr, s *AttnAttr) any { return &s.Line }},
	{"fixed", func(_ *Attr, s *AttnAttr) any { return &s.Fixed }},
	{"relative", func(_ *Attr, s *AttnAttr) any { return &s.Relative }},
	{"words", func(_ *Attr, s *AttnAttr) any { return &s.Words }},
	{"parameters", func(_ *Attr, s *AttnAttr) any { return &s.Params }},
	{"mask", func(_ *Attr, s *AttnAttr) any { return &s.Mask }},
	{"bias", func(_ *Attr, s *AttnAttr) any { return &s.Bias }},
}

// show returns the value of an attribute, or "" if it is not set.
func (row *attribute) show(a *Attr, s *AttnAttr) string {
	switch x := row.field(a, s).(type) {
	case *string:
		return *x
	case *bool:
		if *x {
			return "true"
		}
	case *int:
		if *x != 0 {
			return strconv.Itoa(*x)
		}
	case *uint32:
		if *x != 0 {
			return fmt.Sprint(*x)
		}
	case *float64:
		if *x != 0 {
			return strconv.FormatFloat(*x, 'g', -1, 64)
		}
	case *[]int:
		if len(*x) > 0 {
			return strings.Trim(fmt.Sprint(*x), "[]")
		}
	case *[]string:
		return strings.Join(*x, " ")
	case *[]Dim:
		if *x != nil {
			return shapeString(*x)
		}
	case **expr.Expr:
		if *x != nil {
			return (*x).String()
		}
	default:
		panic("BUG: no text for " + row.key)
	}
	return ""
}

// read sets an attribute from text. The arguments of v must be known.
func (row *attribute) read(v *Value, text string) (err error) {
	s := v.Attr.Attn
	if s == nil {
		s = &AttnAttr{}
	}
	switch x := row.field(&v.Attr, s).(type) {
	case *string:
		*x = text
	case *bool:
		if *x = text == "true"; !*x {
			err = fmt.Errorf("%q where only true is possible", text)
		}
	case *int:
		*x, err = strconv.Atoi(text)
	case *uint32:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 32)
		*x = uint32(n)
	case *float64:
		*x, err = strconv.ParseFloat(text, 64)
	case *[]int:
		for w := range strings.FieldsSeq(text) {
			n, bad := strconv.Atoi(w)
			if bad != nil {
				return bad
			}
			*x = append(*x, n)
		}
	case *[]string:
		*x = strings.Fields(text)
	case *[]Dim:
		*x, err = parseShape(text)
	case **expr.Expr:
		*x, err = v.parse(row.key, text)
	}
	if hasWord(attnAttrs, row.key) {
		v.Attr.Attn = s
	}
	return err
}

// site returns the attention site, or an empty one.
func site(v *Value) *AttnAttr {
	if v.Attr.Attn == nil {
		return noSite
	}
	return v.Attr.Attn
}

var noSite = &AttnAttr{} // never written

// SiteArgs returns the arguments of an attention after queries, keys, values and a
// gradient: relative scores and bias table or line, nil if missing, and the parameters of the
// bias.
func (v *Value) SiteArgs() (relative, table *Value, params []*Value) { return v.siteArgs(v.Args) }

// siteArgs is SiteArgs for other arguments. Before v is verified there may be too few.
func (v *Value) siteArgs(args []*Value) (relative, table *Value, params []*Value) {
	named, _ := v.named()
	named = named[:min(len(named), len(args))]
	for k, p := range named {
		switch p.name {
		case "relative":
			relative = args[k]
		case "table", "line":
			table = args[k]
		}
	}
	return relative, table, args[len(named):]
}

// params returns the arguments that hold the parameters of an attention's bias.
func (v *Value) params() []*Value {
	_, _, params := v.SiteArgs()
	return params
}

// parse reads an expression. The attributes that decide which names it may use must be
// set.
func (v *Value) parse(key, text string) (*expr.Expr, error) {
	names, params := site(v).Params, v.params()
	switch {
	case key == "expr":
		rank := len(v.Attr.Shape)
		for _, a := range v.Args {
			rank = max(rank, a.Type.Rank())
		}
		return expr.Parse(text, mapScope(v.Args, rank).typeOf)
	case len(params) != len(names):
		return nil, fmt.Errorf("%d parameters, %d arguments for them", len(names), len(params))
	}
	return expr.Parse(text, attnScope(names, params).typeOf)
}
