package record

import (
	"fmt"
	"path/filepath"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// Last returns an error if the run in dir once had a later checkpoint than the newest one
// there. That is at path, after so many steps and examples. Only the last checkpoint represents
// the run: an older one would be mistaken for it, and its result would replace the run's
// result. Three files can mention a later checkpoint: the pipeline's record of a finished
// stage, the metrics at the end of the budget, and the test's result.
func (r *Record) Last(dir, path string, steps int, examples int64) error {
	lost := func(format string, args ...any) error {
		return fmt.Errorf("%s: its last checkpoint is missing: "+format+", and the newest one, %s, is of step %d. Bring the last one back, or train it again with train --resume --out %[1]s",
			append(append([]any{dir}, args...), path, steps)...)
	}
	if r.Stage != "" {
		whole := filepath.Dir(filepath.Clean(dir))
		if of, err := Read(whole); err == nil {
			for _, s := range of.Stages {
				if s.Name == r.Stage && s.Last != "" && s.Last != filepath.Base(path) {
					return lost("by %s it is %s", Path(whole), s.Last)
				}
			}
		}
	}
	if last, err := track.Last(dir); err != nil {
		return err
	} else if last != nil && last.Step > steps && atEnd(r.Budget, last) && !lock.Held(damage.At(dir)) {
		return lost("by %s it is of step %d", filepath.Join(dir, track.File), last.Step)
	}
	var result struct {
		Examples int64 `json:"examples_trained"`
	}
	file := damage.At(Results(dir, "")).Join(eval.File)
	if err := file.ReadSealed(&result); err == nil && result.Examples > examples { // other errors are reported where the result is used
		return lost("by %s it is after %d examples", file, result.Examples)
	}
	return nil
}

// atEnd reports whether r was written at the end of budget b; budgets of time alone never end
// here.
func atEnd(b train.Budget, r *track.Report) bool {
	return b.Steps > 0 && r.Step >= b.Steps || b.Examples > 0 && r.Examples >= b.Examples
}
