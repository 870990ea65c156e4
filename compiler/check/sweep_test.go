package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const swept = `arith 2
task addition {}
sweep {
  arch narrow {
    model.width = 32
    model.heads = 2
  }
  arch wide {}
  model.encoder.layers = [1, 2]
  model.decoder.layers = 4 / model.encoder.layers
  model.decoder.self.bias = [none, fire(hidden = 8)]
  train.seed = 1..2
}
`

// TestPoints combines axes in order and resolves each training.
func TestPoints(t *testing.T) {
	read := reader(map[string]string{"a.arith": swept})
	points, list := Points(Options{Path: "a.arith", Read: read})
	if len(list) > 0 || len(points) != 2*2*2*2 {
		t.Fatalf("%d points, %v", len(points), list)
	}
	names := make(map[string]bool)
	for _, p := range points {
		names[p.Name] = true
		spec, list := Resolve(Options{Path: "a.arith", Read: read, Set: p.Set})
		if len(list) > 0 {
			t.Fatalf("%s: %s", p.Name, list[0].Message)
		}
		if m := spec.Model; m.Encoder.Layers*m.Decoder.Layers != 4 || (m.Width == 32) != strings.Contains(p.Name, "narrow") {
			t.Errorf("%s has %d and %d layers of width %d", p.Name, m.Encoder.Layers, m.Decoder.Layers, m.Width)
		}
	}
	if len(names) != len(points) {
		t.Errorf("%d names of %d points", len(names), len(points))
	}
	want := Point{
		Name: "arch=narrow,encoder.layers=2,decoder.layers=2,bias=fire(hidden=8),seed=1",
		Slug: "narrow-encoder.layers-2-decoder.layers-2-bias-fire-hidden-8-seed-1",
		Set: []string{"sweep.arch=narrow", "sweep.model.encoder.layers=[2]", "sweep.model.decoder.layers=[2]",
			"sweep.model.decoder.self.bias=[fire(hidden = 8)]", "sweep.train.seed=[1]"},
		Axes: map[string]string{"model.width": "arch", "model.heads": "arch", "model.encoder.layers": "model.encoder.layers",
			"model.decoder.layers": "model.decoder.layers", "model.decoder.self.bias": "model.decoder.self.bias", "train.seed": "train.seed"},
	}
	if diff := cmp.Diff(want, points[6]); diff != "" {
		t.Error(diff)
	}
	first, _ := Resolve(Options{Path: "a.arith", Read: read})
	pinned, _ := Resolve(Options{Path: "a.arith", Read: read, Set: points[0].Set})
	if diff := cmp.Diff(first, pinned, sameSpec); diff != "" {
		t.Errorf("the sweep resolves to another than its first training: %s", diff)
	}
}

// TestResolveAll: each training equals the spec that resolves alone.
func TestResolveAll(t *testing.T) {
	read := reader(map[string]string{"a.arith": swept})
	all, list := ResolveAll(Options{Path: "a.arith", Read: read})
	if len(list) > 0 || len(all) != 16 {
		t.Fatalf("%d trainings, %v", len(all), list)
	}
	for _, got := range all {
		alone, list := Resolve(Options{Path: "a.arith", Read: read, Set: got.Point.Set})
		if len(list) > 0 {
			t.Fatal(list[0].Message)
		}
		if diff := cmp.Diff(alone, got.Spec, sameSpec); diff != "" {
			t.Errorf("%s: %s", got.Point.Name, diff)
		}
	}
}

// TestUsedSomewhere: definitions that one training uses cause no warning.
func TestUsedSomewhere(t *testing.T) {
	const near = "bias near { s = learned([H])  value = -s[h] * abs(i - j) }\n"
	const axis = "sweep { model.decoder.self.bias = "
	for src, want := range map[string]string{
		near + axis + "[none, near] }":                                                        "",
		near + axis + "[none, 0.5 * i] }":                                                     "V017",
		near + axis + "[none, 2 * near] }":                                                    "",
		near + "bias.near.value = -abs(i - j)\n" + "model.decoder.self.bias = near":           "E0204",
		near + "--set bias.near.value=-abs(i - j)\nmodel.decoder.self.bias = near":            "V003",
		near + "bias far { value = near }\nmodel.decoder.self.bias = far":                     "",
		near + "bias far { value = near }\nmodel.decoder.self.bias = alibi":                   "V017 V017",
		near + "mask left { value = j <= i }\nmodel.decoder.self.bias = where(left, near, 0)": "",
		near + "mask left { value = j <= i }\nmodel.decoder.self.bias = near":                 "V017",
		"include \"b.arith\"\n":                                                               "",
		"include \"b.arith\"\nbias.near.value = -2 * abs(i - j)":                              "",
		"sweep { row a { " + near + "}  row b { model.decoder.self.bias = 0.5 * i } }":        "V017",
		"sweep { row a { " + near + "model.decoder.self.bias = near }  row b {} }":            "",
		"stage a { " + near + "}\nstage b { from = a  model.decoder.self.bias = 0.5 * i }":    "V017",
		near + "stage a {}\nstage b { from = a  model.decoder.self.bias = near }":             "",
		near + "vet.unused_definition = off":                                                  "",
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition {}\n" + src + "\n", "b.arith": "arith 2\n" + near}, "a.arith")
		var codes []string
		for _, d := range list {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// TestSlugs: each point has a slug that can be a folder's name.
func TestSlugs(t *testing.T) {
	long := strings.Repeat("x", maxSlug)
	read := reader(map[string]string{"a.arith": "arith 2\ntask addition {}\nsweep {\n  task.operands = [digits(1..5), digits(5)]\n" +
		"  model.decoder.self.bias = [0.5 * i, -0.5 * i, 1e-3 * i]\n  end " + long + " {}\n  end " + long + "y { train.seed = 1 }\n}\n"})
	points, list := Points(Options{Path: "a.arith", Read: read})
	if len(list) > 0 || len(points) != 12 {
		t.Fatalf("%d points, %v", len(points), list)
	}
	seen := make(map[string]bool)
	for _, p := range points {
		if seen[p.Slug] || len(p.Slug) > maxSlug+4 || strings.ContainsAny(p.Slug, " =,()*/") || strings.Contains(p.Slug, "..") {
			t.Errorf("%s is called %s", p.Name, p.Slug)
		}
		seen[p.Slug] = true
	}
	if want := "operands-digits-1-5-bias-0.5-i-x"; !strings.HasPrefix(points[0].Slug, want) {
		t.Errorf("%s is called %s, want %s…", points[0].Name, points[0].Slug, want)
	}
}

// TestName checks the spec's name, with and without Options.Name.
func TestName(t *testing.T) {
	read := reader(map[string]string{"d/a.b.arith": "arith 2\ntask addition {}\n"})
	for _, c := range [][2]string{{"", "a.b"}, {"other", "other"}} {
		if spec, _ := Resolve(Options{Path: "d/a.b.arith", Read: read, Name: c[0]}); spec == nil || spec.Name != c[1] {
			t.Errorf("the name is not %s", c[1])
		}
	}
}

// TestPathsOfAxes: file paths are relative to the spec, even if an included file has the
// sweep.
func TestPathsOfAxes(t *testing.T) {
	files := map[string]string{
		"a.arith": "arith 2\ninclude \"parts/b.arith\"\ntask file {}\n",
		"parts/b.arith": `arith 2
sweep {
  task.path = ["x.txt", "../y.txt"]
  model.decoder.self.bias = [table("t.st")]
}
`,
		"parts/t.st":  safetensors(`{"t":{"dtype":"F32","shape":[8,9]}}`),
		"parts/x.txt": "a=1\nb=2\n",
		"y.txt":       "a=1\nb=2\n",
	}
	points, list := Points(Options{Path: "a.arith", Read: reader(files)})
	if len(points) != 2 || len(list) > 0 {
		t.Fatalf("%v %v", points, list)
	}
	for n, want := range []string{"parts/x.txt", "y.txt"} {
		spec, list := Resolve(Options{Path: "a.arith", Read: reader(files), Set: points[n].Set})
		if spec == nil || spec.Task.Path != want || spec.Model.Decoder.Self.Params[0].From != "parts/t.st" {
			t.Errorf("%s: %v", points[n].Name, textOf(list, files))
		}
	}
}

// TestPins overrides axes by --set.
func TestPins(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want int
	}{
		{[]string{"sweep.train.seed=7"}, 8},
		{[]string{"sweep.arch=none"}, 8},
		{[]string{"sweep.arch=wide", "sweep.train.seed=7"}, 4},
		{[]string{"sweep.train.seed=1..3"}, 24},
		{[]string{"sweep.model.encoder.layers=4"}, 8},
		{[]string{"train.batch=8"}, 16},
	} {
		points, list := Points(Options{Path: "a.arith", Read: reader(map[string]string{"a.arith": swept}), Set: c.set})
		if len(list) > 0 || len(points) != c.want {
			t.Errorf("%v: %d points, want %d; %v", c.set, len(points), c.want, list)
		}
	}
}

// TestLaterWins: later settings in the file override earlier ones, and the command line
// overrides all.
func TestLaterWins(t *testing.T) {
	for _, c := range []struct {
		sweep string
		set   []string
		want  string // seeds and widths in order
	}{
		{"arch deep { train.seed = 9  model.width = 32 }  arch wide {}  train.seed = 1..2", nil, "1 32, 2 32, 1 64, 2 64, "},
		{"train.seed = 1..2  arch deep { train.seed = 9  model.width = 32 }  arch wide {}", nil, "9 32, 1 64, 9 32, 2 64, "},
		{"train.seed = 1..2  arch deep { train.seed = 9  model.width = 32 }  arch wide {}", []string{"model.width=128"}, "9 128, 1 128, 9 128, 2 128, "},
		{"arch deep { train.seed = 9  model.width = 32 }  arch wide {}", []string{"sweep.arch=deep", "model.width=128"}, "9 128, "},
	} {
		opts := Options{Path: "a.arith", Set: c.set, Read: reader(map[string]string{
			"a.arith": "arith 2\ntask addition {}\nmodel { width = 64  heads = 4 }\nsweep { " + c.sweep + " }\n"})}
		points, _ := Points(opts)
		built := ""
		for _, p := range points {
			opts.Set = slices.Concat(c.set, p.Set)
			spec, list := Resolve(opts)
			if list.HasErrors() {
				t.Fatalf("%s: %s", p.Name, list[0].Message)
			}
			built += fmt.Sprintf("%d %d, ", spec.Train.Seed, spec.Model.Width)
		}
		if built != c.want {
			t.Errorf("%s with %v: %s, want %s", c.sweep, c.set, built, c.want)
		}
		checked := ""
		ch := newChecker(Options{Path: "a.arith", Set: c.set, Read: opts.Read})
		ch.merge()
		for _, p := range ch.points() {
			s := ch.variant(p.merged()).build("a")
			checked += fmt.Sprintf("%d %d, ", s.Train.Seed, s.Model.Width)
		}
		if checked != c.want {
			t.Errorf("%s with %v: %s are checked, want %s", c.sweep, c.set, checked, c.want)
		}
	}
}

// TestSweepFindsAll compares the findings of a sweep, whose trainings reuse values, with
// the findings of each training alone.
func TestSweepFindsAll(t *testing.T) {
	for _, src := range []string{
		swept,
		"arith 2\ntask successor {}\nsweep { model.width = [60, 64, 1]  model.heads = [4, 8, many]  train.batch = [8, 16] }\ntrain.microbatch = 9\n",
		"arith 2\ntask successor {}\nbias b { n = 2  w = learned([n])  value = w[clip(i, 0, n - 1)] }\nmodel.decoder.self.bias = b\n" +
			"sweep { bias.b.n = [2, 0, 3]  model.decoder.self.mask = [true, 3, b]  model.ffn = [relu, geglu(7)] }\n",
		"arith 2\ntask successor {}\nsweep { kind loop { model.decoder_only.layers = 1 }  kind two { model.decoder.layers = 1 }  train.schedule = [constant, trapezoid(60%, 50%)] }\n",
		"arith 2\ntask successor {}\nstage a { train.batch = 7 }\nstage b { from = a  train.microbatch = 8 }\nsweep { train.batch = [6, 9]  model.heads = [4, 5] }\n",
	} {
		files := map[string]string{"a.arith": src}
		_, list := resolve(files, "a.arith")
		found := make(map[string]bool)
		for _, d := range list {
			found[d.Code+" "+d.Message] = true
		}
		points, _ := Points(Options{Path: "a.arith", Read: reader(files)})
		for _, p := range points {
			_, list := Resolve(Options{Path: "a.arith", Read: reader(files), Set: p.Set})
			for _, d := range list {
				if d.Range.Start.File != setFile && !found[d.Code+" "+d.Message] {
					t.Errorf("%s: %s %s is found in this training only", p.Name, d.Code, d.Message)
				}
			}
			if list.HasErrors() && len(found) == 0 {
				t.Errorf("%s has errors and the sweep has none", p.Name)
			}
		}
	}
}

// TestSearch draws trainings that differ, with values in their intervals. Draws are
// repeatable, and a larger number begins with the same points.
func TestSearch(t *testing.T) {
	const source = `arith 2
task addition {}
sweep {
  search = random(trainings = %s)
  arch narrow { model.width = 32  model.heads = 2 }
  arch wide {}
  train.optimizer.lr = loguniform(1e-4, 1e-2)
  model.dropout = uniform(10%%, 30%%)
  train.batch = uniform(64, 96)
  train.microbatch = train.batch
  train.seed = 1..1000
}
`
	draw := func(trainings string) []Point {
		points, list := Points(Options{Path: "a.arith", Read: reader(map[string]string{"a.arith": fmt.Sprintf(source, trainings)})})
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		return points
	}
	points := draw("40")
	if len(points) != 40 {
		t.Fatalf("%d points", len(points))
	}
	if diff := cmp.Diff(points[:15], draw("15")); diff != "" {
		t.Errorf("fewer are others: %s", diff)
	}
	if other := draw("15, seed = 2"); cmp.Equal(points[:15], other) {
		t.Error("another seed draws the same")
	}
	rates, wide := []float64{}, 0
	seen := map[string]bool{}
	for _, p := range points {
		spec, list := Resolve(Options{Path: "a.arith", Read: reader(map[string]string{"a.arith": fmt.Sprintf(source, "40")}), Set: p.Set})
		if list.HasErrors() {
			t.Fatalf("%s: %s", p.Name, list[0].Message)
		}
		tr, m := spec.Train, spec.Model
		if tr.LR < 1e-4 || tr.LR > 1e-2 || m.Dropout < 0.1 || m.Dropout > 0.3 || tr.Batch < 64 || tr.Batch > 96 || tr.MicroBatch != tr.Batch {
			t.Errorf("%s: lr %g, dropout %g, batch %d", p.Name, tr.LR, m.Dropout, tr.Batch)
		}
		if p.Search.Kind != "random" || seen[p.Slug] {
			t.Errorf("%+v", p)
		}
		seen[p.Slug] = true
		rates = append(rates, tr.LR)
		if m.Width != 32 {
			wide++
		}
	}
	slices.Sort(rates)
	if median := rates[len(rates)/2]; median < 3e-4 || median > 3e-3 || wide < 10 || wide > 30 {
		t.Errorf("the median rate is %g, and %d are wide", median, wide)
	}
}

// TestLargestSearch draws the largest number of trainings that a sweep may have, and one
// more.
func TestLargestSearch(t *testing.T) {
	for _, c := range []struct {
		trainings, stages int
		want              string // the code; "": no finding
	}{{maxPoints, 0, ""}, {maxPoints / 2, 2, ""}, {maxPoints/2 + 1, 2, "E0315"}} {
		src := fmt.Sprintf("arith 2\ntask addition {}\nsweep {\n  search = random(trainings = %d)\n  train.optimizer.lr = loguniform(1e-4, 1e-2)\n}\n", c.trainings)
		for n := range c.stages {
			src += fmt.Sprintf("stage s%d {}\n", n)
		}
		points, list := Points(Options{Path: "a.arith", Read: reader(map[string]string{"a.arith": src})})
		got := ""
		if len(list) > 0 {
			got = list[0].Code
		}
		if got != c.want || c.want == "" && len(points) != c.trainings {
			t.Errorf("%d trainings of %d stages: %q, want %q, and %d points", c.trainings, c.stages, got, c.want, len(points))
		}
	}
}

// TestShare gives trainings of halving their whole budget in the last rung, and a part smaller by
// the factor in each rung before it.
func TestShare(t *testing.T) {
	for rung, want := range []float64{1. / 9, 1. / 3, 1} {
		if got := (Search{Factor: 3, Rungs: 3}).Share(rung); math.Abs(got-want) > 1e-12 {
			t.Errorf("rung %d has the share %v, want %v", rung, got, want)
		}
	}
}

// TestBoundsOfSweeps sweeps over as many trainings, axes and stages as there may be, and one more.
func TestBoundsOfSweeps(t *testing.T) {
	axes := func(n int) string {
		text := "sweep {\n"
		for k := range n {
			text += fmt.Sprintf("k%d one { train.seed = %d }\n", k, k)
		}
		return text + "}\n"
	}
	stages := func(n int) (text string) {
		for k := range n {
			text += fmt.Sprintf("stage s%d { train.seed = %d }\n", k, k)
		}
		return text
	}
	for _, c := range []struct {
		name, src string
		want      int
		says      string
	}{
		{"trainings", "sweep.train.seed = 1..1000", 1000, ""},
		{"too many trainings", "sweep.train.seed = 1..1001", 0, "E0315 the sweep has more than 1000 trainings"},
		{"trainings of two stages", stages(2) + "sweep.train.batch = 1..500", 500, ""},
		{"too many of two stages", stages(2) + "sweep.train.batch = 1..501", 0, "E0315 the sweep has more than 1000 trainings"},
		{"products", "sweep { train.seed = 1..25  train.batch = 1..40 }", 1000, ""},
		{"axes", axes(32), 1, ""},
		{"too many axes", axes(33), 0, "E0315 the sweep has more than 32 axes"},
		{"stages", stages(32), 0, ""},
		{"too many stages", stages(33), 0, "E0315 there are more than 32 stages"},
	} {
		points, list := Points(options(map[string]string{"a.arith": "arith 2\ntask addition {}\n" + c.src}, "a.arith"))
		says := ""
		for _, d := range list {
			says += d.Code + " " + d.Message
		}
		if len(points) != c.want || says != c.says {
			t.Errorf("%s: %d trainings, %q; want %d, %q", c.name, len(points), says, c.want, c.says)
		}
	}
}

// TestNumbersOfAxes computes values from earlier axes and from attributes.
func TestNumbersOfAxes(t *testing.T) {
	for value, want := range map[string]string{
		"train.seed + 2": "[6]", "train.seed * 3": "[12]", "train.seed - 4": "[0]", "train.seed - 5": "[4 - 5]", "train.seed / 8": "[0.5]", "train.seed / 0": "[4 / 0]",
		"model.width * 2 + train.seed": "[132]", "[train.seed, 7]": "[4]", "train.clip": "[train.clip]",
	} {
		points, list := Points(options(map[string]string{"a.arith": "arith 2\ntask addition {}\nmodel.width = 64\nsweep {\n train.seed = [4]\n train.batch = " + value + "\n}\n"}, "a.arith"))
		if len(points) == 0 || len(list) > 0 {
			t.Errorf("%s: %v", value, list)
		} else if got := points[0].Set[1]; got != "sweep.train.batch="+want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
}

// TestDistinguish numbers slugs that are long or not the first of equals.
func TestDistinguish(t *testing.T) {
	fits, long := strings.Repeat("x", maxSlug), strings.Repeat("y", maxSlug+1)
	all := make([]point, 5)
	for n, slug := range []string{"a", fits, "a", long, "b"} {
		all[n].Slug = slug
	}
	distinguish(all)
	for n, want := range []string{"a", fits, "a-3", long[:maxSlug] + "-4", "b"} {
		if all[n].Slug != want {
			t.Errorf("slug %d is %s, want %s", n, all[n].Slug, want)
		}
	}
}
