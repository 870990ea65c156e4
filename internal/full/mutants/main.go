// Command mutants changes Go code in small ways, one at a time, and reports which changes the
// short run of the tests misses. It runs the tests of the changed package and of the packages
// that import it. Tests that fail anyway notice every change; the output names the tests that
// noticed each.
//
//	go run ./internal/full/mutants -n 200 ./runtime/train ./serve
//	go run ./internal/full/mutants -only 'ask.go:12:' ./serve
//	go run ./internal/full/mutants -only 'ask.go:12:' -ask '/cli$' ./serve
//
// The tree is not touched: a changed file is an overlay of the build.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	n := flag.Int("n", 200, "number of changes to try, over all packages")
	skip := flag.Int("skip", 0, "number of changes to skip first, to continue an interrupted run")
	seed := flag.Uint64("seed", 1, "seed of the choice of changes")
	only := flag.String("only", "", "try only changes whose printed form matches this regular expression")
	ask := flag.String("ask", "", "run only tests of packages whose import path matches this regular expression")
	limit := flag.Duration("limit", 3*time.Minute, "time limit for the tests of a package; a test that hangs notices the change")
	flag.Parse()
	if err := run(os.Stdout, *only, *ask, *n, *skip, *seed, *limit, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// A pkg is a package and its files.
type pkg struct {
	ImportPath, Dir                                      string
	GoFiles, Imports, Deps                               []string
	TestGoFiles, TestImports, XTestGoFiles, XTestImports []string
}

// A score counts changes, and among them the changes that no test noticed.
type score struct{ made, survived int }

func (s score) String() string {
	return fmt.Sprintf("%d of %d changes are noticed, %.1f %%", s.made-s.survived, s.made, 100*float64(s.made-s.survived)/float64(max(s.made, 1)))
}

// A trial is a change of a package, and the packages whose tests remain to be run.
type trial struct {
	*pkg
	change
	ask []string
}

func run(out io.Writer, only, ask string, n, skip int, seed uint64, limit time.Duration, patterns []string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	asked, err := regexp.Compile(ask)
	if err != nil {
		return err
	}
	chosen, err := list(patterns)
	if err != nil {
		return err
	}
	all, err := list([]string{"./..."})
	if err != nil {
		return err
	}
	// Packages with few dependencies build and test fastest, so they run first. Every change is
	// tried on its own package before any is tried on others.
	slices.SortStableFunc(all, func(a, b pkg) int { return len(a.Deps) - len(b.Deps) })
	var trials []*trial
	for i := range chosen {
		p := &chosen[i]
		for _, name := range p.GoFiles {
			changes, err := changesOf(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			for _, c := range changes {
				if to := slices.DeleteFunc(p.askers(all), func(path string) bool { return !asked.MatchString(path) }); len(to) > 0 && wanted.MatchString(c.String()) {
					trials = append(trials, &trial{p, c, to})
				}
			}
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })

	trials = trials[min(skip, len(trials)):]
	queue := slices.Clone(trials[:min(n, len(trials))])
	rest := trials[len(queue):]
	var lock sync.Mutex
	done := sync.NewCond(&lock) // signals that a worker has finished a trial
	var workers sync.WaitGroup
	var failed error
	busy := 0
	var total score
	of := map[*pkg]score{}
	for range runtime.NumCPU() {
		workers.Go(func() {
			lock.Lock()
			defer lock.Unlock()
			for {
				for len(queue) == 0 && busy > 0 && failed == nil {
					done.Wait()
				}
				if len(queue) == 0 || failed != nil {
					return
				}
				t := queue[0]
				queue = queue[1:]
				busy++
				lock.Unlock()
				what, err := t.try(limit)
				lock.Lock()
				busy--
				s := of[t.pkg]
				switch {
				case err != nil:
					failed = errors.Join(failed, err)
				case what == "":
					queue = append(queue, t)
					fmt.Fprintf(out, "not noticed yet, %d packages left to test: %s\n", len(t.ask), t.change)
				case what == broken:
					if len(rest) > 0 {
						queue, rest = append(queue, rest[0]), rest[1:]
					}
				case what == survived:
					total, s = score{total.made + 1, total.survived + 1}, score{s.made + 1, s.survived + 1}
					fmt.Fprintf(out, "survived, %d of %d: %s\n", total.survived, total.made, t.change)
				default:
					total.made, s.made = total.made+1, s.made+1
					fmt.Fprintf(out, "noticed by %s: %s\n", what, t.change)
				}
				of[t.pkg] = s
				done.Broadcast()
			}
		})
	}
	workers.Wait()
	for i := range chosen {
		fmt.Fprintf(out, "%s: %s\n", chosen[i].ImportPath, of[&chosen[i]])
	}
	fmt.Fprintln(out, total)
	return failed
}

func list(patterns []string) (all []pkg, err error) {
	text, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports,Deps,TestGoFiles,TestImports,XTestGoFiles,XTestImports"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// askers lists the packages whose tests may notice a change of p: p and its importers.
func (p *pkg) askers(all []pkg) []string {
	out := []string{p.ImportPath}
	for _, q := range all {
		tests := len(q.TestGoFiles)+len(q.XTestGoFiles) > 0
		if tests && q.ImportPath != p.ImportPath && slices.Contains(slices.Concat(q.Imports, q.TestImports, q.XTestImports), p.ImportPath) {
			out = append(out, q.ImportPath)
		}
	}
	return out
}

// Outcomes of a trial besides the package that noticed and "" (not noticed yet).
const (
	broken   = "broken" // it does not compile, so it does not count
	survived = "survived"
)

// try runs the tests of the next package with the change.
func (t *trial) try(limit time.Duration) (what string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {t.file: file}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(file, t.text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	path := t.ask[0]
	t.ask = t.ask[1:]
	// go test stops tests at the limit. Killing go test would leave them running.
	text, err := exec.Command("go", "test", "-vet=off", "-count=1", "-failfast", "-timeout="+limit.String(), "-overlay="+overlay, path).CombinedOutput()
	switch {
	case strings.Contains(string(text), "[build failed]"):
		return broken, nil
	case strings.Contains(string(text), "panic: test timed out"):
		return path + " at the limit", nil
	case err != nil:
		return path, nil
	case len(t.ask) == 0:
		return survived, nil
	}
	return "", nil
}
