package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"

	. "github.com/arithlang/mlc/runtime/task"
)

// TestRecurrences counts lengths in written problems.
func TestRecurrences(t *testing.T) {
	for _, c := range []struct {
		cfg     Config
		problem string
		want    config.Length
	}{
		{adding, "12+34567", config.Length{Digits: 5, Operands: 2, Prompt: 9}},
		{with(adding, func(c *Config) { c.DigitsHi, c.Pad = 6, Pad{To: 8} }), "12+345", config.Length{Digits: 3, Operands: 2, Prompt: 18}},
		{with(adding, func(c *Config) { c.Interleave = true }), "12+345", config.Length{Digits: 3, Operands: 2, Prompt: 8}},
		{kindOfSequence("copy"), "2024", config.Length{Digits: 4, Operands: 1, Prompt: 5}},
		{with(kindOfSequence("copy"), func(c *Config) { c.Started = true }), "2024", config.Length{Digits: 4, Operands: 1, Prompt: 6}},
		{oring, "01+000", config.Length{Digits: 3, Operands: 2, Prompt: 7}},
		{sorting, "75,2,75", config.Length{Digits: 2, Operands: 3, Prompt: 14}},
		{Config{Kind: "file", Sequence: true, Separator: ": ", Problems: "ab c: 12\n"}, "ab c", config.Length{Digits: 4, Operands: 1, Prompt: 6}},
	} {
		for _, r := range []config.Recurrences{{Digits: 1}, {Operands: 1}, {Prompt: 1}, {Plus: -2, Digits: 2, Operands: 3, Prompt: 4}, {Plus: -100, Digits: 1}} {
			cfg := c.cfg
			cfg.Recurrences = r
			task := must(t, cfg, 1)
			p, err := task.Parse(c.problem)
			if err != nil {
				t.Fatal(err)
			}
			want := max(1, r.Plus+r.Digits*c.want.Digits+r.Operands*c.want.Operands+r.Prompt*c.want.Prompt)
			if got := task.Recurrences(p); got != want {
				t.Errorf("%s %s has %d recurrences by %s, want %d", cfg.Kind, c.problem, got, r, want)
			}
		}
	}
}

// TestLaunchesByLength checks that every example of a batch is at its place in one launch.
// Examples of a launch have equal numbers of recurrences.
func TestLaunchesByLength(t *testing.T) {
	const n, part, group = 72, 4, 24
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"addition", with(adding, func(c *Config) { c.DigitsHi, c.RandomPad = 5, 0.2 })},
		{"padded", with(adding, func(c *Config) { c.DigitsHi, c.Padded = 5, true })},
		{"mixed", with(adding, func(c *Config) { c.Kind, c.Of, c.DigitsHi = "mixed", []string{"copy", "successor", "or"}, 5 })},
	} {
		for _, pack := range []bool{false, true} {
			for _, launch := range []int{0, 12} {
				t.Run(fmt.Sprintf("%s, packed %t, launches of %d", c.name, pack, launch), func(t *testing.T) {
					plain := must(t, c.cfg, 5)
					c.cfg.Recurrences = config.Recurrences{Plus: 1, Digits: 1}
					task := must(t, c.cfg, 5)
					d := task.NewDrawer(group, part)
					if pack {
						d.Pack()
					}
					if launch > 0 {
						d.Launch(launch, 2)
					}
					got, err := d.Train(64, n)
					if err != nil {
						t.Fatal(err)
					}
					if !pack {
						other := task.NewDrawer(group, part)
						other.Launch(max(part, launch), 0)
						if want, err := other.Train(64, n); err != nil || !slices.Equal(got.Labels, want.Labels) {
							t.Errorf("launches that may run as one are longer than others, %v", err)
						}
					}
					sizes := map[int]bool{}
					for first := 0; first < n; first += group {
						var texts, want []string
						for k := range group {
							p := plain.Train(64 + int64(first+k))
							want = append(want, plain.Written(p))
						}
						for lo := first; lo < first+group; {
							hi := got.Launch(lo, max(part, launch))
							sizes[hi-lo] = true
							b := got.Slice(lo, hi)
							for k := lo; k < hi; k++ {
								text := textOf(t, task, &b, k-lo, pack)
								texts = append(texts, text)
								if runs := longestDigits(text) + 1; got.Recurrences[k] != runs || got.Recurrences[k] != got.Recurrences[lo] {
									t.Errorf("%s has %d recurrences, and the first of its launch has %d", text, got.Recurrences[k], got.Recurrences[lo])
								}
							}
							lo = hi
						}
						slices.Sort(texts)
						slices.Sort(want)
						if !slices.Equal(texts, want) {
							t.Fatalf("examples from %d on are\n%q, want\n%q", first, texts, want)
						}
					}
					if len(sizes) < 2 {
						t.Errorf("all launches have as many examples: %v", sizes)
					}
				})
			}
		}
	}
}

// textOf returns the text of a launch's example, with spaces for fillers.
func textOf(t *testing.T, task *Task, b *Batch, k int, packed bool) string {
	lo, hi := k*b.T, (k+1)*b.T
	if packed {
		lo = int(b.Packing.Start[k])
		hi = lo + int(b.Packing.Length[k])
		for row := lo; row < hi; row++ {
			if b.Packing.Example[row] != int32(k) {
				t.Fatalf("row %d is of example %d, not %d", row, b.Packing.Example[row], k)
			}
		}
	}
	var text strings.Builder
	for row := lo; row < hi; row++ {
		text.WriteString(RawSymbols(task)[b.Target[row]])
	}
	return strings.TrimRight(text.String(), " $")
}

// longestDigits returns the digits of the longest number before the =.
func longestDigits(text string) int {
	most := 0
	prompt, _, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), "=")
	for _, x := range strings.Split(prompt, "+") {
		most = max(most, len(x))
	}
	return most
}
