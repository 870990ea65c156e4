package track

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/disk"
)

// TestsFile is the name of the file with the tests during training: one a line, with a
// checksum. It does not depend on the clock, so identical runs have identical files;
// metrics.jsonl has the times of steps.
const TestsFile = "tests.jsonl"

// A Test is one line of tests.jsonl: results on held-out problems of some lengths after a step.
type Test struct {
	Step     int      `json:"step"` // steps done
	Examples int64    `json:"examples"`
	Lengths  []Length `json:"lengths"`           // shortest first
	Average  []Length `json:"average,omitempty"` // the same for the averaged weights, if there are any
}

// A Length is the result of a test on problems of one length.
type Length struct {
	Length     int      `json:"length"`            // digits of operands; for a file, tokens of the prompt
	Entries    int      `json:"entries,omitempty"` // entries of an array
	Samples    int      `json:"samples"`
	ExactMatch float64  `json:"exact_match"` // 0 to 1
	Loss       *float64 `json:"loss"`        // nats a label; nil: not finite
}

// Finite returns x for a Length, nil if x is not finite.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Tests returns the tests in a run directory up to a step. It ignores an unfinished last line,
// which a killed process may leave.
func Tests(dir damage.Path, step int) ([]Test, error) {
	path := dir.Join(TestsFile)
	text, err := path.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Test
	last, n := 0, 0
	for l := range strings.Lines(string(text)) {
		if !strings.HasSuffix(l, "\n") {
			break
		}
		n++
		var t Test
		err := damage.Unseal([]byte(l), &t)
		if err == nil && t.Step <= last {
			err = damage.Errorf("it is of step %d, the one before it of step %d", t.Step, last)
		}
		if err != nil {
			return nil, damage.Errorf("%s is damaged: line %d: %v; nothing was changed. Remove it to continue without these tests", path, n, err)
		}
		if last = t.Step; t.Step <= step {
			all = append(all, t)
		}
	}
	return all, nil
}

// A TestLog appends to tests.jsonl.
type TestLog struct{ f *os.File }

// OpenTests continues tests.jsonl after the given step, as Open continues the metrics. It
// returns the remaining tests.
func OpenTests(dir string, step int) (*TestLog, []Test, error) {
	kept, err := Tests(damage.At(dir), step)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	for _, t := range kept {
		text.Write(testLine(t))
	}
	f, err := restart(filepath.Join(dir, TestsFile), text.Bytes())
	if err != nil {
		return nil, nil, err
	}
	return &TestLog{f}, kept, nil
}

func testLine(t Test) []byte {
	text, err := json.Marshal(t)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return append(damage.Seal(text), '\n')
}

// Write appends a test.
func (l *TestLog) Write(t Test) error {
	_, err := l.f.Write(testLine(t))
	return err
}

// Sync flushes all tests to disk.
func (l *TestLog) Sync() error { return disk.Sync(l.f) }

// Close closes the file.
func (l *TestLog) Close() error { return l.f.Close() }
