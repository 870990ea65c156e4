package opt

import "github.com/arithlang/mlc/compiler/ir"

// CSE joins values with equal op, arguments, attributes and type. The first value's label
// and position stay. Dropouts with different streams remain apart.
func CSE(f *ir.Func) *ir.Func {
	seen := map[string]*ir.Value{}
	return rewrite(f, func(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
		same := ir.Value{Op: v.Op, Type: v.Type, Args: args, Attr: v.Attr}
		same.Attr.Name = ""
		key := same.String()
		if seen[key] == nil {
			seen[key] = b.Clone(v, args...)
		}
		return seen[key]
	})
}
