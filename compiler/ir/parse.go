package ir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// Parse reads functions in the form of Func.String and verifies them. It skips blank
// lines and lines that start with #.
func Parse(text string) ([]*Func, error) {
	p := &parser{}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if p.f != nil {
		return nil, fmt.Errorf("%s has no end", p.f.Name)
	}
	return p.done, nil
}

// A parser holds the functions read so far and the current one.
type parser struct {
	done []*Func
	f    *Func
	vals map[string]*Value // of f, by name in text
}

func (p *parser) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "func" {
		return p.begin(rest)
	}
	if p.f == nil {
		return fmt.Errorf("%q outside of a function", word)
	}
	switch word {
	case "result":
		return p.result(strings.Fields(rest))
	case "end":
		if err := Verify(p.f); err != nil {
			return err
		}
		p.done, p.f = append(p.done, p.f), nil
		return nil
	}
	v, err := p.value(line)
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	p.f.Values = append(p.f.Values, v)
	p.vals[word] = v
	return nil
}

func (p *parser) begin(rest string) error {
	if p.f != nil {
		return fmt.Errorf("%s has no end", p.f.Name)
	}
	name, pos, err := cutPos(rest, "")
	p.f = &Func{Name: name, Pos: pos}
	p.vals = map[string]*Value{}
	return err
}

func (p *parser) result(words []string) error {
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "accumulate" {
		return errors.New("a result is NAME VALUE [accumulate]")
	}
	v := p.vals[words[1]]
	if v == nil {
		return fmt.Errorf("%s is not defined", words[1])
	}
	p.f.Results = append(p.f.Results, Result{words[0], v, len(words) == 3})
	return nil
}

// value reads "vN = OP ARGS {ATTRS} : TYPE @POS".
func (p *parser) value(line string) (*Value, error) {
	line, pos, err := cutPos(line, p.f.Pos.File)
	if err != nil {
		return nil, err
	}
	v := &Value{Pos: pos}
	colon := strings.LastIndex(line, " : ")
	if colon < 0 {
		return nil, errors.New("has no type")
	}
	if v.Type, err = parseType(line[colon+3:]); err != nil {
		return nil, err
	}
	head, attrs, _ := strings.Cut(line[:colon], " {")
	words := strings.Fields(head)
	if len(words) < 3 || words[1] != "=" {
		return nil, errors.New("is no vN = OP …")
	}
	if v.ID, err = parseID(words[0]); err != nil {
		return nil, err
	}
	var ok bool
	if v.Op, ok = opByName(words[2]); !ok {
		return nil, fmt.Errorf("no op %q", words[2])
	}
	if v.Op == Param {
		return v, p.param(v, words[3:])
	}
	for _, w := range words[3:] {
		a := p.vals[w]
		if a == nil {
			return nil, fmt.Errorf("%s is not defined", w)
		}
		v.Args = append(v.Args, a)
	}
	return v, readAttrs(v, strings.TrimSuffix(attrs, "}"))
}

func (p *parser) param(v *Value, words []string) error {
	if len(words) != 2 {
		return errors.New("a parameter has a name and a role")
	}
	role := slices.Index(roleNames[:], words[1])
	if role < 0 {
		return fmt.Errorf("no role %q", words[1])
	}
	v.Attr.Name = words[0]
	p.f.Params = append(p.f.Params, v)
	p.f.Roles = append(p.f.Roles, Role(role))
	return nil
}

// readAttrs reads "key; key = value; …". It sets them in the order of the
// table attributes, because a value may depend on earlier ones.
func readAttrs(v *Value, text string) error {
	attrs := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		key, val, found := strings.Cut(part, " = ")
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if !found {
			val = "true"
		}
		attrs[key] = strings.TrimSpace(val)
	}
	for _, row := range attributes {
		val, ok := attrs[row.key]
		if !ok {
			continue
		}
		if err := row.read(v, val); err != nil {
			return fmt.Errorf("%s: %w", row.key, err)
		}
		delete(attrs, row.key)
	}
	if len(attrs) > 0 {
		return fmt.Errorf("no attribute %q", slices.Min(slices.Collect(maps.Keys(attrs))))
	}
	return nil
}

func parseID(s string) (int, error) {
	digits, ok := strings.CutPrefix(s, "v")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no value name", s)
	}
	return n, nil
}

// parseType reads f32[B, 64].
func parseType(s string) (Type, error) {
	name, shape, ok := strings.Cut(s, "[")
	elem, known := expr.TypeByName(name)
	if !ok || !known {
		return Type{}, fmt.Errorf("%q is no type", s)
	}
	dims, err := parseShape("[" + shape)
	return Type{elem, dims}, err
}

// parseShape reads [B, 64].
func parseShape(s string) ([]Dim, error) {
	inner, ok := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		return nil, fmt.Errorf("%q is no shape", s)
	}
	shape := []Dim{}
	if inner == "" {
		return shape, nil
	}
	for part := range strings.SplitSeq(inner, ",") {
		part = strings.TrimSpace(part)
		switch n, err := strconv.Atoi(part); {
		case err == nil:
			shape = append(shape, N(n))
		case part == Segments().String():
			shape = append(shape, Segments())
		default:
			shape = append(shape, Sym(part))
		}
	}
	return shape, nil
}

// cutPos splits off " @file:line:col". A position without a file is in the given one.
func cutPos(s, file string) (string, diag.Pos, error) {
	head, text, ok := strings.Cut(s, " @")
	if !ok {
		return s, diag.Pos{}, nil
	}
	pos, err := diag.ParsePos(text, file)
	return head, pos, err
}
