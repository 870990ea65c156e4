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

// NewestCheckpoint returns the path of a run's last checkpoint, "" if it has none.
func NewestCheckpoint(dir string) (string, error) {
	all, err := train.Checkpoints(dir)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1], nil
}

// ReadCheckpoint reads a checkpoint of the run in dir and makes sure that it is one of
// that run: it says itself what it is of. Weights that a stage begins with are held to
// the record of the stage that they are of.
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

// SeedText is what files say of a seed of initial weights; "": there is none.
func SeedText(seed *uint64) string {
	if seed == nil {
		return ""
	}
	return strconv.FormatUint(*seed, 10)
}

// A Fact is what a record says of a run: one of some values, by its key in files.
type Fact struct {
	key    string
	values []string
}

// Says makes a Fact.
func Says(key string, values ...string) Fact { return Fact{key, values} }

// Same compares what a file says of its run with a record.
func Same(path string, meta map[string]string, source string, facts ...Fact) error {
	var differ []string
	for _, f := range facts {
		says, there := meta[f.key]
		if !there && (f.key == "budget" || f.key == "seed") || slices.Contains(f.values, says) {
			continue // files of earlier versions do not say everything
		}
		differ = append(differ, fmt.Sprintf("its %s is %s, that of %s %s", strings.ReplaceAll(f.key, "_", " "), short(says), source, short(last(f.values))))
	}
	if differ == nil {
		return nil
	}
	return fmt.Errorf("%s is of another run: %s. One of the two was brought here or changed: bring back the one that was here, or train in another --out",
		path, strings.Join(differ, "; "))
}

// last is the value that a record has at present, "" if it has none.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// short is as much of a hash as people compare.
func short(value string) string {
	const hash, enough = 64, 12
	switch {
	case value == "":
		return "not said"
	case len(value) == hash && !strings.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }):
		return value[:enough]
	}
	return value
}

// BadCheckpoint says what to do about a checkpoint that is damaged. One that cannot be
// read may be whole.
func BadCheckpoint(dir string, err error) error {
	if !damage.Is(err) {
		return err
	}
	if all, _ := train.Checkpoints(dir); len(all) > 1 { // the damaged one was listed
		return fmt.Errorf("%w\nremove it to go on from %s", err, all[len(all)-2])
	}
	return fmt.Errorf("%w\nthere is no older checkpoint: remove it to start again from the first step", err)
}

// NoCheckpoint says what to do where nothing is trained.
func NoCheckpoint(dir string) error {
	return fmt.Errorf("%s has no checkpoint yet: train it with train --resume --out %s", dir, dir)
}
