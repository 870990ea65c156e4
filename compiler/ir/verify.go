package ir

import (
	"fmt"
)

// infer checks a value's arguments and attributes, and returns its type.
func infer(v *Value) (Type, error) {
	if v.Op >= numOps {
		return Type{}, fmt.Errorf("v%d has no known op", v.ID)
	}
	info := &ops[v.Op]
	fail := func(err error) (Type, error) { return Type{}, fmt.Errorf("%s: %w", info.name, err) }
	s := site(v)
	for _, a := range attributes {
		if a.key != "name" && !v.Op.carries(a.key) && a.show(&v.Attr, s) != "" {
			return fail(fmt.Errorf("carries no %s", a.key))
		}
	}
	if v.Attr.Name != "" && !isName(v.Attr.Name) {
		return fail(fmt.Errorf("bad name %q", v.Attr.Name))
	}
	if r := v.Attr.Rate; !(r >= 0 && r < 1) {
		return fail(fmt.Errorf("rate %v is not in [0, 1)", r))
	}
	t, err := unify(v)
	if rule := rules[v.Op]; rule != nil && err == nil {
		err = rule(v, &t)
	}
	if err == nil {
		err = checkType(t)
	}
	if err != nil {
		return fail(err)
	}
	return t, nil
}

// Verify checks all that later packages rely on. Values are defined once, before use,
// with ascending IDs, and parameters come first. Each value has the type that its op
// gives. Names are unique. Results are values of f.
func Verify(f *Func) error {
	if !isName(f.Name) {
		return fmt.Errorf("bad function name %q", f.Name)
	}
	if err := verifyParams(f); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defined := map[*Value]bool{}
	for i, v := range f.Values {
		if err := verifyValue(v, defined); err != nil {
			return fmt.Errorf("%s: v%d: %w", f.Name, v.ID, err)
		}
		if i > 0 && v.ID <= f.Values[i-1].ID {
			return fmt.Errorf("%s: v%d after v%d", f.Name, v.ID, f.Values[i-1].ID)
		}
		defined[v] = true
	}
	names := map[string]bool{}
	for _, r := range f.Results {
		if !isName(r.Name) || names[r.Name] {
			return fmt.Errorf("%s: bad or repeated result name %q", f.Name, r.Name)
		}
		if !defined[r.Value] {
			return fmt.Errorf("%s: result %s is no value of the function", f.Name, r.Name)
		}
		names[r.Name] = true
	}
	return nil
}

func verifyParams(f *Func) error {
	if len(f.Roles) != len(f.Params) || len(f.Values) < len(f.Params) {
		return fmt.Errorf("%d parameters, %d roles, %d values", len(f.Params), len(f.Roles), len(f.Values))
	}
	names := map[string]bool{}
	for i, p := range f.Params {
		if p != f.Values[i] || p.Op != Param {
			return fmt.Errorf("parameter %d is not value %d", i, i)
		}
		if names[p.Attr.Name] {
			return fmt.Errorf("parameter %s is declared twice", p.Attr.Name)
		}
		if int(f.Roles[i]) >= len(roleNames) {
			return fmt.Errorf("parameter %s has no known role", p.Attr.Name)
		}
		names[p.Attr.Name] = true
	}
	for _, v := range f.Values[len(f.Params):] {
		if v.Op == Param {
			return fmt.Errorf("v%d is a parameter that is not in Params", v.ID)
		}
	}
	return nil
}

func verifyValue(v *Value, defined map[*Value]bool) error {
	if defined[v] {
		return fmt.Errorf("is defined twice")
	}
	for _, a := range v.Args {
		if !defined[a] {
			return fmt.Errorf("v%d is used before its definition", a.ID)
		}
	}
	t, err := infer(v)
	if err != nil {
		return err
	}
	if !t.Equal(v.Type) {
		return fmt.Errorf("has type %s, not %s", v.Type, t)
	}
	return nil
}

// Live returns the values that results depend on.
func Live(f *Func) map[*Value]bool {
	live := map[*Value]bool{}
	for _, r := range f.Results {
		live[r.Value] = true
	}
	for i := len(f.Values) - 1; i >= 0; i-- {
		if v := f.Values[i]; live[v] {
			for _, a := range v.Args {
				live[a] = true
			}
		}
	}
	return live
}
