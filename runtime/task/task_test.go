package task_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

var (
	successors = Config{Kind: "successor", Below: 1 << 20, Base: 10, Reversed: true, Pad: Pad{To: 7, Step: 3}, Holdout: 0.125}
	additions  = Config{Kind: "addition", Below: 1 << 20, Base: 10, Reversed: true, Pad: Pad{To: 7, Step: 3}, Holdout: 0.125}
	ranged     = Config{Kind: "addition", DigitsLo: 1, DigitsHi: 3, Base: 10, Reversed: true, Pad: Pad{To: 4, Step: 0}, Holdout: 0.01}
)

func must(t *testing.T, cfg Config, seed uint64) *Task {
	t.Helper()
	task, err := tasks.New(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// tokenOf returns the token of a sequence's symbol; letters returns the letters of hints.
func tokenOf(t *Task, r rune) int32 { return t.Sequences().(*sequence.Vocabulary).ID(r) }

func letters() string { return strings.Join(sequence.Letters(), "") }

func with(cfg Config, change func(*Config)) Config {
	change(&cfg)
	return cfg
}

func show(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		if id < 0 { // any symbol
			b.WriteByte('_')
		} else {
			b.WriteByte(Symbols[id])
		}
	}
	return b.String()
}

func TestEncode(t *testing.T) {
	interleaved := with(additions, func(c *Config) { c.Interleave = true })
	four := func(c *Config) { c.Pad, c.Below = Pad{To: 4, Step: 3}, 999 }
	short := func(c *Config) { four(c); c.Pad.Less = 2 }
	for _, c := range []struct {
		cfg                    Config
		text                   string
		source, target, labels string
	}{
		{with(successors, four), "12", "^0012$", "^3100", "3100$"},
		{with(successors, four), "9999", "^0009999$", "^0000100", "0000100$"},
		{with(successors, func(c *Config) { c.Pad = Pad{} }), "099", "^099$", "^001", "001$"},
		{with(successors, func(c *Config) { c.Reversed, c.Pad, c.Below = false, Pad{To: 4, Step: 0}, 999 }), "12", "^0012$", "^0013", "0013$"},
		{with(successors, func(c *Config) { c.Base = 16 }), "ff", "^00000ff$", "^0010000", "0010000$"},
		{with(additions, four), "123+748", "^0123+0748$", "^1780", "1780$"},
		{with(additions, four), "1234+5678", "^0001234+0005678$", "^2196000", "2196000$"}, // as wide as 5678+5678
		{with(successors, func(c *Config) { c.Pad, c.Below = Pad{To: 4, Step: 0}, 999 }), "1234", "^1234$", "^5321", "5321$"},
		{with(additions, short), "1+2", "^0001+0002$", "^30", "30$"},
		{with(additions, short), "12+99", "^0000012+0000099$", "^11100", "11100$"},
		{with(successors, func(c *Config) { four(c); c.Unended = true }), "12", "^0012$", "^3100", "3100_"},
		{with(interleaved, four), "123+748", "^+00172438$", "^1780", "1780$"},
		{with(interleaved, func(c *Config) { c.Pad, c.Below = Pad{To: 3, Step: 1}, 99 }), "99+12", "^+009192$", "^111", "111$"},
	} {
		task := must(t, c.cfg, 1)
		p, err := task.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		w, err := task.Width(p)
		if err != nil {
			t.Fatal(err)
		}
		s, m := task.Shape(w)
		b := task.NewBatch(1, w)
		task.Encode(p, w, b)
		if b.S != s || b.T != m {
			t.Errorf("%s: %d source tokens and %d rows, want %d and %d", c.text, b.S, b.T, s, m)
		}
		got := []string{show(b.Source), show(b.Target), show(b.Labels)}
		if diff := cmp.Diff([]string{c.source, c.target, c.labels}, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.cfg.Kind, c.text, diff)
		}
		if c.cfg.Unended {
			b.Labels = b.Labels[:m-1]
		}
		if got := task.Decode(p, b.Labels); got != p.Answer {
			t.Errorf("%s %s: labels decode to %s, want %s", c.cfg.Kind, c.text, got, p.Answer)
		}
	}
}

func TestVocabulary(t *testing.T) {
	all := must(t, with(ranged, func(c *Config) { c.Base = 36 }), 0)
	token := func(symbol byte) int { return int(IDs(all)[symbol]) }
	for symbol, id := range map[byte]int{'$': 0, '+': 2, '0': 5, '9': 14, '@': 15, '^': 16, 'a': 17} {
		if got := token(symbol); got != id {
			t.Errorf("token of %c is %d, want %d", symbol, got, id)
		}
	}
	if all.EOS() != 0 {
		t.Errorf("the end is %d", all.EOS())
	}
	for base, n := range map[int]int{2: 17, 10: 17, 11: 18, 36: 43} {
		task := must(t, with(ranged, func(c *Config) { c.Base = base }), 0)
		if got := task.Vocab(); got != n {
			t.Errorf("base %d has %d tokens, want %d", base, got, n)
		}
	}
	for kind, want := range map[string]string{"addition": "0123456789ab+^$", "nx1": "0123456789ab*^$", "successor": "0123456789ab^$"} {
		task := must(t, with(ranged, func(c *Config) { c.Kind, c.Base, c.Used = kind, 12, true }), 0)
		if got := strings.Join(task.Vocabulary(), ""); got != want {
			t.Errorf("%s has the tokens %s, want %s", kind, got, want)
		}
		p := task.Test(3, 1)[0]
		b, err := task.One(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Decode(p, b.Labels); got != p.Answer || b.Labels[len(b.Labels)-1] != task.EOS() || !task.Correct(p, b.Labels) {
			t.Errorf("%s: %s=%s is written %v, which decodes to %s", kind, task.Text(p), p.Answer, b.Labels, got)
		}
		if diff := cmp.Diff(task.Runs(b.Source), must(t, with(*task.Config(), func(c *Config) { c.Used = false }), 0).Runs(other(b.Source, want))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPad(t *testing.T) {
	for _, c := range []struct {
		pad     Pad
		n, want int
	}{
		{Pad{To: 7, Step: 3}, 1, 7}, {Pad{To: 7, Step: 3}, 7, 7}, {Pad{To: 7, Step: 3}, 8, 10}, {Pad{To: 7, Step: 3}, 61, 61}, {Pad{To: 7, Step: 3}, 62, 64},
		{Pad{To: 0, Step: 0}, 5, 5}, {Pad{To: 61, Step: 0}, 60, 61}, {Pad{To: 61, Step: 0}, 62, 61},
	} {
		if got := c.pad.Width(c.n); got != c.want {
			t.Errorf("%v fits %d places in %d, want %d", c.pad, c.n, got, c.want)
		}
	}
}

func TestAnswersAgreeWithBig(t *testing.T) {
	for _, base := range []int{2, 10, 36} {
		task := must(t, with(ranged, func(c *Config) { c.Base, c.DigitsHi, c.Pad, c.Holdout = base, 90, Pad{}, 0 }), 3)
		for k := range int64(300) {
			p := task.Train(k)
			sum := new(big.Int)
			for _, x := range p.Operands {
				n, _ := new(big.Int).SetString(x, base)
				sum.Add(sum, n)
			}
			if got := sum.Text(base); got != p.Answer {
				t.Fatalf("%s = %s, want %s", task.Text(p), p.Answer, got)
			}
		}
	}
}

func TestTrainingWalksEveryNumberOnceAnEpoch(t *testing.T) {
	cfg := with(additions, func(c *Config) { c.Below = 800 })
	task := must(t, cfg, 11)
	const trained = 700
	var firstA, firstB []string
	held := [2]map[string]bool{{}, {}}
	for k := range int64(100) {
		for i, x := range task.HeldOut(k).Operands {
			held[i][x] = true
		}
	}
	for epoch := range 3 {
		seen := [2]map[string]bool{{}, {}}
		var a, b []string
		for i := range trained {
			p := task.Train(int64(epoch*trained + i))
			for o, x := range p.Operands {
				if seen[o][x] || held[o][x] {
					t.Fatalf("epoch %d: operand %d is %s, seen or held out", epoch, o, x)
				}
				seen[o][x] = true
			}
			a, b = append(a, p.Operands[0]), append(b, p.Operands[1])
		}
		if epoch == 0 {
			firstA, firstB = a, b
			if cmp.Equal(a, b) {
				t.Error("both operands walk in one order")
			}
		} else if cmp.Equal(a, firstA) || cmp.Equal(b, firstB) {
			t.Errorf("epoch %d is in the order of epoch 0", epoch)
		}
	}
	if len(held[0]) != 100 || len(held[1]) != 100 {
		t.Errorf("%d and %d numbers held out, want 100", len(held[0]), len(held[1]))
	}
}

// TestHoldsOut tries each way to hold problems out, and a set of one problem, which cannot hold
// out any.
func TestHoldsOut(t *testing.T) {
	for _, c := range []struct {
		task *Task
		want bool
	}{
		{must(t, with(ranged, func(c *Config) { c.Holdout = 0.25 }), 9), true},
		{must(t, with(ranged, func(c *Config) { c.Holdout = 0 }), 9), false},
		{must(t, with(successors, func(c *Config) { c.Holdout = 0.01 }), 9), true},
		{must(t, with(successors, func(c *Config) { c.Holdout = 0 }), 9), false},
		{must(t, with(adding, func(c *Config) { c.Examples, c.Holdout = 1, 0.5 }), 9), false},
		{must(t, with(adding, func(c *Config) { c.Examples, c.Holdout = 2, 0.01 }), 9), true},
		{must(t, with(adding, func(c *Config) { c.Examples, c.Holdout = 1<<40, 0.01 }), 9), true},
		{must(t, with(oring, func(c *Config) { c.DigitsHi, c.Examples, c.Holdout = 2, 1000, 0.01 }), 9), false},  // of few problems all are trained on
		{must(t, with(oring, func(c *Config) { c.DigitsHi, c.Examples, c.Holdout = 2, 1<<40, 0.01 }), 9), false}, // and even more surely
		{must(t, with(oring, func(c *Config) { c.DigitsHi, c.Examples, c.Holdout = 2, 4, 0.5 }), 9), true},
	} {
		if got := c.task.HoldsOut(); got != c.want {
			t.Errorf("%+v: %t", c.task.Config(), got)
		}
	}
}

func TestRangedHoldoutIsDisjoint(t *testing.T) {
	task := must(t, with(ranged, func(c *Config) { c.Holdout = 0.25 }), 9)
	held := map[string]bool{}
	for k := range int64(2000) {
		held[task.Text(task.HeldOut(k))] = true
	}
	lengths := map[int]int{}
	for k := range int64(6000) {
		p := task.Train(k)
		if held[task.Text(p)] {
			t.Fatalf("%s is held out and trained on", task.Text(p))
		}
		lengths[len(p.Operands[0])]++
	}
	for l := 1; l <= 3; l++ {
		if lengths[l] < 1500 {
			t.Errorf("%d of 6000 operands have %d digits", lengths[l], l)
		}
	}
}

func TestProblemsDependOnSeedAndIndexAlone(t *testing.T) {
	for _, cfg := range []Config{successors, additions, ranged} {
		a, b, other := must(t, cfg, 1), must(t, cfg, 1), must(t, cfg, 2)
		same := 0
		for k := int64(99); k >= 0; k-- {
			if diff := cmp.Diff(a.Train(k), b.Train(k)); diff != "" {
				t.Fatal(diff)
			}
			if cmp.Equal(a.Train(k), other.Train(k)) {
				same++
			}
		}
		if same > 10 {
			t.Errorf("%s: %d of 100 problems are the same under another seed", cfg.Kind, same)
		}
	}
}

func TestTestProblems(t *testing.T) {
	for _, c := range []struct {
		cfg             Config
		length, n, want int
	}{
		{successors, 1, 2000, 10}, {successors, 2, 2000, 90}, {successors, 6, 2000, 2000}, {successors, 18, 500, 500},
		{successors, 19, 500, 500}, {successors, 300, 50, 50},
		{additions, 1, 2000, 100}, {additions, 9, 2000, 2000}, {additions, 10, 500, 500}, {additions, 60, 500, 500},
	} {
		task := must(t, c.cfg, 4)
		seen := map[string]bool{}
		for _, p := range task.Test(c.length, c.n) {
			for _, x := range p.Operands {
				if len(x) != c.length || c.length > 1 && x[0] == '0' {
					t.Fatalf("%s is no number of %d digits", x, c.length)
				}
			}
			seen[task.Text(p)] = true
		}
		if len(seen) != c.want {
			t.Errorf("%s of %d digits: %d distinct problems, want %d", c.cfg.Kind, c.length, len(seen), c.want)
		}
	}
}

func TestParse(t *testing.T) {
	binary := with(successors, func(c *Config) { c.Base, c.Pad = 2, Pad{} })
	for _, c := range []struct {
		cfg  Config
		text string
		want string // the problem and its answer, or a part of the error
	}{
		{successors, " 0099 ", "99 100"},
		{successors, "0", "0 1"},
		{successors, strings.Repeat("9", 40), strings.Repeat("9", 40) + " 1" + strings.Repeat("0", 40)},
		{additions, "12 + 0", "12+0 12"},
		{binary, "111", "111 1000"},
		{with(additions, func(c *Config) { c.Kind, c.Base = "nx1", 36 }), "1x*2", "1x*2 3u"},
		{with(additions, func(c *Config) { c.Kind = "nx1" }), "12x3", "12*3 36"},
		{successors, "", "a number is missing; expected a number, such as 99999"},
		{successors, "12a", `'a' is no digit of base 10`},
		{successors, "-3", `'-' is no digit`},
		{successors, "1+2", `'+' is no digit`},
		{successors, "1２", `'２' is no digit`},
		{binary, "12", `'2' is no digit of base 2`},
		{additions, "12", `found "+" 0 times; expected two numbers with a + between them, such as 123+456`},
		{additions, "1+2+3", `found "+" 2 times`},
		{additions, "1+", "a number is missing"},
		{successors, strings.Repeat("1", 32_769), "32769 digits are too many, the limit is 32768"},
	} {
		task := must(t, c.cfg, 0)
		p, err := task.Parse(c.text)
		got := task.Text(p) + " " + p.Answer
		if err != nil {
			got = err.Error()
			if len(got) > 200 {
				t.Errorf("a message of %d characters", len(got))
			}
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%.30q gives %s, want %s", c.text, got, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`task succesor: there are successor, addition`: func(c *Config) { c.Kind = "succesor" },
		"bases are 2 to 36":                            func(c *Config) { c.Base = 37 },
		"one operand cannot be interleaved":            func(c *Config) { c.Interleave = true },
		"lengths start at 1":                           func(c *Config) { c.Below, c.DigitsLo = 0, 0 },
		"a positive number and fractions":              func(c *Config) { c.Holdout = 1 },
		"7 digits does not fit in numbers padded to 5": func(c *Config) { c.Pad = Pad{To: 5, Step: 0} },
	} {
		if _, err := tasks.New(with(successors, change), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// other converts tokens of an alphabet to tokens of all symbols.
func other(ids []int32, alphabet string) (all []int32) {
	for _, id := range ids {
		all = append(all, int32(strings.IndexByte(Symbols, alphabet[id])))
	}
	return all
}

func TestDecodeShowsTheModelsOwnSymbols(t *testing.T) {
	task := must(t, successors, 0)
	for reply, want := range map[string]string{"3100$": "13", "31+0$99": "+13", "$": "0", "123": "321"} {
		var ids []int32
		for _, symbol := range []byte(reply) {
			ids = append(ids, IDs(task)[symbol])
		}
		if got := task.Decode(Problem{}, ids); got != want {
			t.Errorf("%s decodes to %s, want %s", reply, got, want)
		}
	}
}

// TestDrawer compares batches in reused memory with Batch's, and checks that enough memory ends
// allocations.
func TestDrawer(t *testing.T) {
	for _, cfg := range []Config{successors, additions, ranged, with(ranged, func(c *Config) { c.Pad, c.Holdout = Pad{}, 0.5 }),
		with(additions, func(c *Config) { c.Interleave, c.Reversed, c.Below = true, false, 50 })} {
		task := must(t, cfg, 5)
		d := task.NewDrawer(0, 0)
		for _, n := range []int{7, 3, 20} {
			var problems []Problem
			for k := range n {
				problems = append(problems, task.Train(int64(40+k)))
			}
			want, err := task.Batch(problems)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Train(40, n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d problems (-Batch +Drawer):\n%s", cfg.Kind, n, diff)
			}
		}
		first := int64(0)
		if n := testing.AllocsPerRun(50, func() { d.Train(first, 20); first += 20 }); n > 0 {
			t.Errorf("%s: %g allocations a batch", cfg.Kind, n)
		}
	}
}

func BenchmarkDrawer(b *testing.B) {
	task, _ := tasks.New(additions, 1)
	d := task.NewDrawer(0, 0)
	for k := range b.N {
		d.Train(int64(k)*512, 512)
	}
}

func BenchmarkTrain(b *testing.B) {
	task, _ := tasks.New(additions, 1)
	for k := range b.N {
		if n, _ := strconv.Atoi(task.Train(int64(k)).Answer); n < 0 {
			b.Fatal(n)
		}
	}
}

// TestProblemsStay checks that problems do not change, since checkpoints and results of
// encoder-decoders depend on them.
func TestProblemsStay(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string // three trained ones, one held out, tests of 4 and 30 digits
	}{
		{successors, "1013225 597522 165418 906477 9302 804531093203597788628219557116"},
		{additions, "1013225+570142 597522+995093 165418+579665 906477+691785 9236+9930 804531093203597788628219557116+314246468081834746004584028299"},
		{ranged, "638+61 662+65 84+0 11+8 9236+9930 804531093203597788628219557116+314246468081834746004584028299"},
	} {
		task := must(t, c.cfg, 0)
		var got []string
		for _, p := range []Problem{task.Train(0), task.Train(1), task.Train(2), task.HeldOut(0), task.Test(4, 1)[0], task.Test(30, 1)[0]} {
			got = append(got, task.Text(p))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.cfg.Kind, text, c.want)
		}
	}
}
