package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

var (
	adding  = Config{Kind: "addition", DigitsLo: 1, DigitsHi: 20, Base: 10, Sequence: true, Reversed: true, ReversedOperands: true}
	sorting = with(adding, func(c *Config) { c.Kind, c.DigitsHi, c.LengthLo, c.LengthHi = "sort", 10, 1, 10 })
	oring   = with(adding, func(c *Config) {
		c.Kind, c.Base, c.Reversed, c.ReversedOperands = "or", 2, false, false
	})
)

func kindOfSequence(kind string) Config { return with(adding, func(c *Config) { c.Kind = kind }) }

// encoded returns a problem's tokens, the labels that count, and the Abacus rows.
func encoded(t *testing.T, task *Task, p Problem) (ids, labels, rows []int32) {
	t.Helper()
	w, err := task.Width(p)
	if err != nil {
		t.Fatal(err)
	}
	b := task.NewBatch(1, w)
	task.Encode(p, w, b)
	ids = append(slices.Clone(b.Target), 3)
	if got := b.Labels[b.T-1]; got != 3 {
		t.Errorf("%s ends with label %d", task.Written(p), got)
	}
	return ids, b.Labels, task.Runs(ids)
}

// TestVectors has worked examples: texts, tokens, labels and Abacus rows by hand.
func TestVectors(t *testing.T) {
	hinted := with(adding, func(c *Config) { c.Hints = "cyclic" })
	for _, c := range []struct {
		cfg     Config
		problem string
		fillers []byte
		text    string
		ids     []int32
		rows    []int32
	}{
		{adding, "28289+2719583", nil, "98282+3859172=2787472",
			[]int32{13, 12, 6, 12, 6, 14, 7, 12, 9, 13, 5, 11, 6, 17, 6, 11, 12, 11, 8, 11, 6, 3},
			[]int32{1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0}},
		{adding, "21+543", nil, "12+345=465",
			[]int32{5, 6, 14, 7, 8, 9, 17, 8, 10, 9, 3},
			[]int32{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
		{adding, "21+3", []byte{0, 1}, "1 2+3=42",
			[]int32{5, 0, 6, 14, 7, 17, 8, 6, 3},
			[]int32{1, 0, 1, 0, 1, 0, 1, 2, 0}},
		{kindOfSequence("subtraction"), "12-345", nil, "21-543=333-",
			[]int32{6, 5, 15, 9, 8, 7, 17, 7, 7, 7, 15, 3},
			[]int32{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0}},
		{kindOfSequence("multiplication"), "12*34", nil, "21x43=804",
			[]int32{6, 5, 16, 8, 7, 17, 12, 4, 8, 3},
			[]int32{1, 2, 0, 1, 2, 0, 1, 2, 3, 0}},
		{hinted, "21+43", nil, "A1B2+A3B4=A4B6",
			[]int32{19, 5, 20, 6, 14, 19, 7, 20, 8, 17, 19, 8, 20, 10, 3},
			[]int32{0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0}},
		{oring, "01+000", nil, "01+000=010",
			[]int32{4, 5, 14, 4, 4, 4, 17, 4, 5, 4, 3},
			[]int32{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
		{sorting, "75,21,75", nil, "A:57,B:12,C:57=B,A,C",
			[]int32{19, 16, 9, 11, 15, 20, 16, 5, 6, 15, 21, 16, 9, 11, 17, 20, 15, 19, 15, 21, 3},
			[]int32{0, 0, 1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0}},
		{with(adding, func(c *Config) { c.DigitsHi, c.Pad = 2, Pad{To: 3, Step: 0} }), "12+345", nil, "210+543=753", nil, nil},
		{with(adding, func(c *Config) { c.DigitsHi, c.Pad = 2, Pad{To: 4, Less: 1} }), "12+345", nil, "2100+5430=753", nil, nil},
		{with(adding, func(c *Config) { c.Reversed, c.ReversedOperands = false, false }), "12+345", nil, "12+345=357", nil, nil},
		{with(adding, func(c *Config) { c.Interleave = true }), "12+345", nil, "+251403=753", nil, nil},
		{kindOfSequence("successor"), "99", nil, "99=001", nil, nil},
		{kindOfSequence("nx1"), "123*4", nil, "321x4=294", nil, nil},
	} {
		task := must(t, c.cfg, 1)
		p, err := task.Parse(c.problem)
		if err != nil {
			t.Fatal(err)
		}
		p.Fillers = c.fillers
		if got := task.Written(p); got != c.text {
			t.Errorf("%s %s is written %s, want %s", c.cfg.Kind, c.problem, got, c.text)
		}
		ids, labels, rows := encoded(t, task, p)
		if c.ids != nil && (!slices.Equal(ids, c.ids) || !slices.Equal(rows, c.rows)) {
			t.Errorf("%s has tokens and rows\n%v\n%v, want\n%v\n%v", c.text, ids, rows, c.ids, c.rows)
		}
		prompt := slices.Index(ids, 17) + 1
		if task.Prompt(p) != prompt {
			t.Errorf("%s has a prompt of %d tokens, want %d", c.text, task.Prompt(p), prompt)
		}
		for i, id := range labels {
			want := int32(-1)
			if i+1 >= prompt && ids[i+1] != sequence.PadID {
				want = ids[i+1]
			}
			if id != want {
				t.Errorf("%s: label %d is %d, want %d", c.text, i, id, want)
			}
		}
		if got := (Batch{Labels: labels}).Kept(); c.fillers == nil && got != len([]rune(c.text))-prompt+1 {
			t.Errorf("%s has %d labels", c.text, got)
		}
		answer := labels[prompt-1:]
		if got := task.Decode(p, answer); got != p.Answer || !task.Correct(p, answer) {
			t.Errorf("%s: its own answer decodes to %s, right: %v", c.text, got, task.Correct(p, answer))
		}
	}
}

func TestLossOnAll(t *testing.T) {
	task := must(t, with(adding, func(c *Config) { c.LossOnAll = true }), 1)
	p, _ := task.Parse("21+3")
	p.Fillers = []byte{0, 2}
	_, labels, _ := encoded(t, task, p)
	if want := []int32{-1, -1, 6, 14, 7, 17, 8, 6, 3}; !slices.Equal(labels, want) {
		t.Errorf("labels are %v, want %v", labels, want)
	}
}

// TestSortExample is the example of McLeish et al. 2024, section 4.3.
func TestSortExample(t *testing.T) {
	task := must(t, sorting, 1)
	p := task.Solved([]string{"75946", "36999", "81201", "1417", "18750"})
	p.Start = strings.Index(letters(), "a") // ASCII before it
	d := task.Draft(p)
	task.Finish(d)
	if got, want := task.Written(d.Problem()), "a:64957,b:99963,c:10218,d:7141,e:05781=d,e,b,a,c"; got != want {
		t.Errorf("written %s, want %s", got, want)
	}
}

func TestSequenceVocabularies(t *testing.T) {
	if n := len([]rune(letters())); n != NumLetters {
		t.Fatalf("%d letters", n)
	}
	for _, c := range []struct {
		cfg   Config
		size  int
		by    map[rune]int32
		shows map[int32]string
	}{
		{adding, 19, map[rune]int32{'0': 4, '9': 13, '+': 14, '-': 15, 'x': 16, '=': 17, ' ': 0}, map[int32]string{0: "_", 3: "$", 4: "0", 17: "="}},
		{with(adding, func(c *Config) { c.Hints = "fixed" }), 121,
			map[rune]int32{'A': 19, 'Z': 44, 'a': 45, 'w': 67, 'y': 68, 'z': 69, '!': 70, 'ω': 120, '^': 76, '?': 82, 'x': 16}, nil},
		{sorting, 118, map[rune]int32{'D': 14, ',': 15, ':': 16, '=': 17, 'A': 19, 'C': 21, 'E': 22, 'Z': 43, 'a': 44, 'w': 66, 'y': 67, 'z': 68, '!': 69, 'ω': 117}, nil},
	} {
		task := must(t, c.cfg, 0)
		if got := task.Vocab(); got != c.size {
			t.Errorf("%s has %d tokens, want %d", c.cfg.Kind, got, c.size)
		}
		for r, id := range c.by {
			if got := tokenOf(task, r); got != id {
				t.Errorf("%s: %c is %d, want %d", c.cfg.Kind, r, got, id)
			}
		}
		for id, want := range c.shows {
			if got := task.Symbol(id); got != want {
				t.Errorf("token %d shows as %s, want %s", id, got, want)
			}
		}
		for _, r := range letters() {
			if id := tokenOf(task, r); c.size > 19 && RawSymbols(task)[id] != string(r) {
				t.Errorf("%c is token %d, which is %s", r, id, RawSymbols(task)[id])
			}
		}
	}
}

// TestRows compares the longest sequences with the authors' widths, less one token that is not
// read.
func TestRows(t *testing.T) {
	size := func(cfg Config, digits int) Config { return with(cfg, func(c *Config) { c.DigitsHi = digits }) }
	for _, c := range []struct {
		cfg  Config
		want int
	}{
		{size(adding, 10), 34}, {adding, 64}, {size(adding, 30), 94}, {size(adding, 40), 124},
		{kindOfSequence("subtraction"), 64}, {size(kindOfSequence("multiplication"), 15), 63}, {size(oring, 20), 63}, {sorting, 150},
		{with(adding, func(c *Config) { c.Hints = "cyclic" }), 125},
		{with(adding, func(c *Config) { c.Kind, c.Of = "mixed", []string{"subtraction", "multiplication"} }), 83},
	} {
		task := must(t, c.cfg, 1)
		if got := task.Rows() + 1; got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.cfg.Kind, got, c.want)
		}
		for k := range int64(1000) {
			if w, err := task.Width(task.Train(k)); err != nil || w > task.Rows() {
				t.Fatalf("%s: a problem of %d rows: %v", c.cfg.Kind, w, err)
			}
		}
	}
}

func TestCorrect(t *testing.T) {
	for _, c := range []struct {
		cfg     Config
		problem string
		reply   string // $ is the end
		want    bool
	}{
		{adding, "12+345", "753$", true}, {adding, "12+345", "753$9", true}, {adding, "12+345", "753", false},
		{adding, "12+345", "7530$", false}, {adding, "12+345", "754$", false}, {adding, "12+345", "75$", false},
		{with(adding, func(c *Config) { c.Hints = "cyclic" }), "21+43", "A4B6$", true},
		{with(adding, func(c *Config) { c.Hints = "cyclic" }), "21+43", "Z4z6$", true},
		{with(adding, func(c *Config) { c.Hints = "cyclic" }), "21+43", "A5B6$", false},
		{sorting, "75,21", "B,A", true}, {sorting, "75,21", "B,A,A", true}, {sorting, "75,21", "A,B$", false}, {sorting, "75,21", "B,$", false},
		{successors, "12", "3100000$", true}, {successors, "12", "310000$", false},
	} {
		task := must(t, c.cfg, 1)
		p, err := task.Parse(c.problem)
		if err != nil {
			t.Fatal(err)
		}
		var reply []int32
		for _, r := range c.reply {
			switch {
			case r == '$':
				reply = append(reply, task.EOS())
			case c.cfg.Sequence:
				reply = append(reply, tokenOf(task, r))
			default:
				reply = append(reply, IDs(task)[r])
			}
		}
		if got := task.Correct(p, reply); got != c.want {
			t.Errorf("%s = %s is right: %v", c.problem, c.reply, got)
		}
	}
}

// TestSequenceDrawer compares sorted and padded batches with the single examples.
func TestSequenceDrawer(t *testing.T) {
	mixed := with(adding, func(c *Config) {
		c.Kind, c.Of, c.DigitsHi, c.RandomPad = "mixed", []string{"addition", "subtraction", "multiplication"}, 6, 0.1
	})
	for _, cfg := range []Config{adding, mixed, sorting, oring, with(adding, func(c *Config) { c.Hints, c.Holdout, c.LossOnAll = "cyclic", 0.3, true })} {
		for _, padded := range []bool{false, true} {
			task := must(t, with(cfg, func(c *Config) { c.Padded = padded }), 5)
			const n, part, first = 50, 8, 40
			d := task.NewDrawer(0, part)
			b, err := d.Train(first, n)
			if err != nil {
				t.Fatal(err)
			}
			var problems []Problem
			for k := range int64(n) {
				problems = append(problems, task.Train(first+k))
			}
			if !padded {
				slices.SortStableFunc(problems, func(p, q Problem) int {
					a, _ := task.Width(p)
					b, _ := task.Width(q)
					return b - a
				})
			}
			at := 0
			for lo := 0; lo < n; lo += part {
				hi := min(lo+part, n)
				want, _ := task.Batch(problems[lo:hi])
				if padded {
					want = task.NewBatch(hi-lo, task.Rows())
					for i, p := range problems[lo:hi] {
						task.Encode(p, task.Rows(), want.Slice(i, i+1))
					}
				}
				want.At, want.Rows = at, 0 // Rows counts the whole batch
				got := b.Slice(lo, hi)
				want.Source, got.Source = nil, nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, padded %v, part at %d (-want +got):\n%s", cfg.Kind, padded, lo, diff)
				}
				at += len(got.Labels)
			}
			if at != len(b.Labels) || at != b.Rows {
				t.Errorf("the parts have %d of %d labels", at, len(b.Labels))
			}
			k := int64(0)
			for ; k < 200*n; k += n { // until every draft has enough room
				d.Train(k, n)
			}
			if n := testing.AllocsPerRun(50, func() { d.Train(k, n); k += n }); n > 0 {
				t.Errorf("%s: %g allocations a batch", cfg.Kind, n)
			}
		}
	}
}

// TestGroupsAreOfRandomExamples checks that each draw group has the examples with its numbers, of
// any length. Examples are sorted only within a group.
func TestGroupsAreOfRandomExamples(t *testing.T) {
	const n, group, part, first = 100, 32, 8, 40
	task := must(t, adding, 5)
	b, err := task.NewDrawer(group, part).Train(first, n)
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < n; from += group {
		var want, got []string
		last := b.T
		for row := from; row < min(from+group, n); row++ {
			alone, err := task.One(task.Train(first + int64(row)))
			if err != nil {
				t.Fatal(err)
			}
			one := b.Slice(row, row+1)
			want = append(want, fmt.Sprint(alone.Target))
			text := slices.DeleteFunc(slices.Clone(one.Target), func(id int32) bool { return id == sequence.PadID || id == task.EOS() })
			got = append(got, fmt.Sprint(text))
			if one.T > last {
				t.Errorf("example %d has %d rows, more than the %d before it", row, one.T, last)
			}
			last = one.T
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("group from %d on (-want +got):\n%s", from, diff)
		}
	}
}

func TestSortedBatchesHaveLittlePadding(t *testing.T) {
	share := func(padded bool) float64 {
		task := must(t, with(adding, func(c *Config) { c.Padded = padded }), 5)
		b, err := task.NewDrawer(0, 64).Train(0, 4096)
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for k := range int64(4096) {
			w, _ := task.Width(task.Train(k))
			tokens += w
		}
		return float64(tokens) / float64(len(b.Labels))
	}
	if sorted, padded := share(false), share(true); sorted < 0.98 || padded > 0.7 {
		t.Errorf("%.3f of the rows are tokens, padded %.3f", sorted, padded)
	}
}

func BenchmarkSequenceDrawer(b *testing.B) {
	task, _ := tasks.New(adding, 1)
	d := task.NewDrawer(0, 64)
	for k := range b.N {
		d.Train(int64(k)*512, 512)
	}
}

// TestLaunch makes launches of several parts. Problems, their order and the count of rows stay the
// same. Launches of the same place have the same lengths.
func TestLaunch(t *testing.T) {
	const group, part, launch = 32, 4, 16
	task := must(t, adding, 5)
	want, err := task.NewDrawer(group, part).Train(64, 96)
	if err != nil {
		t.Fatal(err)
	}
	d := task.NewDrawer(group, part)
	d.Launch(launch, group/launch)
	got, err := d.Train(64, 96)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != want.Rows || want.Rows != len(want.Labels) || len(got.Labels) <= len(want.Labels) || got.Kept() != want.Kept() {
		t.Errorf("%d rows of %d, %d labels; in parts %d of %d, %d labels", got.Rows, len(got.Labels), got.Kept(), want.Rows, len(want.Labels), want.Kept())
	}
	for i := range want.B {
		a, b := got.Slice(i, i+1), want.Slice(i, i+1)
		if !slices.Equal(a.Target[:b.T], b.Target) || slices.ContainsFunc(a.Labels[b.T:], func(id int32) bool { return id >= 0 }) {
			t.Fatalf("example %d is another one", i)
		}
	}
	for k, rows := range got.Parts.Rows {
		if rows != got.Parts.Rows[k%(group/launch)] || rows < got.Slice(k*launch, k*launch+1).T {
			t.Errorf("launch %d has %d rows", k, rows)
		}
	}
}

// TestPack packs sequences. Problems and their order stay the same, no rows pad, and a launch's
// row positions are right.
func TestPack(t *testing.T) {
	const group, part, n = 32, 4, 90
	task := must(t, adding, 5)
	want, err := task.NewDrawer(group, part).Train(64, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, launch := range []int{0, 16} {
		d := task.NewDrawer(group, part)
		d.Pack()
		if launch > 0 {
			d.Launch(launch, 2)
		}
		got, err := d.Train(64, n)
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for i := range n {
			a, b := got.Slice(i, i+1), want.Slice(i, i+1)
			own := b.T
			for ; b.Labels[own-1] < 0; own-- {
			}
			tokens += own
			if a.T != own {
				t.Fatalf("example %d has %d rows for %d tokens", i, a.T, own)
			}
			if !slices.Equal(a.Target[:own], b.Target[:own]) || !slices.Equal(a.Labels[:own], b.Labels[:own]) || a.Kept() != b.Kept() {
				t.Fatalf("example %d is another one", i)
			}
		}
		if got.Rows != tokens || got.Kept() != want.Kept() || len(got.Labels) != tokens {
			t.Errorf("launches of %d: %d rows, %d of them for labels, of %d tokens", launch, got.Rows, len(got.Labels), tokens)
		}
		size := max(part, launch)
		for lo := 0; lo < n; lo += size {
			b := got.Slice(lo, min(lo+size, n))
			row := 0
			for e := range b.B {
				if int(b.Packing.Start[e]) != row {
					t.Fatalf("launches of %d: example %d of the launch from %d on begins at %d, not %d", launch, e, lo, b.Packing.Start[e], row)
				}
				for range b.Packing.Length[e] {
					if b.Packing.Example[row] != int32(e) {
						t.Fatalf("launches of %d: row %d of the launch from %d on is of example %d, not %d", launch, row, lo, b.Packing.Example[row], e)
					}
					row++
				}
			}
			if row != len(b.Target) || b.T != int(slices.Max(b.Packing.Length)) {
				t.Errorf("launches of %d: the launch from %d on has %d rows and %d at most, not %d and %d", launch, lo, len(b.Target), b.T, row, slices.Max(b.Packing.Length))
			}
		}
	}
}
