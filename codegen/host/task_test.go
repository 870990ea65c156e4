package host

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/task"
)

// TestTaskAgrees compares the compiler's view of a task with the task itself: the vocabulary,
// and the longest problem of training.
func TestTaskAgrees(t *testing.T) {
	const loop = "model.decoder_only { layers = 1 }\n"
	for _, text := range []string{
		"task successor {}", "task addition { operands = below(1Mi)\n pad = zero(to = 9) }", "task parity { pad = zero(to = 30) }",
		"task sum { operands = digits(1..6) }", "task sum { operands = digits(2..5)\n terms = 3..9\n scratchpad = true\n vocabulary = used\n base = 3\n pad = zero(to = 20) }",
		"task addition { vocabulary = used\n pad = zero(to = 9) }", "task successor { vocabulary = used\n base = 36\n operands = digits(1..4) }", "task nx1 { vocabulary = used\n pad = zero(to = 25) }", "task parity { vocabulary = used }",
		"task nx1 { pad = zero(to = 25) }", "task addition { base = 16\n operands = digits(2..5)\n pad = zero(to = 6) }",
		loop + "task addition { operands = digits(3..20)\n order = reversed }", loop + "task subtraction { order = reversed }", loop + "task multiplication { operands = digits(1..15) }",
		loop + "task or { order = plain\n examples = 2870 }", loop + "task sort { operands = digits(1..10)\n length = 2..10\n order = reversed }",
		loop + "task mixed { of = [addition, subtraction, multiplication] }", loop + "task addition { hints = cyclic }", loop + "task addition { hints = fixed }",
		loop + "task addition { random_pad = 10% }", loop + "task addition { pad = zero(to = 25, step = 2) }", loop + "task addition { interleave = true }",
		"task successor { operands = digits(1..4) }", "task nx1 { operands = digits(1..4) }", "task parity { operands = digits(1..6) }", "task copy { operands = digits(2..3) }", "task addition { operands = digits(1..4) }",
		"task addition { operands = digits(1..4)\n interleave = true\n order = plain }", "task nx1 { operands = digits(1..3)\n interleave = true\n order = reversed }", "task addition { operands = below(300) }", "task parity { operands = digits(1..6)\n scratchpad = false }",
		"task successor { operands = below(1000) }", "task nx1 { operands = below(30) }", "task addition { operands = digits(1..3)\n pad = zero(to = 2, step = 2, answer = 3) }", "task sum { operands = digits(1..1)\n terms = 2..12\n pad = zero(to = 1) }",
		loop + "task subtraction { operands = below(101) }", loop + "task subtraction { operands = digits(1..2)\n base = 2\n hints = cyclic }", loop + "task multiplication { operands = digits(1..4)\n order = reversed\n scratchpad = true }", loop + "task multiplication { operands = digits(1..3)\n order = reversed\n scratchpad = true\n partial_products = true }",
		loop + "task nx1 {}", loop + "task successor {}", loop + "task parity { operands = digits(1..8) }", loop + "task addition { loss_on = all\n operands = below(5000) }",
		loop + "task mixed { of = [addition, nx1]\n interleave = true }",
		loop + "task file { path = \"p\" }", loop + "task file { path = \"p\"\n split = 3 }", loop + "task file { path = \"p\"\n separator = \" 12\"\n random_pad = 10%\n holdout = 0% }",
	} {
		spec := resolve(t, text)
		cfg := task.Config(spec.Task.Task)
		tasks, err := tasks.New(cfg, 1)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := spec.Task.Vocab(); got != tasks.Vocab() {
			t.Errorf("%s: package check has %d tokens, the task %d", text, got, tasks.Vocab())
		}
		if first, last := spec.Task.Digits(); cfg.Sequence {
			ids := make([]int32, tasks.Vocab())
			for id := range ids {
				ids[id] = int32(id)
			}
			for id, row := range tasks.Runs(ids) {
				if (row > 0) != (first <= id && id <= last) {
					t.Errorf("%s: token %s is a digit to one of package check and the task alone", text, tasks.Symbol(int32(id)))
				}
			}
		}
		source, rows := spec.TrainedShape()
		tokens, most := 0, 0
		for k := range int64(300) {
			b, err := tasks.NewDrawer(0, 0).Train(8*k, 8)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			tokens, most = max(tokens, b.S), max(most, b.T)
		}
		for _, p := range tasks.LongestIn(tasks.Extent()) { // rarely drawn, perhaps
			if b, err := tasks.Batch([]task.Problem{p}); err != nil {
				t.Fatalf("%s: %v", text, err)
			} else if cfg.Below == 0 {
				tokens, most = max(tokens, b.S), max(most, b.T)
			}
		}
		if exact := cfg.RandomPad == 0; tokens > source || most > rows || exact && (tokens != source || most != rows) {
			t.Errorf("%s: the longest problem that is drawn has %d tokens and %d rows, and package check has %d and %d", text, tokens, most, source, rows)
		}
	}
}

func TestTaskConfigIsPrinted(t *testing.T) {
	spec := resolve(t, "task mixed { of = [addition, subtraction]\n hints = cyclic\n examples = 20M\n random_pad = 10% }\nmodel.decoder_only { layers = 1 }\ntrain.lengths = padded")
	text := fmt.Sprintf("%#v", Trainer{Spec: spec}.taskConfig(&gocode.File{}))
	for _, want := range []string{`Of: []string{"addition", "subtraction"}`, `Hints: "cyclic"`, `Examples: 20000000`, `RandomPad: 0.1`, `Sequence: true`, `Padded: true`} {
		if squeezed := strings.Join(strings.Fields(text), " "); !strings.Contains(squeezed, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

func resolve(t *testing.T, text string) *check.Spec {
	t.Helper()
	spec, found := check.Resolve(check.Options{Path: "x.arith", Read: func(file string) ([]byte, error) {
		if file == "p" {
			return []byte("a 12=34567\nbb 12=ö89\r\n\"\\ 123=4"), nil
		}
		return []byte("arith 2\n" + text + "\n"), nil
	}})
	if found.HasErrors() {
		t.Fatalf("%s: %v", text, found)
	}
	if limits := check.Lowerable(spec); limits.HasErrors() {
		t.Fatalf("%s: %v", text, limits)
	}
	return spec
}

// TestSpecsHaveProblems draws problems of every spec, and compares hashes of all that a trainer
// and a test get of them with a file. After a change of the problems that is right, run it with
// -update and -tags full.
func TestSpecsHaveProblems(t *testing.T) {
	const file = "testdata/problems.txt"
	paths, err := filepath.Glob("../../specs/*/*.arith")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d specs: %v", len(paths), err)
	}
	var now strings.Builder
	for _, path := range full.Some(paths, 40) {
		if folder := filepath.Base(filepath.Dir(path)); folder == "base" || folder == "attention" {
			continue // parts of specs, and attention alone
		}
		spec, found := check.Resolve(check.Options{Path: path, Read: os.ReadFile})
		if found.HasErrors() {
			t.Errorf("%s: %v", path, found)
			continue
		}
		h := sha256.New()
		if err := problems(h, spec); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		fmt.Fprintf(&now, "%s %x\n", strings.TrimPrefix(path, "../../"), h.Sum(nil)[:8])
	}
	if full.Tests {
		golden.Compare(t, file, now.String())
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(now.String()) {
		if !strings.Contains(string(text), row) {
			t.Errorf("%s (-tags full -update rewrites it) does not have %s", file, row)
		}
	}
}

// problems writes examples of training, held-out problems and tests of a spec.
func problems(w io.Writer, spec *check.Spec) error {
	t, err := tasks.New(task.Config(spec.Task.Task), 1)
	if err != nil {
		return err
	}
	var failed error
	put := func(b task.Batch, err error) {
		failed = cmp.Or(failed, err)
		fmt.Fprintln(w, b)
	}
	d := t.NewDrawer(0, 8)
	put(d.Train(0, 20))
	d.Pack()
	put(d.Train(20, 12))
	fmt.Fprintln(w, t.Set(false), t.Set(true), t.HoldsOut(), t.Distinct(), t.AnswersReversed(), t.Products(), t.NeedsLength())
	if t.HoldsOut() {
		for k := range int64(12) {
			p := t.HeldOut(k)
			put(t.One(p))
			fmt.Fprintln(w, p, t.Prompt(p), t.ExpectedSeen([]task.Problem{p}, 1000))
		}
	}
	later := t.Over(1000)
	for _, k := range []int64{0, 1, 99, 250, 500, 999} {
		fmt.Fprintln(w, later.Train(k))
	}
	wide := t.WithPad(spec.Eval.Pad)
	for _, digits := range spec.Eval.Digits {
		put(wide.Batch(wide.Test(digits, 2)))
	}
	if g := spec.Eval.Grid; g.First.Hi > 0 {
		put(wide.Batch(wide.Cell(g.First.Hi, g.Second.Hi, 2)))
	}
	return failed
}
