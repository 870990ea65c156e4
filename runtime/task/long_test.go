package task_test

import (
	"math/big"
	"testing"

	"github.com/arithlang/mlc/runtime/config"

	. "github.com/arithlang/mlc/runtime/task"
)

// TestLongProblems compares problems of thousands of digits with math/big. Operands have the
// lengths asked for, problems differ, answers are right, and encoded problems decode to the same.
func TestLongProblems(t *testing.T) {
	one := big.NewInt(1)
	for kind, answer := range map[string]func(a, b *big.Int) *big.Int{
		"successor": func(a, _ *big.Int) *big.Int { return a.Add(a, one) },
		"addition":  func(a, b *big.Int) *big.Int { return a.Add(a, b) },
		"nx1":       func(a, b *big.Int) *big.Int { return a.Mul(a, b) },
		"parity": func(a, _ *big.Int) *big.Int { // the parity of each prefix, from the lowest place on
			y, out := uint(0), new(big.Int)
			for place := range a.BitLen() {
				y ^= a.Bit(place)
				out.SetBit(out, place, y)
			}
			return out
		},
	} {
		cfg := Config{Kind: kind, DigitsLo: 1, DigitsHi: 6, Base: 10, Reversed: true, Pad: Pad{To: 7, Step: 3}, Holdout: 0.01}
		if kind == "parity" {
			cfg.Base, cfg.Scratchpad = 2, true
		}
		task := must(t, cfg, 3)
		for _, n := range []int{1001, 10_000, config.MaxDigits} {
			seen := map[string]bool{}
			for _, p := range task.Test(n, 3) {
				numbers := [2]*big.Int{new(big.Int), new(big.Int)}
				for i, x := range p.Operands {
					if want := []int{n, n}[i]; len(x) != want && !(kind == "nx1" && i == 1) {
						t.Errorf("%s: an operand of %d digits, want %d", kind, len(x), want)
					}
					if _, ok := numbers[i].SetString(x, cfg.Base); !ok {
						t.Fatalf("%s: %.40s… is no number", kind, x)
					}
				}
				got, _ := new(big.Int).SetString(p.Answer, cfg.Base) // a parity may begin with 0
				if want := answer(numbers[0], numbers[1]); got == nil || got.Cmp(want) != 0 {
					t.Errorf("%s of %d digits: an answer of %d digits is wrong", kind, n, len(p.Answer))
				}
				b, err := task.One(p)
				if err != nil {
					t.Fatal(err)
				}
				if task.Decode(p, b.Labels) != p.Answer {
					t.Errorf("%s of %d digits: the labels of a problem are not its answer", kind, n)
				}
				if again, err := task.Parse(task.Text(p)); err != nil || again.Answer != p.Answer {
					t.Errorf("%s of %d digits: what is written is read as another problem: %v", kind, n, err)
				}
				seen[task.Text(p)] = true
			}
			if len(seen) != 3 {
				t.Errorf("%s of %d digits: %d of 3 problems differ", kind, n, len(seen))
			}
		}
	}
}
