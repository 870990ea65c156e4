package task_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// TestGridHasEqualCounts walks whole sweeps of the grid, with and without a set.
func TestGridHasEqualCounts(t *testing.T) {
	const sweeps = 30
	for name, change := range map[string]func(*Config){
		"new":      func(*Config) {},
		"hold-out": func(c *Config) { c.Holdout = 0.2 },
		"set":      func(c *Config) { c.Examples = 9 * sweeps },
		"mixed":    func(c *Config) { c.Kind, c.Of, c.Examples = "mixed", []string{"addition", "subtraction"}, 18*sweeps },
	} {
		task := must(t, with(adding, func(c *Config) { c.DigitsLo, c.DigitsHi = 2, 4; change(c) }), 3)
		n := max(task.Config().Examples, 9*sweeps)
		count := map[[3]int]int{}
		for k := range n {
			p := task.Train(k)
			count[[3]int{len(p.Operands[0]), len(p.Operands[1]), strings.Index("as", p.Kind[:1])}]++
		}
		if len(count) != int(n)/sweeps {
			t.Errorf("%s: %d cells", name, len(count))
		}
		for cell, got := range count {
			if got != sweeps {
				t.Errorf("%s: cell %v comes %d times, want %d", name, cell, got, sweeps)
			}
		}
	}
}

// TestSet checks that a set has the same order in every epoch and does not contain the hold-out.
func TestSet(t *testing.T) {
	const trained, held = 2842, 28
	task := must(t, with(oring, func(c *Config) { c.Examples, c.Holdout = 2870, 0.01 }), 3)
	if TrainedOf(task) != trained {
		t.Errorf("%d of 2870 problems are trained on, want %d", TrainedOf(task), trained)
	}
	seen := map[string]bool{}
	for k := range int64(trained) {
		p := task.Train(k)
		seen[placeOfOne(t, p)] = true
		if k%100 == 0 && !cmp.Equal(p, task.Train(k+3*trained)) {
			t.Fatalf("problem %d is another one in a later epoch", k)
		}
	}
	for k := range int64(held) {
		seen[placeOfOne(t, task.HeldOut(k))] = true
	}
	if len(seen) != 2870 {
		t.Errorf("%d different problems, want 2870", len(seen))
	}
	if size := TrainedOf(must(t, with(adding, func(c *Config) { c.Examples, c.Holdout = 20_000_000, 0.01 }), 1)); size != 19_800_000 {
		t.Errorf("%d of 20M problems are trained on", size)
	}
}

// TestFewOfACell checks the hold-out of lengths with so few problems that its share is less than
// one.
func TestFewOfACell(t *testing.T) {
	few := with(adding, func(c *Config) { c.Kind, c.DigitsHi, c.Holdout = "successor", 5, 0.01 })
	for _, cfg := range []Config{few, with(few, func(c *Config) { c.Kind, c.Base, c.Scratchpad, c.DigitsHi, c.Holdout = "parity", 2, true, 10, 0.1 })} {
		for seed := range uint64(3) {
			task := must(t, cfg, seed)
			for k := range int64(200) {
				for held, p := range map[bool]Problem{false: task.Train(k), true: task.HeldOut(k)} {
					if task.IsHeldOut(task.Draft(p)) != held {
						t.Fatalf("%s, seed %d: problem %d, %s, is on the wrong side", cfg.Kind, seed, k, p.Operands[0])
					}
				}
			}
		}
	}
	task := must(t, with(successors, func(c *Config) { c.Below, c.Holdout = 50, 0.01 }), 1)
	held := task.HeldOut(0)
	for k := range int64(200) {
		if p := task.Train(k); p.Operands[0] == held.Operands[0] {
			t.Fatalf("%s is held out and example %d", p.Operands[0], k)
		}
	}
}

// placeOfOne returns the lengths and the answer of an or problem. Only the place of the 1 tells
// problems apart. A longer operand must be all zeros.
func placeOfOne(t *testing.T, p Problem) string {
	a, b := p.Operands[0], p.Operands[1]
	if strings.Count(a+b, "1") != 1 || len(a) > len(b) && strings.Contains(a, "1") || len(b) > len(a) && strings.Contains(b, "1") {
		t.Fatalf("%s or %s", a, b)
	}
	if len(p.Answer) != max(len(a), len(b)) || strings.Index(p.Answer, "1") != max(strings.Index(a, "1"), strings.Index(b, "1")) {
		t.Fatalf("%s or %s = %s", a, b, p.Answer)
	}
	return strings.Map(func(rune) rune { return '.' }, a) + "+" + strings.Map(func(rune) rune { return '.' }, b) + p.Answer
}

func TestGridHoldoutIsDisjoint(t *testing.T) {
	for _, cfg := range []Config{adding, oring, with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "subtraction"} })} {
		task := must(t, with(cfg, func(c *Config) { c.DigitsHi, c.Holdout = 2, 0.25 }), 9)
		held := map[string]bool{}
		for k := range int64(3000) {
			p := task.HeldOut(k)
			held[p.Kind+task.Text(p)] = true
		}
		for k := range int64(3000) {
			if p := task.Train(k); held[p.Kind+task.Text(p)] {
				t.Fatalf("%s is held out and trained on", task.Text(p))
			}
		}
	}
}

func TestMixedPartsDiffer(t *testing.T) {
	task := must(t, with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "subtraction"} }), 1)
	same := 0
	for k := int64(0); k < 200; k += 2 {
		p, q := task.Train(k), task.Train(k+1)
		if p.Kind != "addition" || q.Kind != "subtraction" {
			t.Fatalf("examples %d and %d are %s and %s", k, k+1, p.Kind, q.Kind)
		}
		if cmp.Equal(p.Operands, q.Operands) {
			same++
		}
	}
	if same > 3 {
		t.Errorf("%d of 100 subtractions have the operands of additions", same)
	}
	for i, p := range task.Cell(3, 2, 11) {
		if want := task.Config().Of[i%2]; p.Kind != want || len(p.Operands[0]) != 3 || len(p.Operands[1]) != 2 {
			t.Errorf("test problem %d is %v", i, p)
		}
	}
}

// TestMixedExtent checks that mixed tasks are tested at the lengths of any part, in any order of
// the parts.
func TestMixedExtent(t *testing.T) {
	for _, c := range []struct {
		of    []string
		i, j  int
		arity int
	}{
		{[]string{"successor", "addition"}, 20, 20, 2}, {[]string{"addition", "successor"}, 20, 20, 2}, {[]string{"parity", "or"}, 20, 20, 2},
		{[]string{"nx1", "subtraction"}, 20, 20, 2}, {[]string{"successor", "nx1"}, 20, 0, 1},
	} {
		task := must(t, with(adding, func(cfg *Config) { cfg.Kind, cfg.Of, cfg.DigitsHi, cfg.Scratchpad = "mixed", c.of, 20, true }), 1)
		if i, j := task.Extent(); i != c.i || j != c.j || task.Arity() != c.arity {
			t.Errorf("%v: lengths up to %d and %d of %d operands", c.of, i, j, task.Arity())
		}
		if _, second := task.Axes(); (second != "") != (c.arity == 2) {
			t.Errorf("%v has the second axis %q", c.of, second)
		}
		for _, digits := range []int{3, 25} {
			problems := task.Test(digits, 8)
			for _, p := range problems {
				if single := p.Kind == "nx1"; len(p.Operands[0]) != digits || !single && len(p.Operands[len(p.Operands)-1]) != digits {
					t.Errorf("%v: %s of %v is a problem of %d digits", c.of, p.Kind, p.Operands, digits)
				}
			}
			if _, err := task.Batch(problems); err != nil {
				t.Errorf("%v: %v", c.of, err)
			}
		}
	}
}

// TestHintsOfPaddedNumbers checks that fixed hints end with the last letter at the latest, leading
// zeros included.
func TestHintsOfPaddedNumbers(t *testing.T) {
	places := map[rune]int{}
	for i, letter := range []rune(letters()) {
		places[letter] = i
	}
	for _, pad := range []Pad{{To: 60, Step: 1}, {To: 100, Step: 1}, {To: 60, Step: 1, Less: 9}, {To: 102}, {To: 5, Step: 40}} {
		task := must(t, with(adding, func(c *Config) { c.Hints, c.Pad = "fixed", pad }), 2)
		last := 0
		for k := range int64(2000) {
			p := task.Train(k)
			for number := range strings.FieldsFuncSeq(task.Written(p), func(r rune) bool { return r == '+' || r == '=' }) {
				text := []rune(number)
				for i := 0; i < len(text); i += 2 {
					letter, known := places[text[i]]
					if !known || letter != p.Start+i/2 {
						t.Fatalf("padded to %v, %s begins again at %c", pad, number, text[i])
					}
					last = max(last, letter)
				}
			}
		}
		if last != NumLetters-1 {
			t.Errorf("padded to %v, no hint is the last letter, but %d", pad, last)
		}
	}
}

func TestHintWindows(t *testing.T) {
	starts := map[string][NumLetters]int{}
	for _, hints := range []string{"cyclic", "fixed"} {
		task := must(t, with(adding, func(c *Config) { c.Hints = hints }), 2)
		var count [NumLetters]int
		for k := range int64(20000) {
			p := task.Train(k)
			count[p.Start]++
			longest := max(len(p.Operands[0]), len(p.Operands[1]), len(p.Answer))
			if hints == "fixed" && p.Start+longest > NumLetters {
				t.Fatalf("hints of %s begin at %d", task.Text(p), p.Start)
			}
		}
		starts[hints] = count
		for _, p := range task.Cell(30, 30, 3) {
			if p.Start != 0 {
				t.Errorf("hints of a test problem begin at %d", p.Start)
			}
		}
	}
	// The first letter is drawn twice as often as another: about 388 times and 194.
	if c := starts["cyclic"]; c[0] < 300 || c[1] > 300 || c[101] < 100 {
		t.Errorf("cyclic hints begin at 0, 1 and 101 %d, %d and %d times", c[0], c[1], c[101])
	}
	task := must(t, with(adding, func(c *Config) { c.Hints = "cyclic" }), 2)
	p := task.Solved([]string{"12", "3"})
	p.Start = 101
	if got, want := task.Written(p), "ω2A1+ω3=ω5A1"; got != want {
		t.Errorf("written %s, want %s", got, want)
	}
}

func TestRandomPadding(t *testing.T) {
	padded := must(t, with(adding, func(c *Config) { c.RandomPad = 0.1 }), 2)
	plain := must(t, adding, 2)
	fillers, characters := 0, 0
	for k := range int64(3000) {
		p, q := padded.Train(k), plain.Train(k)
		text := padded.Written(p)
		if strings.ReplaceAll(text, " ", "") != plain.Written(q) {
			t.Fatalf("%s is %s without padding", text, plain.Written(q))
		}
		n := strings.Count(text, " ")
		fillers += n
		characters += len(text) - n
		if held := padded.HeldOut(k); held.Fillers != nil {
			t.Fatalf("%s is held out and padded", padded.Written(held))
		}
	}
	// 0.1 + 0.1 * 0.01 + …
	if got := float64(fillers) / float64(characters); got < 0.098 || got > 0.104 {
		t.Errorf("%.4f fillers a character, want 0.101", got)
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		cfg        Config
		i, j, want int
	}{
		{adding, 1, 1, 81}, {adding, 1, 2, 810}, {adding, 2, 1, 810}, {adding, 3, 25, 1000}, {adding, 100, 100, 1000},
		{kindOfSequence("nx1"), 2, 0, 900}, {kindOfSequence("successor"), 1, 0, 9},
		{oring, 7, 12, 7}, {oring, 12, 7, 7}, {oring, 9, 9, 9}, {oring, 30, 100, 30},
	} {
		task := must(t, c.cfg, 4)
		seen := map[string]bool{}
		for _, p := range task.Cell(c.i, c.j, 1000) {
			for operand, n := range []int{c.i, c.j}[:len(p.Operands)] {
				if x := p.Operands[operand]; n > 0 && len(x) != n || c.cfg.Kind != "or" && n > 0 && x[0] == '0' {
					t.Fatalf("%s in cell %d, %d", task.Text(p), c.i, c.j)
				}
			}
			if c.cfg.Kind == "or" {
				placeOfOne(t, p)
			}
			seen[task.Text(p)] = true
		}
		if len(seen) != c.want {
			t.Errorf("%s, cell %d, %d: %d problems, want %d", c.cfg.Kind, c.i, c.j, len(seen), c.want)
		}
	}
	task := must(t, sorting, 4)
	lengths := map[int]int{}
	for _, p := range task.Cell(3, 7, 400) {
		if len(p.Operands) != 7 {
			t.Fatalf("%s has not 7 entries", task.Text(p))
		}
		for _, x := range p.Operands {
			lengths[len(x)]++
		}
	}
	for n := 1; n <= 3; n++ { // 2800 / 3 each
		if lengths[n] < 850 || lengths[n] > 1020 {
			t.Errorf("%d of 2800 entries have %d digits", lengths[n], n)
		}
	}
}

// TestArithmeticAgreesWithBig compares every kind of numbers with math/big.
func TestArithmeticAgreesWithBig(t *testing.T) {
	by := map[string]func(z, a, b *big.Int) *big.Int{
		"addition": (*big.Int).Add, "subtraction": (*big.Int).Sub, "multiplication": (*big.Int).Mul, "nx1": (*big.Int).Mul,
		"successor": func(z, a, _ *big.Int) *big.Int { return z.Add(a, big.NewInt(1)) },
	}
	for kind, f := range by {
		for _, base := range []int{2, 7, 10} {
			task := must(t, with(kindOfSequence(kind), func(c *Config) { c.Base, c.DigitsHi = base, 40 }), 3)
			for k := range int64(300) {
				p := task.Train(k)
				var x [2]*big.Int
				for i, text := range p.Operands {
					x[i], _ = new(big.Int).SetString(text, base)
				}
				if got := f(new(big.Int), x[0], x[1]).Text(base); got != p.Answer {
					t.Fatalf("%s %s = %s, want %s", kind, task.Text(p), p.Answer, got)
				}
			}
		}
	}
}

// TestSortedLettersAreInOrder checks answers against their numbers.
func TestSortedLettersAreInOrder(t *testing.T) {
	task := must(t, sorting, 3)
	for k := range int64(500) {
		p := task.Train(k)
		names := map[rune]*big.Int{}
		for i, x := range p.Operands {
			n, _ := new(big.Int).SetString(x, 10)
			names[sequence.Letter(p.Start+i)] = n
		}
		answer := []rune(p.Answer)
		if len(answer) != 2*len(p.Operands)-1 {
			t.Fatalf("%s has the answer %s", task.Text(p), p.Answer)
		}
		for i := 2; i < len(answer); i += 2 {
			if names[answer[i-2]].Cmp(names[answer[i]]) > 0 {
				t.Fatalf("%s has the answer %s", task.Text(p), p.Answer)
			}
		}
	}
}

func TestParseSequences(t *testing.T) {
	mixed := with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "subtraction"} })
	for _, c := range []struct {
		cfg  Config
		text string
		want string // the text of the sequence, or a part of the error
	}{
		{kindOfSequence("multiplication"), "12 × 34", "21x43=804"}, {kindOfSequence("multiplication"), "12x034", "21x43=804"},
		{mixed, "12-345", "21-543=333-"}, {mixed, "12+3", "21+3=51"}, {mixed, "12", "expected two numbers"},
		{oring, "001+00000", "001+00000=00100"}, {oring, "002+0", "'2' is no bit"},
		{sorting, "75, 21", "A:57,B:12=B,A"}, {sorting, "a:75,b:21", "A:57,B:12=B,A"}, {sorting, "75,x", "no number"}, {sorting, "75,,3", "a number is missing"},
		{kindOfSequence("nx1"), "12*34", `"34" is no digit`},
	} {
		task := must(t, c.cfg, 0)
		p, err := task.Parse(c.text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = task.Written(p)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s gives %s, want %s", c.text, got, c.want)
		}
	}
}

// TestSeq2seqKinds has the rows of the table in the attention-bias paper's code.
func TestSeq2seqKinds(t *testing.T) {
	four := Config{Below: 999, Base: 10, Reversed: true, Pad: Pad{To: 4, Step: 3}}
	for _, c := range []struct {
		change                 func(*Config)
		text                   string
		source, target, labels string
	}{
		{func(c *Config) { c.Kind, c.Base, c.Scratchpad = "parity", 2, true }, "1011", "^1011$", "^1001", "1001$"},
		{func(c *Config) { c.Kind, c.Base, c.Scratchpad, c.Pad = "parity", 2, true, Pad{To: 6, Step: 0} }, "1011", "^001011$", "^100111", "100111$"},
		{func(c *Config) { c.Kind, c.Base = "parity", 2 }, "1011", "^1011$", "^0001", "0001$"},
		{func(c *Config) { c.Kind = "nx1" }, "123*6", "^0123*6$", "^8370", "8370$"},
		{func(c *Config) { c.Kind, c.Interleave = "nx1", true }, "123*6", "^*06162636$", "^8370", "8370$"},
		{func(c *Config) { c.Kind, c.ReversedOperands = "addition", true }, "123+748", "^3210+8470$", "^1780", "1780$"},
	} {
		cfg := four
		c.change(&cfg)
		if cfg.Base == 2 {
			cfg.Below = 1 << 4
			if cfg.Pad.To == 6 {
				cfg.Below = 1 << 6
			}
		}
		task := must(t, cfg, 1)
		p, err := task.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		w, err := task.Width(p)
		if err != nil {
			t.Fatal(err)
		}
		b := task.NewBatch(1, w)
		task.Encode(p, w, b)
		got := []string{show(b.Source), show(b.Target), show(b.Labels)}
		if diff := cmp.Diff([]string{c.source, c.target, c.labels}, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", cfg.Kind, c.text, diff)
		}
		if got := task.Decode(p, b.Labels); got != p.Answer || !task.Correct(p, b.Labels) {
			t.Errorf("%s %s: labels decode to %s, want %s", cfg.Kind, c.text, got, p.Answer)
		}
		for k := range int64(100) {
			if w, err := task.Width(task.Train(k)); err != nil || w < cfg.Pad.To {
				t.Fatalf("%s of %d places: %v", cfg.Kind, w, err)
			}
		}
	}
}

func TestNewRefusesSequences(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"a mix of []":                           func(c *Config) { c.Kind = "mixed" },
		"use a decoder-only model":              func(c *Config) { c.Kind, c.Sequence = "or", false },
		"are for sequences":                     func(c *Config) { c.Sequence, c.RandomPad = false, 0.1 },
		"bases are 2 to 36, of sequences to 10": func(c *Config) { c.Base = 12 },
		"zeros in front are for numbers":        func(c *Config) { c.Kind, c.Pad = "or", Pad{To: 25, Step: 0} },
		"arrays of 0 to 0 entries":              func(c *Config) { c.Kind = "sort" },
		"21 digits does not fit":                func(c *Config) { c.Pad = Pad{To: 15, Step: 0} },
		"are a set by themselves":               func(c *Config) { c.Below, c.Examples = 9, 9 },
	} {
		if _, err := tasks.New(with(adding, change), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// TestPinnedProblems pins the problems of tests and their order, since results of runs depend on
// them.
func TestPinnedProblems(t *testing.T) {
	mixed := with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"addition", "subtraction", "multiplication"} })
	for _, c := range []struct {
		cfg  Config
		n    int
		want string
	}{
		{mixed, 7, "911+15 418-34 445*62 510+59 930-77 320*72 642+70"},
		{sorting, 2, "7,115 32,693"},
		{additions, 3, "911+15 510+59 642+70"},
	} {
		var texts []string
		task := must(t, c.cfg, 3)
		for _, p := range task.Cell(3, 2, c.n) {
			texts = append(texts, task.Text(p))
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%s has %s, want %s", c.cfg.Kind, got, c.want)
		}
		for p := range task.Each(3, 2, c.n) {
			if got := task.Text(p); got != texts[0] {
				t.Errorf("%s: one by one the first is %s", c.cfg.Kind, got)
			}
			break
		}
	}
}
