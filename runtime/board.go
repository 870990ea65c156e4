package runtime

import (
	"github.com/arithlang/mlc/runtime/board"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// writeBoard writes a result of the run in dir where TensorBoard finds it.
func writeBoard(dir, folder string, result *eval.Result) error {
	rec, err := record.Read(dir)
	if err != nil {
		return err
	}
	last, err := track.Last(dir)
	if err != nil {
		return err
	}
	steps := 0
	if last != nil {
		steps = last.Step
	}
	return board.WriteResult(record.Results(dir, folder), result, steps, rec.Started)
}
