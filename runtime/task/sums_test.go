package task_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// summing are sums of two to five numbers of one to six digits.
var summing = Config{Kind: "sum", DigitsLo: 1, DigitsHi: 6, OperandsLo: 2, OperandsHi: 5, Batch: 16, Base: 10, Reversed: true, Pad: Pad{To: 8, Step: 3}, Holdout: 0.1}

// reads returns the text of a task's tokens.
func reads(t *Task, ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(t.Symbol(id))
	}
	return b.String()
}

func TestSumsAreEncoded(t *testing.T) {
	partial := with(summing, func(c *Config) { c.Scratchpad, c.Used = true, true })
	for _, c := range []struct {
		cfg                          Config
		text                         string
		source, target, labels, says string
	}{
		{summing, "12+345+6789", "^00000012+00000345+00006789$", "^64170000", "64170000$", "7146"},
		{summing, "99999999+1", "^00099999999+00000000001$", "^00000000100", "00000000100$", "100000000"},
		{partial, "12+345+9", "^00000012+00000345+00000009$", "^75300000+66300000", "75300000+66300000$", "366"},
		{partial, "5+5", "^00000005+00000005$", "^01000000", "01000000$", "10"},
		{with(partial, func(c *Config) { c.Reversed, c.ReversedOperands = false, true }), "12+345+9", "^21000000+54300000+90000000$", "^00000357+00000366", "00000357+00000366$", "366"},
	} {
		task := must(t, c.cfg, 1)
		p, err := task.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := task.One(p)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{reads(task, b.Source), reads(task, b.Target), reads(task, b.Labels), p.Answer, task.Decode(p, b.Labels)}
		if diff := cmp.Diff([]string{c.source, c.target, c.labels, c.says, c.says}, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
		if wrong := append([]int32{b.Labels[1]}, b.Labels[1:]...); !task.Correct(p, b.Labels) || b.Labels[0] != b.Labels[1] && task.Correct(p, wrong) {
			t.Errorf("%s: the right answer is wrong, or a wrong one right", c.text)
		}
	}
	for _, text := range []string{"12", "12+", "1+2+x", "+"} {
		if _, err := must(t, summing, 1).Parse(text); err == nil {
			t.Errorf("%q is a sum", text)
		}
	}
}

// TestSumsAreDrawn counts how many numbers training adds, and compares answers with math/big.
func TestSumsAreDrawn(t *testing.T) {
	task := must(t, summing, 3)
	const batches = 2000
	var numbers [6]int
	var lengths [7]int
	all := 0
	for batch := range int64(batches) {
		n := len(task.Train(batch * 16).Operands)
		numbers[n]++
		for k := range int64(16) {
			p := task.Train(batch*16 + k)
			if len(p.Operands) != n {
				t.Fatalf("problems of %d and %d numbers in a batch", n, len(p.Operands))
			}
			check(t, p)
			if task.IsHeldOut(task.Draft(p)) {
				t.Fatalf("%s is held out, and trained", task.Text(p))
			}
			for _, x := range p.Operands {
				lengths[len(x)]++
				all++
			}
		}
	}
	for n := 2; n <= 5; n++ {
		if got, want := float64(numbers[n]), batches/4.0; math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%g batches of %d numbers, want about %g", got, n, want)
		}
	}
	for n := 1; n <= 6; n++ {
		if got, want := float64(lengths[n]), float64(all)/6; math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%g numbers of %d digits, want about %g", got, n, want)
		}
	}
	held := map[int]int{}
	for k := range int64(400) {
		p := task.HeldOut(k)
		check(t, p)
		held[len(p.Operands)]++
		if !task.IsHeldOut(task.Draft(p)) {
			t.Errorf("%s is not held out", task.Text(p))
		}
	}
	if len(held) != 4 {
		t.Errorf("held-out problems have %v numbers", held)
	}
	if b, err := task.NewDrawer(16, 16).Train(32, 16); err != nil || b.S != len(task.Train(32).Operands)*(b.T)+1 {
		t.Errorf("a batch of %d tokens and %d rows: %v", b.S, b.T, err)
	}
}

// TestSumsAreTested checks that a test has the numbers and digits asked for.
func TestSumsAreTested(t *testing.T) {
	task := must(t, summing, 3)
	for _, n := range []int{2, 5, 10, 64} {
		for _, digits := range []int{1, 6, 60, 5000} {
			for _, p := range task.Cell(digits, n, 3) {
				check(t, p)
				for _, x := range p.Operands {
					if len(p.Operands) != n || len(x) != digits {
						t.Errorf("%d numbers, one of %d digits, want %d of %d", len(p.Operands), len(x), n, digits)
					}
				}
				width, err := task.Width(p)
				longest, _ := task.Width(task.LongestIn(digits, n)[0])
				if source, target := task.Shape(width); err != nil || width != longest || source != n*target+1 {
					t.Errorf("%d numbers of %d digits: %d tokens and %d rows: %v", n, digits, source, target, err)
				}
			}
		}
	}
	if i, j := task.Extent(); i != 6 || j != 5 {
		t.Errorf("training has up to %d digits and %d numbers", i, j)
	}
}

// check compares the answer of a sum with math/big.
func check(t *testing.T, p Problem) {
	t.Helper()
	sum := new(big.Int)
	for _, x := range p.Operands {
		n, ok := new(big.Int).SetString(x, 10)
		if !ok {
			t.Fatalf("%s is no number", x)
		}
		sum.Add(sum, n)
	}
	if p.Answer != sum.String() {
		t.Errorf("%v add up to %s, not %s", p.Operands, sum, p.Answer)
	}
}

func TestBadSums(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Sequence = true },
		func(c *Config) { c.OperandsLo = 1 },
		func(c *Config) { c.OperandsHi = 1 },
		func(c *Config) { c.Below = 100 },
		func(c *Config) { c.Pad = Pad{} },
		func(c *Config) { c.Scratchpad, c.Pad.Less = true, -1 },
	} {
		if _, err := tasks.New(with(summing, change), 1); err == nil {
			t.Errorf("%+v is taken", with(summing, change))
		}
	}
}

// TestProductsAreWritten compares the partial products and sums of products with some worked out
// by hand.
func TestProductsAreWritten(t *testing.T) {
	spelled := Config{Kind: "multiplication", DigitsLo: 1, DigitsHi: 3, Base: 10, Sequence: true, Reversed: true, ReversedOperands: true, Scratchpad: true}
	for _, c := range []struct {
		text, want string
		partial    bool
	}{
		{"321*54", "123x45=4821+43371", false},
		{"7*8", "7x8=65", false},
		{"12*305", "21x503=060+0600+06630", false},
		{"9*100", "9x001=00+000+0090", false},
		{"321*54", "123x45=4821+5061+43371", true},
		{"7*8", "7x8=65", true},
		{"12*305", "21x503=060+000+0600+630+06630", true},
		{"9*100", "9x001=00+00+000+90+0090", true},
	} {
		text, want := c.text, c.want
		task := must(t, with(spelled, func(s *Config) { s.PartialProducts = c.partial }), 1)
		p, err := task.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Written(p); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
		b, err := task.One(p)
		if err != nil {
			t.Fatal(err)
		}
		reply := b.Labels[task.Prompt(p)-1:]
		if got := task.Decode(p, reply); got != p.Answer || !task.Correct(p, reply) {
			t.Errorf("%s: the reply reads %s, want %s", text, got, p.Answer)
		}
		reply = append([]int32{reply[0] ^ 1}, reply[1:]...)
		if task.Correct(p, reply) {
			t.Errorf("%s: a wrong first digit is right", text)
		}
	}
	for why, change := range map[string]func(*Config){
		"sums on the way highest digit first":   func(c *Config) { c.Reversed = false },
		"partial products without a scratchpad": func(c *Config) { c.Scratchpad, c.PartialProducts = false, true },
		"partial products of a sum":             func(c *Config) { c.Kind, c.Scratchpad, c.PartialProducts = "nx1", false, true },
	} {
		if _, err := tasks.New(with(spelled, change), 1); err == nil {
			t.Error(why, "are let pass")
		}
	}
	mixed := must(t, Config{Kind: "mixed", Of: []string{"multiplication", "addition"}, DigitsLo: 2, DigitsHi: 2, Base: 10, Sequence: true, Reversed: true, Scratchpad: true}, 1)
	p, err := mixed.Parse("12*34")
	if err != nil {
		t.Fatal(err)
	}
	if got := mixed.Written(p); got != "12x34=804" {
		t.Errorf("a mix writes %s", got)
	}
}
