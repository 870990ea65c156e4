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
	"github.com/arithlang/mlc/runtime/track"
)

// Settings are all that the counts of a Result depend on. Counts under other Settings are
// discarded.
type Settings struct {
	Name            string `json:"name"`
	SpecHash        string `json:"spec_hash"`
	Seed            uint64 `json:"seed"`
	Mode            string `json:"mode"`   // verify, greedy
	Metric          string `json:"metric"` // exact_match, first_token
	ExamplesTrained int64  `json:"examples_trained"`
	Samples         int    `json:"samples"`
	Pad             [2]int `json:"pad"`               // to, step
	Times           int    `json:"times,omitempty"`   // runs of the loop, if the model has one
	Tests           string `json:"tests,omitempty"`   // file with the problems, and its SHA-256; "": the spec's
	Weights         string `json:"weights,omitempty"` // best, average or best-average; "": the last trained ones
}

// A Result is the content of eval/result.json. Fractions are means over cells, absent if there
// is no such cell (McLeish et al., arXiv:2405.17399, section 3).
type Result struct {
	Settings
	SecondsTrain float64            `json:"seconds_train"`
	SecondsEval  float64            `json:"seconds_eval"`
	Trained      *[2]int            `json:"trained,omitempty"`          // longest problems of training: the corner of ID
	ID           *float64           `json:"id,omitempty"`               // see Mean
	OOD          *float64           `json:"ood,omitempty"`              // …
	OOD100       *float64           `json:"ood100,omitempty"`           // …
	Overall      *float64           `json:"overall,omitempty"`          // …
	Over         map[string]int     `json:"over,omitempty"`             // number of cells by name of a mean; Overall has no entry
	Second       string             `json:"second,omitempty"`           // unit of a cell's second size, if that is not a length
	Tested       string             `json:"tested,omitempty"`           // which problems of a file were tested; see task.Tested
	TrainedOn    int                `json:"trained_on,omitempty"`       // estimate of the tested problems that training has drawn
	MeanRuns     float64            `json:"mean_runs,omitempty"`        // mean runs of the loop over problems, in ModeSettle
	ByLength     map[string]float64 `json:"by_length,omitzero"`         // cells with two operands of the same length
	ByPrompt     map[string]float64 `json:"by_prompt_length,omitempty"` // problems of a file, by the tokens of the prompt
	ByCell       []Cell             `json:"by_cell"`                    // ordered by the first, then by the second length
	Text         Text               `json:"text,omitzero"`              // of a model of text, in place of all means and cells
}

// A Text is the loss of a model of text.
type Text struct {
	Of     string  `json:"of"`         // the part of the text that was read
	Tokens int     `json:"characters"` // that were predicted
	Loss   float64 `json:"loss"`       // mean, in nats a character
	Bits   float64 `json:"bits"`       // the same in bits
}

func (t Text) String() string {
	return fmt.Sprintf("%s a character, of %s characters of %s", track.Nats(t.Loss), track.Thousands(t.Tokens), t.Of)
}

// A Cell counts the right answers of a Pair of lengths. In JSON it is [i, j, samples, correct],
// or [i, j, samples, correct, runs] in ModeSettle.
type Cell struct {
	Pair
	Samples, Correct int
	Runs             int // total runs of the loop over all problems
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

// Fraction is the fraction of right answers.
func (c Cell) Fraction() float64 { return float64(c.Correct) / float64(max(c.Samples, 1)) }

// inOrder compares cells in the order of the result.
func inOrder(a, b Cell) int { return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J)) }

// File is the name of a result in its directory.
const File = "result.json"

// gridFile is the same result for spreadsheets.
const gridFile = "grid.csv"

// Load returns the result in a directory, or nil without one. A damaged result is an error: it
// may be hours of work, and gridFile has the same counts.
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

// add inserts the cells that are not there yet.
func (r *Result) add(cells []Cell) {
	for _, c := range cells {
		if at, there := r.find(c.Pair); !there {
			r.ByCell = slices.Insert(r.ByCell, at, c)
		}
	}
}

// find returns the index of a cell, or the index where it would be.
func (r *Result) find(p Pair) (at int, there bool) {
	return slices.BinarySearchFunc(r.ByCell, Cell{Pair: p}, inOrder)
}

func (r *Result) has(p Pair) bool {
	_, there := r.find(p)
	return there
}

// hundred is the number of digits above which OOD100 counts cells, if both operands are equally
// long.
const hundred = 100

// summarise computes all that follows from the cells and the longest problems of training.
// Means cover the cells in over, or all cells if over is nil.
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

// grid returns the content of grid.csv, one line a cell.
func (r *Result) grid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "i,j,samples,correct,%s\n", r.Metric)
	for _, c := range r.ByCell {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%g\n", c.I, c.J, c.Samples, c.Correct, c.Fraction())
	}
	return b.String()
}

// save writes grid.csv first, then result.json.
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
