package task_test

import (
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// TestReleased compares the lengths of operands in the released lists with the shares that follow
// from their code.
func TestReleased(t *testing.T) {
	lists := func(c *Config) { c.Released, c.Pad = true, Pad{Step: 1} }
	additions := must(t, with(additions, lists), 3)
	for operand := range 2 {
		count := make([]int, 8)
		million := 0
		for n := range int64(Listed) {
			x := additions.Entry(n, operand)
			if x == MostListed {
				million++
			}
			count[decimals(x)]++
		}
		for length, percent := range []float64{0, 0.0050, 0.0434, 0.3070, 2.3156, 14.3042, 83.0248} {
			if got := 100 * float64(count[length]) / Listed; math.Abs(got-percent) > 0.02+0.01*percent {
				t.Errorf("operand %d: %.4f %% have %d digits, want about %.4f %%", operand, got, length, percent)
			}
		}
		if count[7] != million || million > 20 {
			t.Errorf("operand %d: %d numbers of 7 digits, %d of them 10^6", operand, count[7], million)
		}
	}
	if additions.Entry(5000, 0) != additions.Entry(5000, 1) || additions.Entry(500_000, 0) == additions.Entry(500_000, 1) {
		t.Error("the short numbers are in both lists, the others are drawn for each")
	}

	parity := must(t, Config{Kind: "parity", Below: Listed, Released: true, Base: 2, Reversed: true, Scratchpad: true, Holdout: 0.125}, 3)
	for n := range int64(Listed) {
		bits := min(n/ListedEach, ListedBits) + 1
		if x := parity.Entry(n, 0); x>>bits != 0 {
			t.Fatalf("string %d is %b, of more than %d bits", n, x, bits)
		}
	}
	if parity.Trained() != 19 || additions.Trained() != 7 {
		t.Errorf("at most %d bits and %d digits", parity.Trained(), additions.Trained())
	}
}

func decimals(x int64) int {
	n := 1
	for ; x > 9; x /= 10 {
		n++
	}
	return n
}

// TestReleasedFactor checks that the released list lacks 0, which the permutation has.
func TestReleasedFactor(t *testing.T) {
	for _, released := range []bool{false, true} {
		task := must(t, Config{Kind: "nx1", Below: Listed, Released: released, Base: 10, Reversed: true, Holdout: 0.125}, 1)
		zeros := 0
		for k := range int64(1000) {
			if p := task.Train(k); p.Operands[1] == "0" {
				zeros++
			}
		}
		if zeros > 0 == released {
			t.Errorf("released %t: %d digits of 1000 are 0", released, zeros)
		}
	}
}

// TestReleasedSuccessor checks for the problems of the paper's text.
func TestReleasedSuccessor(t *testing.T) {
	a, b := must(t, successors, 5), must(t, with(successors, func(c *Config) { c.Released = true }), 5)
	for k := range int64(100) {
		if x, y := a.Train(k).Operands[0], b.Train(k).Operands[0]; x != y {
			t.Fatalf("example %d is %s and %s", k, x, y)
		}
	}
	if _, err := tasks.New(with(additions, func(c *Config) { c.Released, c.Below = true, 1000 }), 1); err == nil {
		t.Error("lists of 1000 numbers")
	}
}

// TestRepeatedEpochs checks that with one order the second epoch equals the first, and that
// otherwise it has different pairs of operands.
func TestRepeatedEpochs(t *testing.T) {
	for _, kind := range []string{"addition", "nx1"} {
		for _, repeated := range []bool{false, true} {
			task := must(t, Config{Kind: kind, Below: 500, Repeated: repeated, Base: 10, Reversed: true, Holdout: 0.1}, 1)
			same := 0
			for k := range TrainedOf(task) {
				a, b := task.Train(k), task.Train(k+TrainedOf(task))
				if slices.Equal(a.Operands, b.Operands) {
					same++
				}
			}
			if all := same == int(TrainedOf(task)); all != repeated || !all && same > 20 {
				t.Errorf("%s, repeated %t: %d of %d problems come again at their place", kind, repeated, same, TrainedOf(task))
			}
		}
	}
}
