package main

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A pkg is a package of the module.
type pkg struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

// unknown is the assumed time of a package that the last nightly run does not list.
const unknown = 20 * time.Second

// choose lists the packages that changes since the last nightly run affect: those nearest to a
// change that fit the budget, and the rest.
func choose(budget time.Duration) (chosen, left []string, err error) {
	commit, took := last()
	root, err := output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, nil, err
	}
	all, err := packages()
	if err != nil {
		return nil, nil, err
	}
	// If the commit is unknown, as in a clone without history, everything has changed.
	files, err := output("git", "diff", "--name-only", commit)
	if err != nil {
		files = "go.mod"
	}
	near := distances(all, strings.TrimSpace(root), strings.Fields(files))
	chosen, left = within(near, took, budget*time.Duration(runtime.NumCPU()))
	return chosen, left, nil
}

// last returns the commit of the last nightly run and the times of packages.
func last() (commit string, took map[string]time.Duration) {
	text, _ := os.ReadFile(page) // without it everything is new
	took = map[string]time.Duration{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+) \| ([0-9.]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		seconds, _ := strconv.ParseFloat(m[2], 64) // digits, by the expression
		took[m[1]] = time.Duration(seconds * float64(time.Second))
	}
	if m := regexp.MustCompile(`commit ([0-9a-f]{40})`).FindStringSubmatch(string(text)); m != nil {
		commit = m[1]
	}
	return cmp.Or(commit, "none"), took
}

// packages lists the packages of the module with the imports of their code and tests.
func packages() (all []pkg, err error) {
	text, err := output("go", "list", "-tags=full", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// distances returns, for packages with tests, the number of imports to the package of a changed
// file: the package of the nearest folder above the file. A change of go.mod or go.sum changes
// all packages. Documents are left to the short run.
func distances(all []pkg, root string, files []string) map[string]int {
	near := map[string]int{}
	for _, f := range files {
		if strings.HasSuffix(f, ".md") {
			continue
		}
		if f == "go.mod" || f == "go.sum" {
			for _, p := range all {
				near[p.ImportPath] = 0
			}
			continue
		}
		dir := filepath.Dir(filepath.Join(root, f))
		owner := -1
		for i, p := range all {
			if (dir == p.Dir || strings.HasPrefix(dir, p.Dir+string(filepath.Separator))) && (owner < 0 || len(p.Dir) > len(all[owner].Dir)) {
				owner = i
			}
		}
		if owner >= 0 {
			near[all[owner].ImportPath] = 0
		}
	}
	for step := 0; ; step++ {
		grown := false
		for _, p := range all {
			if _, known := near[p.ImportPath]; known {
				continue
			}
			for _, dep := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
				if d, changed := near[dep]; changed && d == step {
					near[p.ImportPath], grown = step+1, true
					break
				}
			}
		}
		if !grown {
			break
		}
	}
	for _, p := range all {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			delete(near, p.ImportPath)
		}
	}
	return near
}

// within takes packages, nearest and quickest first, while they fit the budget.
func within(near map[string]int, took map[string]time.Duration, budget time.Duration) (chosen, left []string) {
	time := func(p string) time.Duration { return cmp.Or(took[p], unknown) }
	var all []string
	for p := range near {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(near[a], near[b]), cmp.Compare(time(a), time(b)), cmp.Compare(a, b))
	})
	for _, p := range all {
		if t := time(p); t <= budget {
			budget -= t
			chosen = append(chosen, p)
		} else {
			left = append(left, p)
		}
	}
	return chosen, left
}
