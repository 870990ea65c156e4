package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Closed is the bias of a masked cell. Next to any open cell its exponential is 0, and a row
// with only masked cells stays finite.
const Closed = -1e4

// Attention is the attention of one site, averaged over problems.
type Attention struct {
	Heads, Rows, Columns int
	Values               []float64 // [Heads, Rows, Columns]
}

// At returns the attention of head h from row i to column j.
func (a *Attention) At(h, i, j int) float64 { return a.Values[(h*a.Rows+i)*a.Columns+j] }

// A Result is the calibrated bias of a site, with its statistics.
type Result struct {
	Rows     int    `json:"rows"` // rows of the attention that was read
	Columns  int    `json:"columns"`
	Counted  int    `json:"counted"` // how many first rows count
	Extended [2]int `json:"extended"`
	Heads    []Head `json:"heads"`

	tables []Table
}

// A Head describes the lines of one head. A head without selected lines is transparent: its
// bias is 0.
type Head struct {
	Transparent bool     `json:"transparent"`
	Directions  []Family `json:"directions"`
}

// A Family is the lines along one direction.
type Family struct {
	Direction Direction `json:"direction"`
	Formula   string    `json:"line"`
	Mean      float64   `json:"mean"` // over the lines with an open cell
	Std       float64   `json:"std"`  // of the same lines, as a population
	Lines     []Line    `json:"lines"`
}

// A Line is a line with an open cell in the rows that count.
type Line struct {
	Number int     `json:"number"` // in the matrix that was read
	Value  float64 `json:"value"`
	Cells  int     `json:"cells"` // number of open cells
	Kept   bool    `json:"kept"`
}

// A Table is a bias along one direction, [heads, L+2] for L lines of the extended matrix. In
// each head, element 1 is the line with the smallest number; the first and the last element are
// for cells on no line.
type Table struct {
	Direction Direction
	Values    []float32
}

// Calibrate calibrates the bias of one site. Mean and standard deviation are over the lines
// along one direction of one head. A cell is open if its weight is not 0, or its logit is
// finite; masked cells, above the diagonal of self attention, are left out. A selected line
// adds its value as bias, with Less as the difference to the largest value along its direction; any
// other line masks its cells. If a cell lies on several directions, the largest bias counts. Less is
// in the paper's text. With one direction it does not change a softmax.
func (c *Config) Calibrate(l Lines, a Attention) (*Result, error) {
	r := &Result{Rows: a.Rows, Columns: a.Columns, Counted: min(l.Rows, a.Rows), Extended: [2]int{l.M, l.N}}
	for _, d := range l.Directions {
		size := a.Heads * (Direction(d).Len(l.M, l.N) + 2)
		r.tables = append(r.tables, Table{Direction: d, Values: make([]float32, size)})
	}
	for h := range a.Heads {
		var head Head
		for _, d := range l.Directions {
			f, err := c.family(d, &a, h, r.Counted)
			if err != nil {
				return nil, err
			}
			f.judge(l.Keep)
			head.Directions = append(head.Directions, *f)
		}
		head.Transparent = !r.extend(h, head.Directions, l.Paired, c.Less)
		r.Heads = append(r.Heads, head)
	}
	return r, nil
}

// family sums the lines along a direction in the first rows of a head.
func (c *Config) family(d Direction, a *Attention, h, rows int) (*Family, error) {
	low := d.lowest(rows)
	all := make([]Line, d.Len(rows, a.Columns))
	for i := range rows {
		for j := range a.Columns {
			x := a.At(h, i, j)
			switch {
			case math.IsNaN(x) || math.IsInf(x, 1) || math.IsInf(x, -1) && !c.Logits:
				return nil, fmt.Errorf("the attention of head %d in row %d to column %d is %g: the trained model is unusable", h, i, j, x)
			case c.Logits && math.IsInf(x, -1), !c.Logits && x == 0:
				continue // masked
			}
			line := &all[d.Number(i, j)-low]
			line.Value += x
			line.Cells++
		}
	}
	f := &Family{Direction: d, Formula: d.Formula()}
	for k, line := range all {
		if line.Cells == 0 {
			continue
		}
		line.Number = low + k
		if c.Mean {
			line.Value /= float64(line.Cells)
		}
		f.Lines = append(f.Lines, line)
	}
	return f, nil
}

// largest returns the line with the largest value, the first of several.
func (f *Family) largest() Line {
	return slices.MaxFunc(f.Lines, func(a, b Line) int { return cmp.Compare(a.Value, b.Value) })
}

// judge computes the statistics and selects the lines that stand out.
func (f *Family) judge(keep func(value, mean, std float64) bool) {
	n := float64(len(f.Lines))
	if n == 0 {
		return
	}
	for _, line := range f.Lines {
		f.Mean += line.Value
	}
	f.Mean /= n
	squares := 0.0
	for _, line := range f.Lines {
		d := line.Value - f.Mean
		squares += float64(d * d)
	}
	f.Std = math.Sqrt(squares / n)
	for k := range f.Lines {
		f.Lines[k].Kept = keep(f.Lines[k].Value, f.Mean, f.Std)
	}
}

// extend writes the selected lines of a head into its tables, and reports whether there are
// any. Otherwise the tables stay 0.
func (r *Result) extend(h int, families []Family, paired, less bool) (any bool) {
	m, n := r.Extended[0], r.Extended[1]
	for k, f := range families {
		values := r.tables[k].head(h, m, n)
		for i := range values {
			values[i] = Closed
		}
		largest := 0.0
		if less && len(f.Lines) > 0 {
			largest = f.largest().Value
		}
		first := f.Direction.lowest(m) - 1
		for _, line := range f.Lines {
			number, there := f.Direction.extended(line.Number, r.Columns, n, paired)
			at := number - first
			if line.Kept && there && at > 0 && at < len(values)-1 { // else the extended matrix is smaller and lacks the line
				values[at], any = float32(line.Value-largest), true
			}
		}
	}
	if !any {
		for k := range r.tables {
			clear(r.tables[k].head(h, m, n))
		}
	}
	return any
}

// head returns the part of a table for head h of an [m, n] matrix.
func (t *Table) head(h, m, n int) []float32 {
	size := t.Direction.Len(m, n) + 2
	return t.Values[h*size : (h+1)*size]
}

// Tables returns the bias, one table for each direction.
func (r *Result) Tables() []Table { return r.tables }

// Matrix returns the bias of every cell, [heads, M, N]: the largest value over the directions.
// It does not include the causal mask.
func (r *Result) Matrix() []float32 {
	m, n := r.Extended[0], r.Extended[1]
	out := make([]float32, 0, len(r.Heads)*m*n)
	for h := range r.Heads {
		for i := range m {
			for j := range n {
				x := float32(math.Inf(-1))
				for k := range r.tables {
					t := &r.tables[k]
					x = max(x, t.head(h, m, n)[t.Direction.Number(i, j)-t.Direction.lowest(m)+1])
				}
				out = append(out, x)
			}
		}
	}
	return out
}
