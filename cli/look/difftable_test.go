package look

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/diff"
)

// TestDiffTable prints a line for each kernel, and the totals.
func TestDiffTable(t *testing.T) {
	equal := comparison{Kernel: "a", Elements: 8, Buffer: "out", Index: []int{1, 2}, Length: 3, Tolerance: 1e-6}
	near := equal
	near.Kernel, near.Inexact, near.Abs, near.Rel = "b", 2, 1e-7, 1e-3
	out := near
	out.Kernel, out.Out, out.Got, out.Want = "c", true, number(math.NaN()), 2
	failed := comparison{Kernel: "d", Err: "no such kernel", Length: 5, Out: true}
	for _, c := range []struct {
		name string
		rows []comparison
		bits bool
		want []string // words of each line
		end  error
	}{
		{"equal", []comparison{equal}, true, []string{"a 0.0e+00 0.0e+00 1.0e-06 equal out[1, 2] at length 3", "1 kernels are within tolerance, and have the bits of the interpreter"}, nil},
		{"equal, whose bits nobody asks for", []comparison{equal}, false, []string{"a 0.0e+00 0.0e+00 1.0e-06 equal out[1, 2] at length 3", "1 kernels are within tolerance"}, nil},
		{"near", []comparison{equal, near}, true, []string{"a 0.0e+00 0.0e+00 1.0e-06 equal out[1, 2] at length 3", "b 1.0e-07 1.0e-03 1.0e-06 2 of 8 differ out[1, 2] at length 3", "2 kernels are within tolerance"}, nil},
		{"out", []comparison{equal, out, failed}, true, []string{"a 0.0e+00 0.0e+00 1.0e-06 equal out[1, 2] at length 3", "c 1.0e-07 1.0e-03 1.0e-06 2 of 8 differ out[1, 2] at length 3: NaN, want 2", "d failed at length 5: no such kernel", "2 of 3 kernels differ too much: c, d"}, shell.ErrShown},
	} {
		var b bytes.Buffer
		table := newDiffTable(&shell.Shell{Out: &b}, []*diff.Case{})
		for _, r := range c.rows {
			if err := table.row(r); err != nil {
				t.Fatal(err)
			}
		}
		err := table.end(c.bits)
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		want := append([]string{"kernel error relative tolerance bits where"}, c.want...)
		if strings.Join(got, "\n") != strings.Join(want, "\n") || !errors.Is(err, c.end) {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		b.Reset()
		table = newDiffTable(&shell.Shell{Out: &b, JSON: true}, nil)
		for _, r := range c.rows {
			if err := table.row(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.end(c.bits); !errors.Is(err, c.end) || strings.Count(b.String(), "\n") != len(c.rows) {
			t.Errorf("%s as JSON: %v\n%s", c.name, err, b.String())
		}
	}
	for x, want := range map[number]string{0.5: "0.5", number(math.Inf(1)): `"+Inf"`, number(math.Inf(-1)): `"-Inf"`} {
		if got, err := x.MarshalJSON(); string(got) != want || err != nil {
			t.Errorf("%v is %s, %v, want %s", float64(x), got, err, want)
		}
	}
	if got, _ := number(math.NaN()).MarshalJSON(); string(got) != `"NaN"` {
		t.Errorf("what is no number is %s", got)
	}
}
