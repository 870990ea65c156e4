package specs

import (
	"hash/maphash"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestCeilings computes what the windows of the scaffolded specs can do at all: the
// exact match of the best model with such masks, positions and layers, on all short
// problems. What a row knows is its token, what it knew a layer before of the rows that
// its self attention opens, and the tokens that its cross attention opens, each as
// shares, for that is all that a softmax tells of them; the best model answers what
// is most often right where that is known.
func TestCeilings(t *testing.T) {
	figure, code := "model.decoder.cross.mask=antiwindow(left = 1, right = 1)", "model.decoder.cross.mask=antiwindow(left = 0, right = 1)"
	exact, pair := "model.decoder.cross.mask=antiwindow(left = 0, right = 0)", "model.decoder.cross.mask=antiwindow(left = 0, right = 0, step = 2)"
	off := "model.decoder.cross.mask=J - 1 - i == j"
	binary := "model.decoder.cross.mask=antiwindow(left = 1, right = 1, step = 2)"
	one, two, three := "model.decoder.layers=1", "model.decoder.layers=2", "model.decoder.layers=3"
	period := func(n string) string { return "model.embed.position=cyclic(sinusoidal, period = " + n + ")" }
	for _, c := range []struct {
		file string
		set  []string
		want float64 // to a thousandth; 1 is all
	}{
		{"bias/successor_abs.arith", []string{two}, 1},
		{"bias/successor_abs.arith", []string{one}, 1},
		{"bias/successor_abs.arith", []string{one, figure}, 1},
		{"bias/successor_abs.arith", []string{one, figure, period("2")}, 1},
		{"bias/successor_abs.arith", []string{one, exact}, 0.999},
		{"bias/successor_abs.arith", []string{two, exact}, 1},
		{"bias/successor_nope.arith", []string{two}, 1},
		{"bias/successor_nope.arith", []string{one}, 0.991},
		{"bias/successor_nope.arith", []string{one, figure}, 0.119},
		{"bias/successor_nope.arith", []string{two, figure}, 0.55},
		{"bias/successor_nope.arith", []string{two, off}, 0},
		{"bias/parity_abs.arith", []string{one}, 1},
		{"bias/parity_nope.arith", []string{one}, 1},
		{"bias/parity_nope.arith", []string{one, figure}, 0.008},
		{"bias/parity_nope.arith", []string{two, figure}, 0.75},
		{"bias/addition_abs.arith", []string{two}, 1},
		{"bias/addition_abs.arith", []string{two, period("4")}, 1},
		{"bias/addition_abs.arith", []string{one, period("4")}, 0.975},
		{"bias/addition_nope.arith", []string{two}, 1},
		{"bias/nx1_abs.arith", []string{two}, 1},
		{"bias/nx1_nope.arith", []string{three}, 1},
		{"bias/nx1_nope.arith", []string{three, pair}, 1},
		{"bias/addition_nope.arith", []string{two, binary}, 0.409},
		{"bias/addition_abs.arith", []string{two, period("2")}, 0.55},
		{"bias/addition_nope.arith", []string{one}, 0.563},
		{"bias/nx1_nope.arith", []string{one}, 0.96},
		{"bias/addition_nope.arith", []string{two, code}, 0.01},
	} {
		spec, list := check.Resolve(check.Options{Path: c.file, Read: os.ReadFile, Set: c.set})
		if spec == nil {
			silent(t, c.file, list)
		}
		warned := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Code == "V014" })
		if warned != (c.want < 1) {
			t.Errorf("%s with %q, of which the best is %g: the compiler warns: %t", c.file, c.set, c.want, warned)
		}
		got := ceiling(t, spec)
		if math.Round(got*1000)/1000 != c.want || c.want == 1 && got < 1 {
			t.Errorf("%s with %q: the best is %.4f, want %g", c.file, c.set, got, c.want)
		}
	}
}

// A problem is what a model reads and says, as symbols: source, target and labels.
type problem struct{ source, target, labels string }

// short are all problems of 4 decimal places, 12 bits or two numbers of two, padded to
// a place more.
func short(t *testing.T, task check.Task) []problem {
	var out []problem
	digits := map[string]int{"successor": 4, "parity": 12, "addition": 2, "nx1": 2}[task.Kind]
	width := digits + 1
	padded := func(n int) string {
		text := strconv.FormatInt(int64(n), task.Base)
		for len(text) < width {
			text = "0" + text
		}
		return text
	}
	add := func(source, answer string) {
		said := []byte(answer)
		slices.Reverse(said)
		out = append(out, problem{"^" + source + "$", "^" + string(said), string(said) + "$"})
	}
	all := int(math.Pow(float64(task.Base), float64(digits)))
	for a := range all {
		switch task.Kind {
		case "successor":
			add(padded(a), padded(a+1))
		case "parity":
			bits, ones := []byte(padded(a)), byte(0)
			for i := len(bits) - 1; i >= 0; i-- {
				ones ^= bits[i] - '0'
				bits[i] = '0' + ones
			}
			add(padded(a), string(bits))
		case "addition":
			for b := range all {
				add("+"+interleaved(padded(a), padded(b)), padded(a+b))
			}
		case "nx1":
			for b := range 10 {
				add("*"+interleaved(padded(a), string(slices.Repeat([]byte{byte('0' + b)}, width))), padded(a*b))
			}
		default:
			t.Fatalf("no problems of %s", task.Kind)
		}
	}
	return out
}

func interleaved(a, b string) string {
	var out []byte
	for i := range a {
		out = append(out, a[i], b[i])
	}
	return string(out)
}

// ceiling is the share of the short problems that the best model answers.
func ceiling(t *testing.T, spec *check.Spec) float64 {
	problems := short(t, spec.Task)
	rows, columns := len(problems[0].target), len(problems[0].source)
	self := open(spec.Model.Decoder.Self.Mask, rows, rows)
	cross := open(spec.Model.Decoder.Cross.Mask, rows, columns)
	k := knowledge{seed: maphash.MakeSeed(), period: spec.Model.Position.Period}
	if spec.Model.Position.Kind == "none" {
		k.period = 1
	}
	says := make(map[uint64]map[byte]int)
	known := make([][]uint64, len(problems))
	for n, p := range problems {
		known[n] = k.rows(p, self, cross, spec.Model.Decoder.Layers)
		for i, view := range known[n] {
			if says[view] == nil {
				says[view] = make(map[byte]int)
			}
			says[view][p.labels[i]]++
		}
	}
	right := 0
	for n, p := range problems {
		ok := true
		for i, view := range known[n] {
			for label, count := range says[view] {
				ok = ok && (count < says[view][p.labels[i]] || count == says[view][p.labels[i]] && label >= p.labels[i])
			}
		}
		if ok {
			right++
		}
	}
	return float64(right) / float64(len(problems))
}

// open lists the columns that a mask opens to each row, all of a causal one's if it
// is nil.
func open(mask *expr.Expr, rows, columns int) [][]int {
	out := make([][]int, rows)
	at := expr.Bindings{"I": {I: int64(rows)}, "J": {I: int64(columns)}}
	for i := range rows {
		for j := range columns {
			at["i"], at["j"] = expr.Value{I: int64(i)}, expr.Value{I: int64(j)}
			if expr.Eval64(mask, at).I != 0 {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// knowledge tells what rows know apart. Tokens have their place modulo the period.
type knowledge struct {
	seed   maphash.Seed
	period int
}

// rows is what each row of a problem knows after so many layers.
func (k *knowledge) rows(p problem, self, cross [][]int, layers int) []uint64 {
	know := make([]uint64, len(p.target))
	for i := range know {
		know[i] = uint64(p.target[i])<<8 | uint64(i%k.period)
	}
	source := make([]uint64, len(p.source))
	for j := range source {
		source[j] = uint64(p.source[j])<<8 | uint64(j%k.period)
	}
	for range layers {
		next := make([]uint64, len(know))
		for i := range next {
			next[i] = maphash.Comparable(k.seed, [3]uint64{know[i], k.shares(know, self[i]), k.shares(source, cross[i])})
		}
		know = next
	}
	return know
}

// shares is what a softmax over some elements can tell: each with its share.
func (k *knowledge) shares(of []uint64, open []int) uint64 {
	var chosen []uint64
	for _, j := range open {
		chosen = append(chosen, of[j])
	}
	slices.Sort(chosen)
	var counts []int
	common := 0
	for i := 0; i < len(chosen); {
		n := i
		for n < len(chosen) && chosen[n] == chosen[i] {
			n++
		}
		counts, common = append(counts, n-i), gcd(n-i, common)
		i = n
	}
	chosen = slices.Compact(chosen)
	var sum uint64
	for i, x := range chosen {
		sum = maphash.Comparable(k.seed, [3]uint64{sum, x, uint64(counts[i] / common)})
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
