// Command run runs the tests of the module and reports the time of each package.
//
//	go run ./internal/full/run              the short run; a package slower than -most fails
//	go run ./internal/full/run -changed     with -tags full, packages affected by changes since the last nightly run
//	go run ./internal/full/run -nightly     with -tags full, all packages; writes docs/tests.md
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const page = "docs/tests.md"

func main() {
	changed := flag.Bool("changed", false, "run, with -tags full, the packages affected by changes since the last nightly run, nearest first")
	nightly := flag.Bool("nightly", false, "run all packages with -tags full, and write "+page)
	budget := flag.Duration("budget", 4*time.Minute, "with -changed: total time that the packages may take, by their times in "+page)
	most := flag.Duration("most", time.Minute, "in the short run: time limit of a package")
	flag.Parse()
	if err := run(os.Stdout, *changed, *nightly, *budget, *most); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, changed, nightly bool, budget, most time.Duration) error {
	switch {
	case nightly:
		commit, err := output("git", "rev-parse", "HEAD")
		if err != nil {
			return err
		}
		took, err := test(out, "-tags=full", "-count=1", "-timeout=60m", "./...")
		if err != nil && len(took) == 0 {
			return err
		}
		return errors.Join(err, os.WriteFile(page, []byte(written(took, strings.TrimSpace(commit), time.Now(), err)), 0o644))
	case changed:
		chosen, left, err := choose(budget)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			fmt.Fprintf(out, "left to the nightly run: %s\n", strings.Join(left, " "))
		}
		if len(chosen) == 0 {
			fmt.Fprintln(out, "nothing has changed since the last nightly run")
			return nil
		}
		_, err = test(out, append([]string{"-tags=full", "-timeout=20m"}, chosen...)...)
		return err
	}
	took, err := test(out, "./...")
	for _, p := range slowest(took) {
		if took[p] > most {
			err = errors.Join(err, fmt.Errorf("%s takes %.0f s, more than %.0f s: run its slow tests only with -tags full", p, took[p].Seconds(), most.Seconds()))
		}
	}
	return err
}

// ended matches go test's line on a package with tests.
var ended = regexp.MustCompile(`^(?:ok|FAIL)\s+(\S+)\s+([0-9.]+)s`)

// test runs go test, prints its output, and finally the slowest packages.
func test(out io.Writer, args ...string) (took map[string]time.Duration, err error) {
	start := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-vet=off"}, args...)...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	took = map[string]time.Duration{}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if m := ended.FindStringSubmatch(line); m != nil {
			seconds, _ := strconv.ParseFloat(m[2], 64) // digits, by the expression
			took[m[1]] = time.Duration(seconds * float64(time.Second))
		}
		if !strings.Contains(line, "[no test files]") {
			io.WriteString(out, line)
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	fmt.Fprintf(out, "\n%.0f s; packages above 5 s:\n", time.Since(start).Seconds())
	for _, p := range slowest(took) {
		if took[p] > 5*time.Second {
			fmt.Fprintf(out, "%6.0f s  %s\n", took[p].Seconds(), p)
		}
	}
	return took, err
}

// slowest sorts packages by time, slowest first.
func slowest(took map[string]time.Duration) []string {
	return slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		return cmp.Or(cmp.Compare(took[b], took[a]), cmp.Compare(a, b))
	})
}

func output(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// head begins the page.
const head = `# The last whole run of the tests

Written by ` + "`make nightly`" + `, never by hand. ` + "`go test -tags full ./...`" + ` runs every spec and every schedule, and
compares with other programs; ` + "`.ci/run`" + ` does so with the packages that changes since this run affect.

`

// written returns the page of a run.
func written(took map[string]time.Duration, commit string, now time.Time, failed error) string {
	var b strings.Builder
	b.WriteString(head)
	verdict := "passed"
	if failed != nil {
		verdict = "failed: " + failed.Error()
	}
	all := time.Duration(0)
	for _, t := range took {
		all += t
	}
	fmt.Fprintf(&b, "%s, commit %s: %s.\n\n| package | seconds |\n|---|---:|\n", now.UTC().Format(time.DateOnly), commit, verdict)
	for _, p := range slowest(took) {
		fmt.Fprintf(&b, "| %s | %.1f |\n", p, took[p].Seconds())
	}
	fmt.Fprintf(&b, "| **together** | **%.0f** |\n", all.Seconds())
	return b.String()
}
