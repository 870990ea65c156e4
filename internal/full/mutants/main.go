// Command mutants changes Go code in small ways, one at a time, and says which changes the
// short run of the tests does not notice: those of the package, or of one that imports it. Tests
// that fail as they are notice every change: the lines say whose tests noticed which.
//
//	go run ./internal/full/mutants -n 200 ./runtime/train ./serve
//
// The tree stays as it is: a changed file is an overlay of the build.
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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	n := flag.Int("n", 200, "how many changes are tried, of all packages together")
	skip := flag.Int("skip", 0, "how many of them are left out first, to go on after a run that was ended")
	seed := flag.Uint64("seed", 1, "which ones")
	limit := flag.Duration("limit", 3*time.Minute, "the longest that the tests of a package may take; tests that hang notice a change")
	flag.Parse()
	if err := run(os.Stdout, *n, *skip, *seed, *limit, flag.Args()); err != nil {
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

// A score counts changes and those that no test noticed.
type score struct{ made, survived int }

func (s score) String() string {
	return fmt.Sprintf("%d of %d changes are noticed, %.1f %%", s.made-s.survived, s.made, 100*float64(s.made-s.survived)/float64(max(s.made, 1)))
}

// A trial is a change of a package, and what came of it.
type trial struct {
	*pkg
	change
	by string // the package whose tests noticed it; "": none
}

func run(out io.Writer, n, skip int, seed uint64, limit time.Duration, patterns []string) error {
	chosen, err := list(patterns)
	if err != nil {
		return err
	}
	all, err := list([]string{"./..."})
	if err != nil {
		return err
	}
	// Packages that need few others build and test in the least time, so they are asked first.
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
				trials = append(trials, &trial{pkg: p, change: c})
			}
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })

	var lock sync.Mutex
	var workers sync.WaitGroup
	var failed error
	next := min(skip, len(trials))
	var total score
	of := map[*pkg]score{}
	for range runtime.NumCPU() {
		workers.Go(func() {
			for {
				lock.Lock()
				if total.made >= n || next == len(trials) || failed != nil {
					lock.Unlock()
					return
				}
				t := trials[next]
				next++
				lock.Unlock()
				compiled, err := t.try(all, limit)
				lock.Lock()
				switch {
				case err != nil:
					failed = errors.Join(failed, err)
				case compiled && total.made < n:
					s := of[t.pkg]
					total.made++
					s.made++
					if t.by == "" {
						total.survived++
						s.survived++
						fmt.Fprintf(out, "survived, %d of %d: %s\n", total.survived, total.made, t.change)
					} else {
						fmt.Fprintf(out, "noticed by %s: %s\n", t.by, t.change)
					}
					of[t.pkg] = s
				}
				lock.Unlock()
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

// try runs the tests of the package with a change, and those of packages that import it if
// none of them fails. What does not compile is no change.
func (t *trial) try(all []pkg, limit time.Duration) (compiled bool, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {t.file: file}})
	if err != nil {
		return false, err
	}
	if err := errors.Join(os.WriteFile(file, t.text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return false, err
	}
	// test runs the tests of a package, and says whether it builds.
	test := func(path string) (builds bool) {
		// go test ends tests at the limit. To end go test would leave them running.
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-failfast", "-timeout="+limit.String(), "-overlay="+overlay, path)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.by = path
		}
		if strings.Contains(string(text), "panic: test timed out") {
			t.by += " at the limit"
		}
		return !strings.Contains(string(text), "[build failed]")
	}
	if !test(t.ImportPath) {
		return false, nil
	}
	for _, p := range all {
		tests := len(p.TestGoFiles)+len(p.XTestGoFiles) > 0
		if t.by == "" && tests && p.ImportPath != t.ImportPath && slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), t.ImportPath) {
			test(p.ImportPath)
		}
	}
	return true, nil
}
