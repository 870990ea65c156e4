package ptx_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/internal/full"
)

// TestPasses verifies each shipped kernel after each pass. It wants no needless instructions
// after the last.
func TestPasses(t *testing.T) {
	specs, err := ptxtest.Shipped("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range full.Some(ptxtest.Distinct(specs), 2) {
		for i, k := range s.Kernels {
			f, err := ptx.Build(k, s.Options)
			if err != nil {
				t.Fatal(err)
			}
			if err := asm.Verify(f); err != nil {
				t.Fatalf("%s: %v", s.Path, err)
			}
			for _, p := range asm.Passes() {
				p.Run(f)
				if i%6 > 0 && p.Name != "dead" {
					continue
				}
				if err := asm.Verify(f); err != nil {
					t.Fatalf("%s, after %s: %v", s.Path, p.Name, err)
				}
			}
			for _, line := range needless(f.String()) {
				t.Errorf("%s, %s: %s", s.Path, k.Name, line)
			}
		}
	}
}

// identity is an integer instruction that computes its operand, or a constant.
var identity = regexp.MustCompile(`^((add|sub|or|xor)\.[sb]\d+ .*, 0|(add|or|xor)\.[sb]\d+ %\w+, 0, .*|sh[lr]\.\w+ .*, 0|(mul|div)\.(lo\.)?[su]\d+ .*, 1|` +
	`mul\.(lo|wide)\.\w+ .*, 0|mul\.lo\.\w+ %\w+, [01], .*|mad\.(lo|wide)\.\w+ %\w+, (.*, [01]|[01], %\w+), .*|and\.b32 .*, (0|-1)|rem\.\w+ .*, 1|cvt\.[us]64\.\w+ .*, -?\d+|mov\.\w+ (%\w+), (%\w+));$`)

// needless lists instructions that compute an existing value, or repeat a division before the
// next label or branch.
func needless(text string) []string {
	var found []string
	divided := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := identity.FindStringSubmatch(line); m != nil && m[len(m)-2] == m[len(m)-1] {
			found = append(found, line)
		}
		op, operands, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "$") || strings.Contains(line, "bra ") {
			clear(divided)
		}
		dst, args, _ := strings.Cut(operands, ", ")
		if strings.HasPrefix(op, "div.") || strings.HasPrefix(op, "rem.") {
			if divided[op+args] != "" {
				found = append(found, divided[op+args]+" and "+line)
			}
			divided[op+args] = line
		}
		for _, of := range slices.Collect(maps.Keys(divided)) { // a variable may have changed
			if strings.Contains(strings.TrimSuffix(of, ";")+",", dst+",") {
				delete(divided, of)
			}
		}
	}
	return found
}

// TestNeedless wants needless instructions found.
func TestNeedless(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"add.s32 %r1, %r2, 0;", 1},
		{"add.s32 %r1, 0, %r2;", 1},
		{"add.s64 %d1, %d2, 0;", 1},
		{"add.s32 %r1, %r2, 10;", 0},
		{"add.s32 %r1, %r2, -1;", 0},
		{"shl.b32 %r1, %r2, 0;", 1},
		{"mul.lo.s32 %r1, %r2, 1;", 1},
		{"mul.lo.s32 %r1, %r2, 21;", 0},
		{"mad.lo.s32 %r1, %r2, 1, %r3;", 1},
		{"mad.wide.s32 %d1, %r2, 0, %d3;", 1},
		{"mad.lo.s32 %r1, 1, %r2, %r3;", 1},
		{"mad.lo.s32 %r1, 41, %r2, %r3;", 0},
		{"cvt.u64.u32 %d1, 0;", 1},
		{"mov.b32 %r1, %r1;", 1},
		{"mov.b32 %r1, %r2;", 0},
		{"div.s32 %r1, %r2, %r3;\nadd.s32 %r5, %r1, 1;\ndiv.s32 %r4, %r2, %r3;", 1},
		{"div.s32 %r1, %r2, %r3;\nadd.s32 %r3, %r1, 1;\ndiv.s32 %r4, %r2, %r3;", 0},
		{"div.s32 %r1, %r2, %r3;\nadd.s32 %r2, %r1, 1;\ndiv.s32 %r4, %r2, %r3;", 0},
		{"div.s32 %r1, %r2, %r3;\n$L1:\ndiv.s32 %r4, %r2, %r3;", 0},
	} {
		if got := needless(c.text); len(got) != c.want {
			t.Errorf("%q: %q", c.text, got)
		}
	}
}
