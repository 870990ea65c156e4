package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// A trained is the trained model of a run.
type trained struct {
	rec     record.Record
	spec    *check.Spec          // of the training
	stage   string               // in a spec with stages; otherwise ""
	weights map[string][]float32 // by name, row-major
	steps   int
}

// A choice selects among the weights that a run keeps.
type choice struct {
	Best    bool `help:"Use the best checkpoint, which train.keep = best(…) keeps, instead of the last."`
	Average bool `help:"Use the averaged weights, which train.average = ema(…) keeps, instead of the trained ones."`
}

// learned reads the spec of a run and the chosen weights.
func learned(sh *shell.Shell, run string, which choice) (*trained, error) {
	rec, err := project.RecordOf(run)
	if err != nil {
		return nil, err
	}
	dir, _ := rec.Trained(run)
	t := &trained{rec: rec, stage: rec.Stage}
	if dir != run {
		t.stage = filepath.Base(dir)
	}
	if t.spec, err = specOf(sh, run, rec.Name, t.stage); err != nil {
		return nil, err
	}
	path, err := which.checkpoint(dir)
	if err != nil {
		return nil, err
	}
	file, err := ckpt.Read(path)
	if err != nil {
		return nil, err
	}
	if says := file.Meta["spec_hash"]; says != rec.SpecHash {
		return nil, fmt.Errorf("%s belongs to another run than %s: one of the two was moved here or changed", path, record.Path(run))
	}
	t.steps, _ = strconv.Atoi(file.Meta["step"])
	if !which.Best {
		examples, _ := strconv.ParseInt(file.Meta["examples"], 10, 64)
		in, err := record.Read(dir) // of a stage
		if err == nil {
			err = in.Last(dir, path, t.steps, examples)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, t.take(file.Tensors, which.Average)
}

// checkpoint returns the path of the chosen checkpoint.
func (c choice) checkpoint(dir string) (string, error) {
	if path := train.BestPath(dir); c.Best {
		if !paths.Exists(path) {
			return "", fmt.Errorf("%s has no best checkpoint; train.keep = best(…) keeps one", dir)
		}
		return path, nil
	}
	all, err := train.Checkpoints(dir)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%s has no checkpoint yet", dir)
	}
	return all[len(all)-1], nil
}

// take takes the weights of a checkpoint, or the averaged ones if average is set.
func (t *trained) take(all []ckpt.Tensor, average bool) error {
	t.weights = map[string][]float32{}
	const prefix = config.AverageState + "."
	if average && !slices.ContainsFunc(all, func(x ckpt.Tensor) bool { return strings.HasPrefix(x.Name, prefix) }) {
		return fmt.Errorf("this run keeps no averaged weights; train.average = ema(…) does")
	}
	for _, x := range all {
		t.weights[x.Name] = x.Data
	}
	for _, x := range all {
		if name, is := strings.CutPrefix(x.Name, prefix); is && average {
			t.weights[name] = x.Data
		}
	}
	return nil
}

// specOf returns the spec of a run, or of one stage of it.
func specOf(sh *shell.Shell, run, name, stage string) (*check.Spec, error) {
	t, err := project.OfRun(sh, run, name)
	if err != nil {
		return nil, err
	}
	spec, found := check.Resolve(t.Options())
	if spec == nil || found.HasErrors() {
		if err := project.PrintFindings(sh, t.Source, found); err != nil {
			return nil, err
		}
		fmt.Fprintf(sh.Err, "if the spec reads files, copy them to %s\n", run)
		return nil, shell.ErrShown
	}
	if stage == "" {
		return spec, nil
	}
	for _, s := range spec.Stages {
		if s.Name == stage && s.Spec != nil {
			return s.Spec, nil
		}
	}
	return nil, fmt.Errorf("%s has no stage %s that trains", run, stage)
}
