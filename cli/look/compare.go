package look

import (
	"fmt"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/track"
)

// CompareAll prints the size of each training of a sweep, one a line. Findings are printed,
// and end it with shell.ErrShown.
func CompareAll(sh *shell.Shell, all []project.Training) error {
	wide := len("training")
	for _, t := range all {
		wide = max(wide, len(t.Point.Name))
	}
	var shown shell.Findings
	for i, t := range all {
		if i == 0 && !sh.JSON {
			fmt.Fprintf(sh.Out, "%-*s  %13s  %11s  %9s  %10s  %7s\n", wide, "training", "parameters", "step (FLOP)", "memory", "per thread", "kernels")
		}
		if err := shown.Unless(compareOne(sh, t, wide)); err != nil {
			return err
		}
	}
	return shown.Err()
}

func compareOne(sh *shell.Shell, t project.Training, wide int) error {
	whole, err := project.Compile(sh, t)
	if err != nil {
		return err
	}
	if len(whole.Stages) > 0 && !sh.JSON {
		if _, err := fmt.Fprintln(sh.Out, t.Point.Name); err != nil {
			return err
		}
	}
	for _, p := range whole.Trainings() {
		sum, err := newSummary(p)
		if err != nil {
			return err
		}
		if sh.JSON {
			if err := sh.PrintJSON(sum); err != nil {
				return err
			}
			continue
		}
		name := t.Point.Name
		if p.Stage != "" {
			name = "  " + p.Stage
		}
		_, err = fmt.Fprintf(sh.Out, "%-*s  %13s  %11s  %9s  %10s  %7d\n", wide, name, track.Thousands(sum.Params), shell.Scaled(sum.Step.FLOPs, 1000, ""),
			shell.Scaled(sum.Memory.Shared, 1024, "B"), shell.Scaled(sum.Memory.PerWorker, 1024, "B"), len(p.Lowered.Kernels))
		if err != nil {
			return err
		}
	}
	return nil
}
