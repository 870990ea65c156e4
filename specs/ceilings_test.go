package specs

import (
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
)

// TestCeilings computes the exact match of the best model with the masks, positions and layers of
// each scaffolded spec, on all short problems. A row knows its token. Each layer adds the shares of
// the knowledge that its self attention opens, and the shares of the tokens that its cross
// attention opens: a softmax tells no more. The best model gives the most frequent answer among
// rows that know the same.
func TestCeilings(t *testing.T) {
	figure, code := "model.decoder.cross.mask=antiwindow(left = 1, right = 1)", "model.decoder.cross.mask=antiwindow(left = 0, right = 1)"
	exact, pair := "model.decoder.cross.mask=antiwindow(left = 0, right = 0)", "model.decoder.cross.mask=antiwindow(left = 0, right = 0, step = 2)"
	off := "model.decoder.cross.mask=J - 1 - i == j"
	binary := "model.decoder.cross.mask=antiwindow(left = 1, right = 1, step = 2)"
	one, two, three := "model.decoder.layers=1", "model.decoder.layers=2", "model.decoder.layers=3"
	period := func(n string) string { return "model.embed.position=cyclic(sinusoidal, period = " + n + ")" }
	for _, c := range full.Some([]struct {
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
	}, 9) {
		spec, list := check.Resolve(check.Options{Path: c.file, Read: os.ReadFile, Set: c.set})
		if spec == nil {
			silent(t, c.file, list)
		}
		warned := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Code == "V014" })
		if warned != (c.want < 1) {
			t.Errorf("%s with %q, of which the best is %g: the compiler warns: %t", c.file, c.set, c.want, warned)
		}
		got := ceiling(spec, short(t, spec.Task))
		if math.Round(got*1000)/1000 != c.want || c.want == 1 && got < 1 {
			t.Errorf("%s with %q: the best is %.4f, want %g", c.file, c.set, got, c.want)
		}
	}
}

// A problem is a model's input and output as symbols: source, target and labels.
type problem struct{ source, target, labels string }

// short lists all problems of 4 decimal places, of 12 bits, or of two numbers of two places. They
// are padded by one place.
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

// ceiling returns the share of problems that the best model answers.
func ceiling(spec *check.Spec, problems []problem) float64 {
	k := knowledge{seed: maphash.MakeSeed(), spec: spec, open: make(map[string][][]int)}
	says := make(map[uint64]map[byte]int)
	known := make([][]uint64, len(problems))
	for n, p := range problems {
		known[n] = k.rows(p)
		for i, view := range known[n] {
			if says[view] == nil {
				says[view] = make(map[byte]int)
			}
			if p.labels[i] != anything {
				says[view][p.labels[i]]++
			}
		}
	}
	right := 0
	for n, p := range problems {
		ok := true
		for i, view := range known[n] {
			for label, count := range says[view] {
				mine := says[view][p.labels[i]]
				ok = ok && (p.labels[i] == anything || count < mine || count == mine && label >= p.labels[i])
			}
		}
		if ok {
			right++
		}
	}
	return float64(right) / float64(len(problems))
}

// anything is the label of a row that no loss asks for.
const anything = ' '

// open lists the columns that a mask opens to each row of a head.
func open(mask *expr.Expr, h, rows, columns int) [][]int {
	out := make([][]int, rows)
	at := expr.Bindings{"I": {I: int64(rows)}, "J": {I: int64(columns)}, "h": {I: int64(h)}}
	for i := range rows {
		for j := range columns {
			at["i"], at["j"] = expr.Value{I: int64(i)}, expr.Value{I: int64(j)}
			if mask == nil || expr.Eval64(mask, at).I != 0 {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// knowledge gives different knowledge different numbers. A token has its place modulo the period,
// its place in its number, or no place.
type knowledge struct {
	seed maphash.Seed
	spec *check.Spec
	open map[string][][]int // by site and shape
}

// recurrences returns how often a loop runs on a problem.
func recurrences(spec *check.Spec, p problem) int {
	by := spec.Task.Recurrences
	if !by.ByLength() {
		return spec.Model.Loop.Times
	}
	prompt, _, _ := strings.Cut(p.target, "=")
	operands := strings.FieldsFunc(prompt, func(r rune) bool { return r == '+' || r == '*' })
	digits := 0
	for _, x := range operands {
		digits = max(digits, len(x))
	}
	return max(1, by.Plus+by.Digits*digits+by.Operands*len(operands)+by.Prompt*(len(prompt)+1))
}

// rows returns the knowledge of each row of a problem after all layers.
func (k *knowledge) rows(p problem) []uint64 {
	know, source := k.tokens(p.target), k.tokens(p.source)
	m := k.spec.Model
	if m.Loop != nil {
		for range m.Loop.Layers * recurrences(k.spec, p) {
			know = k.read(know, [][]uint64{k.views("loop", m.Loop.Self, know, know)})
		}
		return know
	}
	for range m.Decoder.Layers {
		know = k.read(know, [][]uint64{k.views("self", m.Decoder.Self, know, know), k.views("cross", m.Decoder.Cross, know, source)})
	}
	return know
}

func (k *knowledge) tokens(text string) []uint64 {
	out := make([]uint64, len(text))
	run := 0
	for i := range out {
		run++
		if text[i] < '0' || text[i] > '9' {
			run = 0
		}
		place := 0
		switch p := k.spec.Model.Position; p.Kind {
		case "cyclic":
			place = i % p.Period
		case "abacus":
			place = run
		case "sinusoidal":
			place = i
		}
		out[i] = uint64(text[i])<<8 | uint64(place)
	}
	return out
}

// read adds what rows have read to their knowledge.
func (k *knowledge) read(know []uint64, views [][]uint64) []uint64 {
	next := slices.Clone(know)
	for _, view := range views {
		for i := range next {
			next[i] = maphash.Comparable(k.seed, [2]uint64{next[i], view[i]})
		}
	}
	return next
}

// views returns what each row reads of some elements, head by head. Elements have their places
// where scores depend on them.
func (k *knowledge) views(name string, site *check.Site, rows, of []uint64) []uint64 {
	out := make([]uint64, len(rows))
	for h := range k.spec.Model.Heads {
		key := fmt.Sprint(name, h, len(rows), len(of))
		if k.open[key] == nil {
			k.open[key] = open(site.Mask, h, len(rows), len(of))
		}
		for i, columns := range k.open[key] {
			seen := [2]uint64{out[i]}
			if site.Bias == nil && site.Rotary == nil {
				seen[1] = k.shares(of, columns)
			} else {
				for _, j := range columns {
					seen[1] = maphash.Comparable(k.seed, [4]uint64{seen[1], of[j], uint64(j), uint64(i)})
				}
			}
			out[i] = maphash.Comparable(k.seed, seen)
		}
	}
	return out
}

// shares returns what a softmax over elements can tell: each element with its share.
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
