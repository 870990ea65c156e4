package calibrate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
)

// A peerFile holds calibrations by bench/peers/calibration.py, which walks lines from cell to
// cell instead of numbering them.
type peerFile struct {
	Step      float64 // unit of the attention, so that sums are exact
	Attention map[string]struct {
		Shape  []int
		Values []*float64 // in units of Step; nil is a masked logit
	}
	Cases []peerCase
}

type peerCase struct {
	Name, Of string
	Options  struct {
		Directions   [][2]int
		Rows         int
		Extended     [2]int
		Kappa, Least float64
		Mean, Logits bool
	}
	Heads []struct {
		Transparent bool
		Directions  []struct {
			Mean, Std   float64
			Lines, Kept int
		}
		Cells [][3]float64 // row, column and bias of open cells
	}
}

// peerTolerance is relative: the precision of the file, or of float32.
const peerTolerance = 1e-7

func readPeers(t *testing.T) *peerFile {
	t.Helper()
	data, err := os.ReadFile("testdata/peers.json")
	if err != nil {
		t.Fatal(err)
	}
	f := new(peerFile)
	if err := json.Unmarshal(data, f); err != nil || len(f.Cases) == 0 {
		t.Fatalf("%d cases: %v", len(f.Cases), err)
	}
	return f
}

// TestPeers compares calibrations with calibrations by walks, for random attention and for a
// trained model's.
func TestPeers(t *testing.T) {
	f := readPeers(t)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, d := range c.compare(t, f) {
				t.Error(d)
			}
		})
	}
}

// TestPeersTellOptionsApart makes sure that the comparison notices a change of any option.
func TestPeersTellOptionsApart(t *testing.T) {
	f := readPeers(t)
	for what, change := range map[string]func(c *peerCase){
		"sum or mean":     func(c *peerCase) { c.Options.Mean = !c.Options.Mean },
		"weight or logit": func(c *peerCase) { c.Options.Logits = !c.Options.Logits },
		"row":             func(c *peerCase) { c.Options.Rows++ },
		"threshold":       func(c *peerCase) { c.Options.Kappa += 0.5 },
		"mirrored":        func(c *peerCase) { mirror(c.Options.Directions) },
		"order":           func(c *peerCase) { slices.Reverse(c.Options.Directions) },
	} {
		t.Run(what, func(t *testing.T) {
			differ := 0
			for _, c := range f.Cases {
				c.Options.Directions = slices.Clone(c.Options.Directions)
				change(&c)
				if len(c.compare(t, f)) > 0 {
					differ++
				}
			}
			if differ < 5 {
				t.Errorf("only %d of %d calibrations differ", differ, len(f.Cases))
			}
		})
	}
}

func mirror(directions [][2]int) {
	for k := range directions {
		directions[k][1] *= -1
	}
}

// compare calibrates and lists the differences of the result. An error is a difference.
func (c *peerCase) compare(t *testing.T, f *peerFile) (diffs []string) {
	t.Helper()
	o := c.Options
	r, err := (&Config{Mean: o.Mean, Logits: o.Logits}).Calibrate(Lines{
		Directions: o.Directions, Rows: o.Rows, M: o.Extended[0], N: o.Extended[1],
		Keep: func(value, mean, std float64) bool { return value >= mean+o.Kappa*std && value >= o.Least },
	}, f.attention(c.Of))
	if err != nil {
		return []string{err.Error()}
	}
	differ := func(format string, args ...any) { diffs = append(diffs, fmt.Sprintf(format, args...)) }
	matrix, size := r.Matrix(), o.Extended[0]*o.Extended[1]
	for h, want := range c.Heads {
		head := r.Heads[h]
		if head.Transparent != want.Transparent {
			differ("head %d is transparent: %v", h, head.Transparent)
		}
		for k, w := range want.Directions {
			got := head.Directions[k]
			kept := len(slices.DeleteFunc(slices.Clone(got.Lines), func(l Line) bool { return !l.Kept }))
			if apart(got.Mean, w.Mean) || apart(got.Std, w.Std) || len(got.Lines) != w.Lines || kept != w.Kept {
				differ("head %d: of %d lines %s, of mean %g and deviation %g, %d are kept, want %v", h, len(got.Lines), got.Formula, got.Mean, got.Std, kept, w)
			}
		}
		outside := float32(Closed)
		if want.Transparent {
			outside = 0
		}
		cells := slices.Repeat([]float32{outside}, size)
		for _, cell := range want.Cells {
			cells[int(cell[0])*o.Extended[1]+int(cell[1])] = float32(cell[2])
		}
		for n, w := range cells {
			if got := matrix[h*size+n]; apart(float64(got), float64(w)) {
				differ("head %d: the bias of row %d, column %d is %g, want %g", h, n/o.Extended[1], n%o.Extended[1], got, w)
			}
		}
	}
	return diffs
}

func apart(got, want float64) bool {
	return !(math.Abs(got-want) <= peerTolerance*max(1, math.Abs(want)))
}

func (f *peerFile) attention(name string) Attention {
	of := f.Attention[name]
	a := Attention{Heads: of.Shape[0], Rows: of.Shape[1], Columns: of.Shape[2]}
	for _, x := range of.Values {
		value := math.Inf(-1)
		if x != nil {
			value = *x * f.Step
		}
		a.Values = append(a.Values, value)
	}
	return a
}
