package task_test

import (
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/config"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// growing gives a task problems that grow from two digits to six over half of a training.
func growing(c *Config) {
	c.Below, c.DigitsLo, c.DigitsHi, c.Pad = 0, 1, 6, Pad{}
	c.Curriculum = config.Curriculum{From: 2, Until: 0.5}
}

// TestCurriculumGrows counts the lengths of operands in each stage of a training.
func TestCurriculumGrows(t *testing.T) {
	const examples = 40_000
	mixed := with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "multiplication"} })
	for name, cfg := range map[string]Config{"pairs": with(additions, growing), "single": with(successors, growing),
		"sequences": with(adding, growing), "mixed": with(mixed, growing)} {
		cfg.Holdout = 0 // else some of the ten one-digit numbers might be missing
		task := must(t, cfg, 5).Over(examples)
		var count [5][7]int // by stage and length
		for k := range int64(examples) {
			p := task.Train(k)
			stage := min(int(float64(k)/examples/0.5*4), 4)
			for _, x := range p.Operands {
				count[stage][len(x)]++
			}
		}
		for stage, lengths := range count {
			all := 0
			for _, n := range lengths {
				all += n
			}
			most := stage + 2
			for length, n := range lengths {
				want := 0.0
				if 1 <= length && length <= most {
					want = float64(all) / float64(most)
				}
				if math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
					t.Errorf("%s, up to %d digits: %d operands of %d, want about %.0f", name, most, n, length, want)
				}
			}
		}
	}
}

// TestCurriculumOfParts divides eight examples among three tasks: three, three and two. The first
// half of each, rounded up, has numbers of one digit. A training of unknown length does not grow.
func TestCurriculumOfParts(t *testing.T) {
	cfg := with(adding, func(c *Config) {
		growing(c)
		c.Kind, c.Of, c.DigitsHi, c.Curriculum = "mixed", []string{"copy", "addition", "successor"}, 2, config.Curriculum{From: 1, Until: 0.5}
	})
	most := make([]int, 8)
	for seed := range uint64(40) {
		task := must(t, cfg, seed)
		for k := range most {
			for _, x := range task.Over(8).Train(int64(k)).Operands {
				most[k] = max(most[k], len(x))
			}
			if diff := cmp.Diff(task.Train(int64(k)), task.Over(0).Train(int64(k))); diff != "" {
				t.Fatalf("an unknown length changes problem %d: %s", k, diff)
			}
		}
	}
	if want := []int{1, 1, 1, 1, 1, 2, 2, 2}; !slices.Equal(most, want) {
		t.Errorf("the most digits of the examples are %v, want %v", most, want)
	}
}

// TestCurriculumWalksCells checks that each sweep of a stage has each pair of lengths once.
func TestCurriculumWalksCells(t *testing.T) {
	task := must(t, with(adding, growing), 5).Over(8000)
	for digits, first := range map[int]int64{2: 0, 3: 1000, 4: 2000, 5: 3000, 6: 4000} {
		seen := map[[2]int]int{}
		for k := range int64(2 * digits * digits) {
			p := task.Train(first + k)
			seen[[2]int{len(p.Operands[0]), len(p.Operands[1])}]++
		}
		if len(seen) != digits*digits {
			t.Errorf("two sweeps of up to %d digits have %d pairs of lengths", digits, len(seen))
		}
		for pair, n := range seen {
			if n != 2 {
				t.Errorf("up to %d digits: %v comes %d times in two sweeps", digits, pair, n)
			}
		}
	}
}

// TestCurriculumHoldsOut checks that a curriculum does not change the problems held out and tested.
// Training uses none of them, even if all short ones are held out.
func TestCurriculumHoldsOut(t *testing.T) {
	for name, cfg := range map[string]Config{"numbers": with(successors, growing), "pairs": with(additions, growing), "sequences": with(adding, growing)} {
		cfg.Holdout = 0.9
		cfg.Curriculum = config.Curriculum{From: 1, Until: 0.9, Fade: 1}
		if cfg.Kind == "addition" {
			cfg.Curriculum.Carries = 1
		}
		for seed := range uint64(full.Either(4, 20)) {
			task := must(t, cfg, seed)
			over := task.Over(1000)
			for k := range int64(1000) {
				p := over.Train(k)
				if u := task.Of(p); u.IsHeldOut(u.Draft(p)) {
					t.Fatalf("%s: %s is held out, and example %d", name, task.Text(p), k)
				}
				if a, b := task.HeldOut(k), over.HeldOut(k); !reflect.DeepEqual(a, b) {
					t.Fatal(cmp.Diff(a, b))
				}
			}
			if diff := cmp.Diff(task.Test(4, 50), over.Test(4, 50)); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// TestCurriculumDependsOnNumberAndLength draws examples in several orders, alone and in batches.
func TestCurriculumDependsOnNumberAndLength(t *testing.T) {
	for _, cfg := range []Config{with(additions, growing), with(adding, growing)} {
		cfg.Curriculum.Carries, cfg.Curriculum.Fade = 0.5, 0.8
		task := must(t, cfg, 5).Over(600)
		batch := func(first int64, n int) []int32 {
			b, err := task.NewDrawer(n, n).Train(first, n)
			if err != nil {
				t.Fatal(err)
			}
			return b.Target
		}
		var problems []Problem
		for k := range int64(600) {
			problems = append(problems, task.Train(k))
		}
		again := must(t, cfg, 5).Over(600)
		other, same := must(t, cfg, 5).Over(700), 0
		for k := int64(599); k >= 0; k-- {
			if diff := cmp.Diff(problems[k], again.Train(k)); diff != "" {
				t.Fatal(diff)
			}
			if cmp.Equal(problems[k], other.Train(k)) {
				same++
			}
			if !cfg.Sequence {
				continue
			}
			want, err := task.One(problems[k])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Target, batch(k, 1)); diff != "" {
				t.Fatal(diff)
			}
		}
		if same == 600 {
			t.Error("a longer training has the same problems")
		}
	}
}

// TestCarries counts places by the sum of their digits, at several points of a training. Numbers
// are so long that their highest places do not matter.
func TestCarries(t *testing.T) {
	const examples = 4000
	for _, sequence := range []bool{false, true} {
		cfg := with(additions, func(c *Config) {
			c.Below, c.DigitsLo, c.DigitsHi, c.Pad, c.Sequence = 0, 400, 400, Pad{}, sequence
			c.Curriculum = config.Curriculum{Carries: 0.8, Fade: 0.5}
		})
		plain := must(t, cfg, 5)
		task := plain.Over(examples)
		for _, at := range []float64{0, 0.1, 0.25, 0.4, 0.5, 0.9} {
			pass, carry, places := 0, 0, 0
			const few = 200
			for k := range int64(few) {
				p := task.Train(int64(at*examples) + k)
				for place := range 399 {
					switch sum := DigitAt([]byte(p.Operands[0]), place) + DigitAt([]byte(p.Operands[1]), place); {
					case sum == 9:
						pass++
					case sum > 9:
						carry++
					}
					places++
				}
				if at >= 0.5 && !cmp.Equal(p, plain.Train(int64(at*examples)+k)) {
					t.Errorf("example %d is not as without carries, which have faded", k)
				}
			}
			share := 0.8 * max(0, 1-(at+few/2/float64(examples))/0.5)
			for what, x := range map[string][2]float64{ // without carries, 10 and 45 of 100 pairs
				"9":    {float64(pass), 0.1 + share*(0.5+0.25*0.1-0.1)},
				"more": {float64(carry), 0.45 + share*(0.25+0.25*0.45-0.45)},
			} {
				if got := x[0] / float64(places); math.Abs(got-x[1]) > 0.03 {
					t.Errorf("at %g, %.3f of the places add up to %s, want %.3f", at, got, what, x[1])
				}
			}
		}
	}
}

// TestCarriesAreNumbers compares short problems with carries with math/big, in several bases.
func TestCarriesAreNumbers(t *testing.T) {
	for _, base := range []int{2, 3, 10} {
		cfg := with(adding, func(c *Config) {
			growing(c)
			c.Base, c.Curriculum.Carries, c.Curriculum.Fade = base, 1, 1
		})
		task := must(t, cfg, 5).Over(1 << 40)
		for k := range int64(2000) {
			p := task.Train(k)
			var sum big.Int
			for _, x := range p.Operands {
				n, ok := new(big.Int).SetString(x, base)
				if !ok || x[0] == '0' || len(x) > 2 {
					t.Fatalf("base %d: an operand %s", base, x)
				}
				sum.Add(&sum, n)
			}
			if p.Answer != sum.Text(base) {
				t.Fatalf("base %d: %s=%s", base, task.Text(p), p.Answer)
			}
		}
	}
}

func TestBadCurricula(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Below = 100 },
		func(c *Config) { c.Examples = 100 },
		func(c *Config) { c.Curriculum.From = 7 },
		func(c *Config) { c.Curriculum.Until = 0 },
		func(c *Config) { c.Curriculum.Carries = 2 },
	} {
		if _, err := tasks.New(with(with(adding, growing), change), 1); err == nil {
			t.Errorf("%v is taken", with(with(adding, growing), change).Curriculum)
		}
	}
}
