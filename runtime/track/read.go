package track

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/damage"
)

// All returns the reports in a run directory. A process may be training in it.
func All(dir damage.Path) ([]Report, error) {
	rows, _, err := readRows(dir, math.MaxInt) // first, since rows are written last
	if err != nil {
		return nil, err
	}
	kept, err := read(dir, math.MaxInt)
	if err == nil && len(rows) > len(kept) {
		err = damage.Errorf("%s is damaged: it has %d reports, and %s has %d; %s", dir.Join(File), len(kept), dir.Join(csvFile), len(rows), mend)
	}
	return kept, err
}

// Last returns the last report in a run directory, or nil.
func Last(dir string) (*Report, error) {
	all, err := All(damage.At(dir))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[len(all)-1], nil
}

// Until returns the reports up to a step that has a checkpoint: all of them were written before
// the checkpoint.
func Until(path string, step int) ([]Report, error) {
	dir := damage.At(path)
	kept, err := read(dir, step)
	if err != nil {
		return nil, err
	}
	rows, _, err := readRows(dir, step)
	if err != nil || rows == nil || len(rows) == len(kept) {
		return kept, err
	}
	return nil, damage.Errorf("%s and %s do not have as many reports up to step %d: %d and %d. One of them is damaged; %s",
		dir.Join(File), dir.Join(csvFile), step, len(kept), len(rows), mend)
}

// mend is the advice for damaged metrics.
const mend = "nothing was changed. Repair it from the other one, which has the same content, or remove both to continue without them"

// read returns the reports up to a step, and checks that metrics.csv agrees. It ignores an
// unfinished last line, which a killed process may leave.
func read(dir damage.Path, step int) ([]Report, error) {
	path := dir.Join(File)
	rows, full, err := readRows(dir, step) // first: a training process writes rows last
	if err != nil {
		return nil, err
	}
	text, err := path.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept []Report
	last, n := -1, 0
	for l := range strings.Lines(string(text)) {
		if !strings.HasSuffix(l, "\n") {
			break
		}
		n++
		var r Report
		if err := damage.StrictJSON([]byte(l), &r); err != nil {
			return nil, damage.Errorf("%s is damaged: line %d: %v; %s", path, n, err, mend)
		}
		if r.Step <= last {
			return nil, damage.Errorf("%s is damaged: line %d is of step %d, the one before it of step %d; %s", path, n, r.Step, last, mend)
		}
		last = r.Step
		if r.Step > step {
			continue
		}
		if len(kept) < len(rows) && rows[len(kept)] != r.csv(full) {
			return nil, damage.Errorf("%s or %s is damaged: line %d and line %d disagree; %s", path, dir.Join(csvFile), n, n+1, mend)
		}
		kept = append(kept, r)
	}
	if len(rows) > len(kept) {
		return nil, damage.Errorf("%s is damaged: it has %d reports, %s has %d; %s", path, len(kept), dir.Join(csvFile), len(rows), mend)
	}
	return kept, nil
}

// readRows returns the rows of metrics.csv up to a step. It returns nil if there is no such
// file, or if another version wrote other columns. Full says that the columns are those for
// full reports.
func readRows(dir damage.Path, step int) (rows []string, full bool, err error) {
	path := dir.Join(csvFile)
	text, err := path.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rows = []string{}
	n := 0
	for l := range strings.Lines(string(text)) {
		if !strings.HasSuffix(l, "\n") {
			break
		}
		if n++; n == 1 {
			full = l == fullColumns
			switch {
			case !strings.HasPrefix(l, "step,"):
				return nil, false, damage.Errorf("%s is damaged: line 1 does not name its columns; %s", path, mend)
			case !full && l != columns:
				return nil, false, nil
			}
			continue
		}
		first, _, _ := strings.Cut(l, ",")
		at, err := strconv.Atoi(first)
		if err != nil {
			return nil, false, damage.Errorf("%s is damaged: line %d: %.20q is no number of steps; %s", path, n, first, mend)
		}
		if at <= step {
			rows = append(rows, l)
		}
	}
	return rows, full, nil
}
