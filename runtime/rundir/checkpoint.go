package rundir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// NewestCheckpoint returns the path of a run's last checkpoint, or "".
func NewestCheckpoint(dir string) (string, error) {
	all, err := train.Checkpoints(dir)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1], nil
}

// ReadCheckpoint reads a checkpoint of the run in dir and checks that it belongs to that run.
// For weights that a stage begins with, rec is the record of the stage that trained them.
func ReadCheckpoint(path, dir string, rec *record.Record) (*train.Checkpoint, error) {
	c, err := train.Read(path)
	if err != nil {
		return nil, err
	}
	return c, Same(path, c.Meta, record.Path(dir),
		Says("name", rec.Name),
		Says("spec_hash", rec.SpecHash),
		Says("seed", strconv.FormatUint(rec.Seed, 10)),
		Says("init_seed", SeedText(rec.InitSeed)),
		Says("budget", rec.Budgets()...))
}

// SeedText formats the seed of initial weights for files; "" for nil.
func SeedText(seed *uint64) string {
	if seed == nil {
		return ""
	}
	return strconv.FormatUint(*seed, 10)
}

// A Fact is a property of a run: its key in files, and the accepted values.
type Fact struct {
	key    string
	values []string
}

// Says returns a Fact.
func Says(key string, values ...string) Fact { return Fact{key, values} }

// Same compares a file's metadata with the record in source.
func Same(path string, meta map[string]string, source string, facts ...Fact) error {
	var differ []string
	for _, f := range facts {
		says, there := meta[f.key]
		if !there && (f.key == "budget" || f.key == "seed") || slices.Contains(f.values, says) {
			continue // files of earlier versions lack some keys
		}
		differ = append(differ, fmt.Sprintf("its %s is %s, in %s it is %s", strings.ReplaceAll(f.key, "_", " "), short(says), source, short(last(f.values))))
	}
	if differ == nil {
		return nil
	}
	return fmt.Errorf("%s is of another run: %s. One of the two files was copied here or changed: restore the original, or train in another --out",
		path, strings.Join(differ, "; "))
}

// last returns the present value of a record, or "".
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// short shortens a hash to the digits that people compare.
func short(value string) string {
	const hash, enough = 64, 12
	switch {
	case value == "":
		return "missing"
	case len(value) == hash && !strings.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }):
		return value[:enough]
	}
	return value
}

// BadCheckpoint adds advice to the error of a damaged checkpoint. A checkpoint that merely
// cannot be read may be intact.
func BadCheckpoint(dir string, err error) error {
	if !damage.Is(err) {
		return err
	}
	if all, _ := train.Checkpoints(dir); len(all) > 1 { // the damaged one was listed
		return fmt.Errorf("%w\nremove it to continue from %s", err, all[len(all)-2])
	}
	return fmt.Errorf("%w\nthere is no older checkpoint: remove it to start again from the first step", err)
}

// NoCheckpoint returns the error for a run without a checkpoint.
func NoCheckpoint(dir string) error {
	return fmt.Errorf("%s has no checkpoint yet: train it with train --resume --out %s", dir, dir)
}
