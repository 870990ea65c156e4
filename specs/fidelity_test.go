package specs

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestDrawnPositions compares the positions of figure 21 with the authors' code, which draws 125 of
// 128. A problem of 30 tokens then ends at 29.7 on average.
// The n-th smallest of k numbers of 0 … m-1 is n(m+1)/(k+1) - 1 on average.
func TestDrawnPositions(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure21.arith", Read: os.ReadFile})
	silent(t, "abacus/figure21.arith", list)
	p, n := spec.Model.Position, spec.DrawnPositions()
	if n != 125 || p.Max != 128 {
		t.Fatalf("%d of %d positions are drawn, want 125 of 128", n, p.Max)
	}
	b := ir.NewBuilder("positions", spec.Model.Pos)
	b.Result("y", b.Subset(p.Max, n, spec.DrawGroup(), 1, ir.Sym("T")), false)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	const tokens, steps = 30, 5000
	last := func(rows int) (mean float64) {
		for step := range uint32(steps) {
			got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"T": rows}, Step: step}, nil)[0]
			mean += float64(got.I[tokens-1]) / steps
		}
		return mean
	}
	short, long := last(tokens), last(124)
	if want := 30.*129/126 - 1; short != long || math.Abs(short-want) > 0.05 {
		t.Errorf("a problem of %d tokens ends at %.2f alone and at %.2f beside a longer one, want %.2f", tokens, short, long, want)
	}
}

// TestRampOfFigure6 wants the batch to begin with what eight GPUs compute at once.
func TestRampOfFigure6(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure6.arith", Read: os.ReadFile})
	silent(t, "abacus/figure6.arith", list)
	if tr := spec.Train; tr.RampFrom != 8*tr.MicroBatch || tr.Budget.Examples != 400e6 || tr.Batch != 8192 || tr.Ramp != 0.6 {
		t.Errorf("%d examples from steps of %d to steps of %d, over %g of them", tr.Budget.Examples, tr.RampFrom, tr.Batch, tr.Ramp)
	}
}

// claims wants docs/fidelity.md to say something.
func claims(t *testing.T, format string, args ...any) {
	t.Helper()
	doc, err := os.ReadFile("../docs/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(format, args...)
	if !strings.Contains(strings.Join(strings.Fields(string(doc)), " "), text) {
		t.Errorf("docs/fidelity.md does not say %q", text)
	}
}

// thousands returns a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestFidelityOfPositions: all of a launch of 30, or the first 30 of 125.
func TestFidelityOfPositions(t *testing.T) {
	last := func(n, of, most float64) float64 { return n*(most+1)/(of+1) - 1 }
	claims(t, "ends at %.1f of 128, not at %.1f", last(30, 125, 128), last(30, 30, 128))
}

// TestFidelityOfRamp: runtime/train counts these steps.
func TestFidelityOfRamp(t *testing.T) {
	steps := func(from int) (n int) {
		const all, batch = 400_000_000, 8192
		for seen := 0; seen < all; n++ {
			seen += min((int(float64(seen)/all/0.6*batch/float64(from))+1)*from, batch)
		}
		return n
	}
	claims(t, "%s steps from 4,096 examples on, %s from 512 on", thousands(steps(4096)), thousands(steps(512)))
}

// TestFidelityOfMeans draws groups of additions as the headline has them.
func TestFidelityOfMeans(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "looped8x2.arith", Read: os.ReadFile})
	silent(t, "looped8x2.arith", list)
	tasks, err := tasks.New(task.Config(spec.Task.Task), 1)
	if err != nil {
		t.Fatal(err)
	}
	const groups = 100
	group, sum, squares := spec.Train.MicroBatch, 0.0, 0.0
	for g := range groups {
		labels := 0.0
		for k := range group {
			labels += float64(len(tasks.Train(int64(g*group+k)).Answer) + 1)
		}
		sum += labels / groups
		squares += labels * labels / groups
	}
	claims(t, "varies by %.1f %% between micro-batches of %d", 100*math.Sqrt(squares-sum*sum)/sum, group)
}

// TestFidelityOfClipping is of the smallest norm that is clipped.
func TestFidelityOfClipping(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "looped8x2.arith", Read: os.ReadFile})
	silent(t, "looped8x2.arith", list)
	claims(t, "at most %.0fe-6 of a gradient", 1e6*(1-spec.Train.Clip/(spec.Train.Clip+1e-6)))
}

// TestFidelityOfAlpha wants no spec to have two passes.
func TestFidelityOfAlpha(t *testing.T) {
	for _, file := range few(t) {
		spec, _ := check.Resolve(check.Options{Path: file, Read: os.ReadFile})
		if spec.Train.Progressive && spec.Train.Alpha != 1 {
			t.Errorf("%s has an alpha of %g", file, spec.Train.Alpha)
		}
	}
}

// TestFidelityOfStarts is of the values of the headline's depth, by deepnorm's gain
// and without.
func TestFidelityOfStarts(t *testing.T) {
	const width, depth = 1024, 16
	normal := math.Sqrt(2. / (width + width))
	claims(t, "deviation of %.5f", normal)
	claims(t, "values have %.5f in all heads", math.Pow(8*depth, -0.25)*normal)
}

// TestFidelityOfOr counts what whole micro-batches leave out.
func TestFidelityOfOr(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure8.arith", Read: os.ReadFile})
	silent(t, "abacus/figure8.arith", list)
	trained := int(spec.Task.Examples) - int(spec.Task.Holdout*float64(spec.Task.Examples))
	claims(t, "%d of %s rows are never seen with micro-batches of 512, %d with 256", trained%512, thousands(trained), trained%256)
}

// TestFidelityOfCells: of n equally likely problems, n(1 - (1 - 1/n)^100) come among 100.
func TestFidelityOfCells(t *testing.T) {
	different := func(n float64) float64 { return n * (1 - math.Pow(1-1/n, 100)) }
	claims(t, "%.1f of 100 problems of 1 × 1 digits are distinct, here all 81, %.1f of 2 × 1, %.1f of 2 × 2",
		different(9*9), different(90*9), different(90*90))
	spec, _ := check.Resolve(check.Options{Path: "looped8x2.arith", Read: os.ReadFile})
	tasks, err := tasks.New(task.Config(spec.Task.Task), 1)
	if err != nil {
		t.Fatal(err)
	}
	for digits, want := range map[[2]int]int{{1, 1}: 81, {2, 1}: 100, {2, 2}: 100} {
		seen := map[string]bool{}
		for _, p := range tasks.Cell(digits[0], digits[1], 100) {
			seen[tasks.Text(p)] = true
		}
		if len(seen) != want {
			t.Errorf("%v digits: %d different problems, want %d", digits, len(seen), want)
		}
	}
}

// TestFidelityOfBiases counts the biases that start otherwise, and the pairs of
// operands, of the paper's recipe for addition.
func TestFidelityOfBiases(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "bias/addition_vanilla.arith", Read: os.ReadFile,
		Set: []string{"model.init=xavier(biases = uniform)", "task.operands=below(1Mi, epochs = same)"}})
	silent(t, "bias/addition_vanilla.arith", list)
	p, err := model.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	all, biases, bounds := 0, 0, map[string]bool{}
	for _, g := range p.Groups {
		for _, param := range g.Params {
			n := g.Layers * param.Elems()
			all += n
			if param.Init.Kind == "uniform" && strings.HasSuffix(param.Name, ".b") {
				biases += n
				bounds[fmt.Sprintf("±%.3f", param.Init.B)] = true
			}
		}
	}
	claims(t, "%s of %s parameters: ±0.088, and ±0.044 behind the hidden units", thousands(biases), thousands(all))
	if len(bounds) != 2 || !bounds["±0.088"] || !bounds["±0.044"] {
		t.Errorf("bounds %v", bounds)
	}
	const epochs = 26 // of base/paper.arith
	trained := spec.Task.Below - int64(spec.Task.Holdout*float64(spec.Task.Below))
	claims(t, "%s pairs in %d epochs, not %s", thousands(int(trained)), epochs, thousands(int(epochs*trained)))
}

// TestFidelityOfTheEnd computes a softmax over two cells of equal scores, one of which has the bias
// of a line.
func TestFidelityOfTheEnd(t *testing.T) {
	share := func(line float64) float64 { return 100 / (1 + math.Exp(line)) }
	claims(t, "a line of 1.5 to 3.2, as `specs/small/successor_abc.arith` finds, the end gets %.0f to %.0f %%", share(1.5), share(3.2))
}

// TestFidelityOfColumns: one of n lines is sqrt(n-1) deviations above their mean where
// all others are equal, and never more.
func TestFidelityOfColumns(t *testing.T) {
	claims(t, "a line of seven stands at most %.1f deviations above the mean, so 4.5 would keep no column", math.Sqrt(7-1))
}

// TestFidelityOfFillers looks for texts of figure 20 that would have more.
func TestFidelityOfFillers(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure20.arith", Read: os.ReadFile})
	silent(t, "abacus/figure20.arith", list)
	tasks, err := tasks.New(task.Config(spec.Task.Task), 1)
	if err != nil {
		t.Fatal(err)
	}
	const texts = 20_000
	for k := range int64(texts) {
		p := tasks.Train(k)
		fillers, characters := 0, len(p.Fillers)
		for _, n := range p.Fillers {
			fillers += int(n)
		}
		if bound := 8 + 2*spec.Task.RandomPad*float64(characters); float64(fillers) >= bound {
			t.Errorf("text %d has %d fillers among %d characters", k, fillers, characters)
		}
	}
	claims(t, "none of %s texts has as many", thousands(texts))
}

// TestFidelityOfPaper resolves what the document says to write.
func TestFidelityOfPaper(t *testing.T) {
	const path = "bias/as_theirs.arith"
	doc, err := os.ReadFile("../docs/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "arith 2\ninclude \"addition_vanilla.arith\"\ninclude \"../base/calibration.arith\"\ninclude \"../base/paper.arith\"\n"
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "    ") {
			text += line
		}
	}
	spec, list := check.Resolve(check.Options{Path: path, Read: func(name string) ([]byte, error) {
		if name == path {
			return []byte(text), nil
		}
		return os.ReadFile(name)
	}})
	if list.HasErrors() {
		silent(t, path, list)
	}
	last := spec.Stages[len(spec.Stages)-1].Spec
	if !last.Model.InitBiases || !last.Task.Repeated || !strings.HasPrefix(last.Model.Decoder.Cross.Bias.String(), "max(") {
		t.Errorf("biases %t, epochs %t, %s", last.Model.InitBiases, last.Task.Repeated, last.Model.Decoder.Cross.Bias)
	}
}
