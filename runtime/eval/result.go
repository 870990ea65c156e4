package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
)

// Settings are what the counts of a Result depend on. Counts made under others are
// not taken over.
type Settings struct {
	Name            string `json:"name"`
	SpecHash        string `json:"spec_hash"`
	Seed            uint64 `json:"seed"`
	Mode            string `json:"mode"`   // verify, greedy
	Metric          string `json:"metric"` // exact_match, first_token
	ExamplesTrained int64  `json:"examples_trained"`
	Samples         int    `json:"samples"`
	Pad             [2]int `json:"pad"`               // to, step
	Times           int    `json:"times,omitempty"`   // runs of the loop, where there is one
	Weights         string `json:"weights,omitempty"` // best, average or best-average; "": the last ones that were trained
}

// A Result is eval/result.json. Fractions are means over cells, absent where there
// is no such cell (McLeish et al., arXiv:2405.17399, section 3).
type Result struct {
	Settings
	SecondsTrain float64            `json:"seconds_train"`
	SecondsEval  float64            `json:"seconds_eval"`
	Trained      *[2]int            `json:"trained,omitempty"`          // the longest problems of training: ends of the square of ID
	ID           *float64           `json:"id,omitempty"`               // see Mean
	OOD          *float64           `json:"ood,omitempty"`              // …
	OOD100       *float64           `json:"ood100,omitempty"`           // …
	Overall      *float64           `json:"overall,omitempty"`          // …
	Over         map[string]int     `json:"over,omitempty"`             // by the name of a mean: how many cells it is over; none of those over problems
	Second       string             `json:"second,omitempty"`           // what the second length of a cell counts, where that is no length
	Tested       string             `json:"tested,omitempty"`           // of a file: which of its problems these are, as task.Tested says
	TrainedOn    int                `json:"trained_on,omitempty"`       // about how many of the problems of trained lengths were trained on
	MeanRuns     float64            `json:"mean_runs,omitempty"`        // of the loop, over problems, where a test takes as many as an answer needs
	ByLength     map[string]float64 `json:"by_length,omitzero"`         // where both have the same
	ByPrompt     map[string]float64 `json:"by_prompt_length,omitempty"` // of a file: by the tokens of the prompt
	ByCell       []Cell             `json:"by_cell"`                    // ordered by the first, then by the second length
}

// A Cell is the count of a Pair of lengths. In JSON it is [i, j, samples, correct], and
// where a test takes as many runs of the loop as an answer needs, [i, j, samples,
// correct, runs].
type Cell struct {
	Pair
	Samples, Correct int
	Runs             int // of the loop, by all problems
}

// MarshalJSON implements json.Marshaler.
func (c Cell) MarshalJSON() ([]byte, error) {
	v := []int{c.I, c.J, c.Samples, c.Correct}
	if c.Runs > 0 {
		v = append(v, c.Runs)
	}
	return json.Marshal(v)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cell) UnmarshalJSON(b []byte) error {
	var v [5]int
	err := json.Unmarshal(b, &v)
	*c = Cell{Pair{v[0], v[1]}, v[2], v[3], v[4]}
	return err
}

// Fraction is that of the right answers.
func (c Cell) Fraction() float64 { return float64(c.Correct) / float64(max(c.Samples, 1)) }

// inOrder compares cells as the result lists them.
func inOrder(a, b Cell) int { return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J)) }

// File is the name of a result in its directory.
const File = "result.json"

// gridFile is beside it, for spreadsheets.
const gridFile = "grid.csv"

// Load returns the result in a directory; nil if there is none. One that is damaged is
// an error: it may be hours of work, and its other file says what it said.
func Load(dir damage.Path) (*Result, error) {
	path := dir.Join(File)
	r := new(Result)
	err := path.ReadSealed(r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case damage.Is(err):
		return nil, damage.Errorf("%v; the counts are also in %s. Move %s away to test again", err, dir.Join(gridFile), path)
	case err != nil:
		return nil, err
	}
	return r, nil
}

// add takes in those cells that are not there yet.
func (r *Result) add(cells []Cell) {
	for _, c := range cells {
		if at, there := r.find(c.Pair); !there {
			r.ByCell = slices.Insert(r.ByCell, at, c)
		}
	}
}

// find is where a cell is, or would be.
func (r *Result) find(p Pair) (at int, there bool) {
	return slices.BinarySearchFunc(r.ByCell, Cell{Pair: p}, inOrder)
}

func (r *Result) has(p Pair) bool {
	_, there := r.find(p)
	return there
}

// hundred is the number of digits above which only cells with two operands of equal
// length are counted, apart.
const hundred = 100

// summarise fills in what follows from the cells and the longest problems of
// training. Means are over those cells that are listed, over all without a list.
func (r *Result) summarise(trained Pair, over []Pair) {
	listed := map[Pair]bool{}
	for _, p := range over {
		listed[p] = true
	}
	r.Trained = &[2]int{trained.I, trained.J}
	r.ByLength = map[string]float64{}
	var id, ood, ood100 []float64
	problems, runs := 0, 0
	for _, c := range r.ByCell {
		equal := c.J == 0 || c.I == c.J
		if equal && r.Second == "" {
			r.ByLength[strconv.Itoa(c.I)] = c.Fraction()
		}
		if over != nil && !listed[c.Pair] {
			continue
		}
		problems, runs = problems+c.Samples, runs+c.Runs
		switch longest := max(c.I, c.J); {
		case c.I <= trained.I && c.J <= trained.J:
			id = append(id, c.Fraction())
		case longest <= hundred:
			ood = append(ood, c.Fraction())
		case equal:
			ood100 = append(ood100, c.Fraction())
		}
	}
	r.MeanRuns = float64(runs) / float64(max(problems, 1))
	r.ID, r.OOD, r.OOD100 = mean(id), mean(ood), mean(ood100)
	r.Over = map[string]int{ID: len(id), OOD: len(ood), OOD100: len(ood100)}
	maps.DeleteFunc(r.Over, func(_ string, n int) bool { return n == 0 })
}

// total counts the problems of all cells.
func (r *Result) total() (all Cell) {
	for _, c := range r.ByCell {
		all.Samples += c.Samples
		all.Correct += c.Correct
	}
	return all
}

func mean(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	sum /= float64(len(x))
	return &sum
}

// grid is grid.csv: a line a cell.
func (r *Result) grid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "i,j,samples,correct,%s\n", r.Metric)
	for _, c := range r.ByCell {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%g\n", c.I, c.J, c.Samples, c.Correct, c.Fraction())
	}
	return b.String()
}

// save writes grid.csv and result.json, which says how far both are.
func (r *Result) save(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := ckpt.WriteFile(filepath.Join(dir, gridFile), []byte(r.grid())); err != nil {
		return err
	}
	return ckpt.WriteFile(filepath.Join(dir, File), append(damage.Seal(text), '\n'))
}
