package ir

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/dsl/diag"
)

// roleNames is indexed by Role.
var roleNames = [...]string{Input: "input", Weight: "weight", Saved: "saved", Grad: "grad", Fixed: "fixed"}

func (r Role) String() string { return roleNames[r] }

// String is the text form, which Parse reads back:
//
//	func NAME [@POS]
//	  v0 = param x input : f32[B, T, 64]
//	  v2 = matmul v0 v1 {transb} : f32[B, T, 192] @12:3
//	  result y v2
//	  result d.w v2 accumulate
//	end
//
// A position is file:line:column, without the file where it is the function's.
func (f *Func) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "func %s%s\n", f.Name, posString(f.Pos, ""))
	roles := map[*Value]Role{}
	for i, p := range f.Params {
		roles[p] = f.Roles[i]
	}
	for _, v := range f.Values {
		if v.Op == Param {
			fmt.Fprintf(&s, "  v%d = param %s %s : %s%s\n", v.ID, v.Attr.Name, roles[v], v.Type, posString(v.Pos, f.Pos.File))
		} else {
			fmt.Fprintf(&s, "  %s%s\n", v, posString(v.Pos, f.Pos.File))
		}
	}
	for _, r := range f.Results {
		fmt.Fprintf(&s, "  result %s v%d", r.Name, r.Value.ID)
		if r.Accumulate {
			s.WriteString(" accumulate")
		}
		s.WriteByte('\n')
	}
	s.WriteString("end\n")
	return s.String()
}

// String returns the value's line without its position.
func (v *Value) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "v%d = %s", v.ID, v.Op)
	for _, a := range v.Args {
		fmt.Fprintf(&s, " v%d", a.ID)
	}
	attn, sep := site(v), " {"
	for _, row := range attributes {
		switch text := row.show(&v.Attr, attn); text {
		case "":
			continue
		case "true":
			s.WriteString(sep + row.key)
		default:
			s.WriteString(sep + row.key + " = " + text)
		}
		sep = "; "
	}
	if sep != " {" {
		s.WriteByte('}')
	}
	fmt.Fprintf(&s, " : %s", v.Type)
	return s.String()
}

// posString returns " @file:line:column", without the file if it equals file, or "" for
// an empty position.
func posString(p diag.Pos, file string) string {
	switch {
	case p == diag.Pos{}:
		return ""
	case p.File == file:
		return fmt.Sprintf(" @%d:%d", p.Line, p.Col)
	}
	return fmt.Sprintf(" @%s:%d:%d", p.File, p.Line, p.Col)
}
