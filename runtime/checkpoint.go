package runtime

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// newestCheckpoint returns the path of a run's last checkpoint, "" if it has none.
func newestCheckpoint(dir string) (string, error) {
	all, err := train.Checkpoints(dir)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1], nil
}

// readCheckpoint reads a checkpoint of the run in dir and makes sure that it is one of
// that run: it says itself what it is of. Weights that a stage begins with are held to
// the record of the stage that they are of.
func readCheckpoint(path, dir string, rec *record.Record) (*train.Checkpoint, error) {
	c, err := train.Read(path)
	if err != nil {
		return nil, err
	}
	return c, ofSameRun(path, c.Meta, record.Path(dir), []fact{
		{"name", []string{rec.Name}},
		{"spec_hash", []string{rec.SpecHash}},
		{"seed", []string{strconv.FormatUint(rec.Seed, 10)}},
		{"init_seed", []string{seedText(rec.InitSeed)}},
		{"budget", rec.Budgets()},
	})
}

// seedText is what files say of a seed of initial weights; "": there is none.
func seedText(seed *uint64) string {
	if seed == nil {
		return ""
	}
	return strconv.FormatUint(*seed, 10)
}

// A fact is what a record says of a run: one of some values.
type fact struct {
	key    string // in the metadata of files
	values []string
}

// ofSameRun compares what a file says of its run with a record.
func ofSameRun(path string, meta map[string]string, source string, facts []fact) error {
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

// badCheckpoint says what to do about a checkpoint that is damaged. One that cannot be
// read may be whole.
func badCheckpoint(dir string, err error) error {
	if !damage.Is(err) {
		return err
	}
	if all, _ := train.Checkpoints(dir); len(all) > 1 { // the damaged one was listed
		return fmt.Errorf("%w\nremove it to go on from %s", err, all[len(all)-2])
	}
	return fmt.Errorf("%w\nthere is no older checkpoint: remove it to start again from the first step", err)
}

// noCheckpoint says what to do where nothing is trained.
func noCheckpoint(dir string) error {
	return fmt.Errorf("%s has no checkpoint yet: train it with train --resume --out %s", dir, dir)
}
