package specs

import (
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestSumReadsEnough computes each row of a sum by hand, only from what its heads read: the digits
// of both numbers at its place and at the place before, and the last written digit. If a one is
// carried, that digit is less than the digits before add up to.
func TestSumReadsEnough(t *testing.T) {
	spec := resolve(t, check.Options{Path: "small/sum.arith", Read: os.ReadFile})
	problems, err := tasks.New(task.Config(spec.Task.Task), 1)
	if err != nil {
		t.Fatal(err)
	}
	problems = problems.WithPad(spec.Eval.Pad)
	for _, numbers := range []int{2, 4} {
		for _, p := range problems.Cell(60, numbers, 2) {
			b, err := problems.One(p)
			if err != nil {
				t.Fatal(err)
			}
			cross, self := reader(problems, spec.Model.Decoder.Cross.Mask, b.Source, b.T), reader(problems, spec.Model.Decoder.Self.Mask, b.Target, b.T)
			for i, label := range b.Labels {
				// In the first sum two heads read the first number, else the sum before.
				a, before := cross(2, i), cross(3, i)
				if a == "" {
					a, before = self(1, i), self(2, i)
				}
				number, numberBefore, last := cross(0, i), cross(1, i), self(0, i)
				said := number // behind the last place
				if digits := "0123456789"; strings.Contains(digits, number) {
					sum := strings.Index(digits, a) + strings.Index(digits, number)
					if strings.Contains(digits, numberBefore) && strings.Index(digits, before)+strings.Index(digits, numberBefore) > strings.Index(digits, last) {
						sum++
					}
					said = digits[sum%10:][:1]
				}
				if want := problems.Symbol(label); said != want {
					t.Fatalf("%s: from %s + %s, before it %s + %s = %s, row %d says %s, and should say %s", problems.Text(p), a, number, before, numberBefore, last, i, said, want)
				}
			}
		}
	}
}

// reader returns the symbol that a head reads in a row, or "".
func reader(t *task.Task, mask *expr.Expr, keys []int32, rows int) func(h, i int) string {
	at := cell{"I": {I: int64(rows)}, "J": {I: int64(len(keys))}, "h": {}, "i": {}, "j": {}}
	open := expr.Compile64(at, mask)
	return func(h, i int) string {
		var read string
		at["h"].I, at["i"].I = int64(h), int64(i)
		for j, id := range keys {
			at["j"].I = int64(j)
			if open.Run().I != 0 {
				read += t.Symbol(id)
			}
		}
		return read
	}
}

// A cell has the variables of a mask.
type cell map[string]*expr.Value

// Var implements expr.Binder.
func (c cell) Var(name string, _ expr.Type) *expr.Value { return c[name] }

// Elem implements expr.Binder. Masks have no elements.
func (c cell) Elem(string, expr.Type) func([]int) expr.Value { return nil }
