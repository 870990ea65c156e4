package verbs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// rulesOf parses the rules of the flag --map and of the files that it names.
func rulesOf(given []string) (all []train.Rule, err error) {
	for _, text := range given {
		lines := []string{text}
		path, isFile := strings.CutPrefix(text, "@")
		if isFile {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, world.Usagef("--map %s: %w", text, err)
			}
			lines = strings.Split(string(content), "\n")
		}
		for n, line := range lines {
			line, _, _ = strings.Cut(line, "#")
			if isFile && strings.TrimSpace(line) == "" {
				continue
			}
			rule, err := train.ParseRule(line)
			if err != nil && isFile {
				err = fmt.Errorf("%s:%d: %w", path, n+1, err)
			}
			if err != nil {
				return nil, world.Usagef("--map: %w", err)
			}
			all = append(all, rule)
		}
	}
	return all, nil
}

// imported returns the weights of a file for a model, by the rules of the flag --map.
func imported(a world.App, given []string, path string) (*train.Imported, error) {
	rules, err := rulesOf(given)
	if err != nil {
		return nil, err
	}
	return world.Await(a, func() (*train.Imported, error) { return train.Import(path, rules, a.Model.Params) })
}

// initFlags select the initial weights of a training.
type initFlags struct {
	flags.Beginning
}

// check returns an error for flags that do not fit the training.
func (f *initFlags) check(a world.App, resume bool) error {
	switch {
	case f.Init == "" && len(f.Map) > 0:
		return world.Usagef("--map says how a file names weights: it goes with --init")
	case f.Init != "" && resume:
		return world.Usagef("--init is for a new run: a resumed run continues with its weights")
	case f.Init != "" && a.Whole != nil:
		return world.Usagef("--init: this spec has stages, and each of them says what weights it begins with; train a spec of one stage")
	}
	return nil
}

// beginning returns the initial values of a training without stages. Source names the file in
// the run's record; "" without --init.
func (f *initFlags) beginning(a world.App) (b Beginning, source string, err error) {
	b.Given = a.Model.Tables()
	if f.Init == "" {
		return b, "", nil
	}
	in, err := imported(a, f.Map, f.Init)
	if err != nil {
		return b, "", err
	}
	sum, err := fileSum(f.Init)
	if err != nil {
		return b, "", err
	}
	b.Weights, b.From = &in.Checkpoint, f.Init
	return b, fmt.Sprintf("%s, sha256 %s", f.Init, sum), nil
}

// fileSum returns the SHA-256 of a file, in hex.
func fileSum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkInitSeed returns an error if --init-seed conflicts with other flags.
func (c *Train) checkInitSeed(a world.App) error {
	s := c.InitSeed
	switch {
	case s.Set && c.Init != "":
		return world.Usagef("--init-seed %s: the run begins with the weights of --init: leave one of the two out", s)
	case s.Several() && a.Whole != nil:
		return world.Usagef("--init-seed %s: this spec has stages, whose runs begin one by one: give a single seed", s)
	case s.Several() && a.Ranks.Several():
		return world.Usagef("--init-seed %s: several ranks train one model: give a single seed, or start one rank, with --ranks none", s)
	}
	return nil
}
