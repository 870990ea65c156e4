package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// Settings are what the counts of a Result depend on. Counts made under others are
// not taken over.
type Settings struct {
	Name            string `json:"name"`
	SpecHash        string `json:"spec_hash"`
	Seed            uint64 `json:"seed"`
	Mode            string `json:"mode"` // verify, greedy
	ExamplesTrained int64  `json:"examples_trained"`
	Samples         int    `json:"samples"`
	Pad             [2]int `json:"pad"` // to, step
}

// A Result is eval/result.json. Fractions are means over cells, absent where there
// is no such cell.
type Result struct {
	Settings
	SecondsTrain float64            `json:"seconds_train"`
	SecondsEval  float64            `json:"seconds_eval"`
	ID           *float64           `json:"id,omitempty"`     // operands no longer than trained on
	OOD          *float64           `json:"ood,omitempty"`    // longer, up to 100 digits
	OOD100       *float64           `json:"ood100,omitempty"` // more than 100 digits
	ByLength     map[string]float64 `json:"by_length"`
	ByCell       []Cell             `json:"by_cell"`
}

// A Cell is the count for operands of I and J digits; J is 0 for one operand. In
// JSON it is [i, j, samples, correct].
type Cell struct{ I, J, Samples, Correct int }

// MarshalJSON implements json.Marshaler.
func (c Cell) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int{c.I, c.J, c.Samples, c.Correct})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cell) UnmarshalJSON(b []byte) error {
	var v [4]int
	err := json.Unmarshal(b, &v)
	*c = Cell{I: v[0], J: v[1], Samples: v[2], Correct: v[3]}
	return err
}

// Exact is the fraction of right answers.
func (c Cell) Exact() float64 { return float64(c.Correct) / float64(max(c.Samples, 1)) }

const resultFile = "eval/result.json"

// load returns the result in a run directory; nil if there is none that can be
// read, which costs no more than doing it again.
func load(dir string) (*Result, error) {
	text, err := os.ReadFile(filepath.Join(dir, resultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if json.Unmarshal(text, r) != nil {
		return nil, nil
	}
	return r, nil
}

// summarise fills in what follows from the cells. Trained is the length of the
// longest operands of training.
func (r *Result) summarise(trained int) {
	r.ByLength = map[string]float64{}
	var id, ood, ood100 []float64
	for _, c := range r.ByCell {
		r.ByLength[strconv.Itoa(c.I)] = c.Exact()
		switch longest := max(c.I, c.J); {
		case longest <= trained:
			id = append(id, c.Exact())
		case longest <= 100:
			ood = append(ood, c.Exact())
		default:
			ood100 = append(ood100, c.Exact())
		}
	}
	r.ID, r.OOD, r.OOD100 = mean(id), mean(ood), mean(ood100)
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

// save writes eval/result.json and eval/grid.csv.
func (r *Result) save(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "eval"), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := ckpt.WriteFile(filepath.Join(dir, resultFile), append(text, '\n')); err != nil {
		return err
	}
	var table bytes.Buffer
	table.WriteString("i,j,samples,correct,exact_match\n")
	for _, c := range r.ByCell {
		fmt.Fprintf(&table, "%d,%d,%d,%d,%g\n", c.I, c.J, c.Samples, c.Correct, c.Exact())
	}
	return ckpt.WriteFile(filepath.Join(dir, "eval", "grid.csv"), table.Bytes())
}

// Table is the result for people: a line a length.
func (r *Result) Table() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%7s %9s %12s\n", "digits", "problems", "exact match")
	for _, c := range r.ByCell {
		// Rounded down: only all of them are 100.0 %.
		fmt.Fprintf(&b, "%7d %9d %10.1f %%\n", c.I, c.Samples, float64(1000*c.Correct/max(c.Samples, 1))/10)
	}
	return b.String()
}
