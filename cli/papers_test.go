package cli

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/internal/full"
)

// tinyAbacus and tinyBias are settings that make the models of a paper tiny, and tiny has
// more for some specs.
const (
	tinyAbacus = "model.width=8 model.heads=2 model.ffn=geglu(hidden=8) model.head=geglu(hidden=8) " +
		"train.batch=1 train.ramp.from=1 train.microbatch=1 eval.samples=1 eval.grid=[1..2,1..3] eval.diagonal=none"
	tinyBias = "model.width=8 model.heads=2 model.ffn=relu(hidden=8) model.decoder.layers=1 train.batch=1 train.microbatch=1 eval.samples=1"
)

var tiny = map[string]string{
	"specs/abacus/figure5":    "task.operands=digits(1..2) eval.grid=none eval.diagonal=1..3",
	"specs/abacus/figure6":    "task.operands=digits(1..2)",
	"specs/abacus/figure7":    "task.operands=digits(1..2)",
	"specs/abacus/figure8":    "task.operands=digits(1..2) task.examples=5",
	"specs/abacus/figure9":    "sweep.task.operands=digits(1..2)",
	"specs/abacus/figure10":   "task.operands=digits(1..2) eval.grid=none eval.diagonal=1..3",
	"specs/abacus/figure11":   "sweep.task.operands=digits(1..2) eval.grid=none eval.diagonal=1..3",
	"specs/abacus/figure16":   "task.operands=digits(1..2)",
	"specs/abacus/figure17":   "task.operands=digits(1..2)",
	"specs/abacus/figure18":   "task.operands=digits(1..2)",
	"specs/abacus/figure19":   "task.operands=digits(1..2)",
	"specs/abacus/figure20":   "task.operands=digits(1..2)",
	"specs/abacus/figure21":   "task.operands=digits(1..2)",
	"specs/abacus/table1":     "task.operands=digits(1..2) task.length=1..2",
	"specs/abacus/table2":     "task.operands=digits(1..2) task.length=1..2",
	"specs/looped8x2":         "task.operands=digits(1..2)",
	"specs/bias/addition_abc": "calibrate.abc.cross.keep=value>=mean+std",
	"specs/bias/nx1_abc":      "calibrate.abc.cross.keep=value>=mean+std",
}

// points are the trainings of a sweep that are trained; otherwise the first two, which have
// different seeds.
var points = map[string][]string{
	"specs/abacus/figure17": {"1", "4", "13"},
	"specs/abacus/figure18": {"1", "4", "19"},
	"specs/abacus/figure19": {"1", "4", "10"},
}

// A paperRow is a row of docs/papers.md.
type paperRow struct {
	what     string
	commands []string
}

// paperRows reads the rows of docs/papers.md by paper.
func paperRows(t *testing.T) (papers [][]paperRow) {
	t.Helper()
	text, err := os.ReadFile("../docs/papers.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("`(mlc [^`]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(line, "| | "):
			papers = append(papers, nil)
		case strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "|"):
			row := paperRow{what: strings.TrimPrefix(cells[0], "| ")}
			if len(cells) != 5 {
				t.Errorf("%s: %d cells", row.what, len(cells))
				continue
			}
			for _, m := range command.FindAllStringSubmatch(cells[1], -1) {
				row.commands = append(row.commands, m[1])
			}
			last := len(papers) - 1
			papers[last] = append(papers[last], row)
		}
	}
	return papers
}

// TestPapersRows wants a row with a command for each figure and table of both papers.
func TestPapersRows(t *testing.T) {
	papers := paperRows(t)
	if len(papers) != 2 {
		t.Fatalf("there are %d tables", len(papers))
	}
	for n, count := range []struct{ figures, tables int }{{22, 5}, {12, 3}} {
		var wanted []string
		for i := range count.figures {
			wanted = append(wanted, fmt.Sprintf("figure %d", i+1))
		}
		for i := range count.tables {
			wanted = append(wanted, fmt.Sprintf("table %d", i+1))
		}
		for _, w := range wanted {
			if !slices.ContainsFunc(papers[n], func(r paperRow) bool {
				return strings.HasPrefix(r.what, w+":") || strings.HasPrefix(r.what, w+",")
			}) {
				t.Errorf("table %d of docs/papers.md has no row for %s", n+1, w)
			}
		}
		for _, r := range papers[n] {
			if len(r.commands) == 0 {
				t.Errorf("%s has no command", r.what)
			}
		}
	}
}

// paperRuns trains tiny models, each once.
type paperRuns struct {
	dir     string
	trained map[string][]string // the run directories of a command
	tested  map[string]bool     // by run directory
}

// words splits a command at spaces, without mlc.
func words(command string) []string { return strings.Fields(command)[1:] }

// call runs mlc, and returns its output.
func (p *paperRuns) call(t *testing.T, args []string) string {
	t.Helper()
	var out, said bytes.Buffer
	if code := Run(sourceTree(), args, &out, &said); code != shell.ExitOK {
		t.Fatalf("mlc %s: exit code %d\n%s", strings.Join(args, " "), code, said.String())
	}
	return out.String()
}

// redirect writes the last line that mlc prints to a file. A simulated trainer prints to
// os.Stdout, and with --json findings about the tiny task come first.
func (p *paperRuns) redirect(t *testing.T, args []string, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdout := os.Stdout
	os.Stdout = f
	defer func() { os.Stdout = stdout }()
	p.call(t, args)
	said, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(said)), "\n")
	if err := os.WriteFile(file, []byte(lines[len(lines)-1]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// train runs a command that trains, on a simulated GPU for one step, and tests what it has
// trained. Of a sweep it trains two.
func (p *paperRuns) train(t *testing.T, command string) []string {
	t.Helper()
	if runs, is := p.trained[command]; is {
		return runs
	}
	args := words(command)
	spec := args[1]
	name, settings := strings.TrimSuffix(path.Base(spec), ".arith"), tinyBias
	if !strings.HasPrefix(spec, "specs/bias/") {
		settings = tinyAbacus
	}
	settings += " " + tiny[strings.TrimSuffix(spec, ".arith")]
	some := points[strings.TrimSuffix(spec, ".arith")]
	if some == nil {
		some = []string{"1", "2"}
	}
	text, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(p.dir, fmt.Sprint(len(p.trained)))
	args = append(args, "--device", "sim", "--steps", "2", "--out", out)
	if strings.HasSuffix(name, "_abc") { // though the first training does not learn its task
		args = append(args, "--go-on")
	}
	for _, s := range strings.Fields(settings) {
		args = append(args, "--set", s)
	}
	sweep := strings.Contains(string(text), "\nsweep {")
	switch chosen := slices.Index(args, "--point"); {
	case chosen >= 0:
		args[chosen+1] = "1"
		p.call(t, args)
	case sweep:
		for _, point := range some {
			p.call(t, append(slices.Clone(args), "--point", point))
		}
	default:
		p.call(t, args)
	}
	runs := []string{out}
	if sweep {
		if runs, err = filepath.Glob(filepath.Join(out, "*")); err != nil || len(runs) == 0 {
			t.Fatalf("%s has no runs: %v", out, err)
		}
	}
	p.trained[command] = runs
	return runs
}

// test tests runs that have not been tested yet.
func (p *paperRuns) test(t *testing.T, runs []string) {
	t.Helper()
	for _, run := range runs {
		if !p.tested[run] {
			p.tested[run] = true
			p.call(t, []string{"eval", run, "--device", "sim"})
		}
	}
}

// TestPapers runs the commands of every row with tiny models.
func TestPapers(t *testing.T) {
	full.Only(t)
	papers := paperRows(t)
	t.Chdir("..")
	p := &paperRuns{dir: t.TempDir(), trained: map[string][]string{}, tested: map[string]bool{}}
	for _, r := range slices.Concat(papers...) {
		t.Run(r.what, func(t *testing.T) {
			var runs []string
			file := ""
			for _, command := range r.commands {
				verb := words(command)[0]
				if verb == "train" {
					runs = p.train(t, command)
					continue
				}
				command, redirected, _ := strings.Cut(command, " > ")
				var args []string
				for _, w := range words(command) {
					switch {
					case w == "RUN":
						args = append(args, runs...)
					case w == file && file != "":
						args = append(args, filepath.Join(p.dir, file))
					default:
						args = append(args, w)
					}
				}
				out := filepath.Join(t.TempDir(), "out")
				switch tables := slices.Contains(args, "table"); {
				case verb == "plot" && !tables:
					args = append(args, "-o", out)
				case verb == "eval" || verb == "solve":
					args = append(args, "--device", "sim")
				}
				if verb == "plot" && !slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"--problem", "attention", "loss"}, a) }) {
					p.test(t, runs)
				}
				if verb == "eval" { // of one run at a time
					for _, run := range runs {
						p.tested[run] = p.tested[run] || slices.Contains(args, "--diagonal")
						own := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(runs, a) })
						p.call(t, append(own, run))
					}
					continue
				}
				if file = redirected; file != "" {
					p.redirect(t, args, filepath.Join(p.dir, file))
					continue
				}
				if p.call(t, args) == "" {
					t.Errorf("%s says nothing", command)
				}
			}
		})
	}
}
