package train

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

func TestRate(t *testing.T) {
	for _, c := range []struct {
		schedule         string
		warmup, cooldown float64
		want             [5]float64 // at 0.05, 0.1, 0.5, 0.8, 0.95 of the budget, for a rate of 2
	}{
		{"constant", 0, 0, [5]float64{2, 2, 2, 2, 2}},
		{"constant", 0.1, 0.4, [5]float64{1, 2, 2, 2, 2}},
		{"trapezoid", 0.1, 0.4, [5]float64{1, 2, 2, 1, 0.25}},
		{"trapezoid", 0, 0, [5]float64{2, 2, 2, 2, 2}},
		{"trapezoid", 0.5, 1, [5]float64{0.2, 0.4, 1, 0.4, 0.1}},
		{"cosine", 0.1, 0.4, [5]float64{1, 2, 2, 1, 1 - math.Cos(math.Pi/8)}},
		{"cosine", 0, 0, [5]float64{1 + math.Cos(math.Pi*0.05), 1 + math.Cos(math.Pi*0.1), 1, 1 + math.Cos(math.Pi*0.8), 1 + math.Cos(math.Pi*0.95)}},
		{"cosine", 0.2, 0, [5]float64{0.5, 1, 1 + math.Cos(math.Pi*0.375), 1 + math.Cos(math.Pi*0.75), 1 + math.Cos(math.Pi*0.9375)}},
	} {
		cfg := Config{LR: 2, Schedule: c.schedule, Warmup: c.warmup, Cooldown: c.cooldown}
		for i, at := range []float64{0.05, 0.1, 0.5, 0.8, 0.95} {
			if got := cfg.rate(at); math.Abs(got-c.want[i]) > 1e-12 {
				t.Errorf("%s(%g, %g) at %g is %g, want %g", c.schedule, c.warmup, c.cooldown, at, got, c.want[i])
			}
		}
	}
}

// TestLeastRate compares with the formula of nanoGPT's schedule: min + (lr - min) (1 + cos(pi x)) / 2.
func TestLeastRate(t *testing.T) {
	cfg := Config{LR: 1e-3, Schedule: "cosine", Warmup: 0.05, Least: 0.1}
	for _, at := range []float64{0.05, 0.3, 0.525, 0.9, 1} {
		x := (at - 0.05) / 0.95
		if got, want := cfg.rate(at), 1e-4+9e-4*(1+math.Cos(math.Pi*x))/2; math.Abs(got-want) > 1e-15 {
			t.Errorf("the rate at %g is %g, want %g", at, got, want)
		}
	}
	if got := cfg.rate(0.025); math.Abs(got-5e-4) > 1e-15 {
		t.Errorf("halfway through the warm-up it is %g", got)
	}
}

// TestPieces checks the schedule at its points and halfway between them.
func TestPieces(t *testing.T) {
	cfg := Config{LR: 2, Schedule: "pieces", At: []float64{0.1, 0.2, 0.6, 1}, Factor: []float64{0, 1, 1, 0.01}}
	for at, want := range map[float64]float64{0: 0, 0.1: 0, 0.15: 1, 0.2: 2, 0.4: 2, 0.6: 2, 0.8: 1.01, 1: 0.02, 1.5: 0.02} {
		if got := cfg.rate(at); math.Abs(got-want) > 1e-12 {
			t.Errorf("the rate at %g is %g, want %g", at, got, want)
		}
	}
	cfg.Factor = cfg.Factor[:3]
	if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), "want as many") {
		t.Errorf("three factors at four points: %v", err)
	}
}

// TestLength compares the number of a training's examples with a count of its batches.
func TestLength(t *testing.T) {
	for _, c := range []Config{
		{Batch: 32, Budget: Budget{Steps: 57}},
		{Batch: 32, Budget: Budget{Steps: 57}, Ramp: 0.6, RampFrom: 5},
		{Batch: 32, Budget: Budget{Steps: 57}, Ramp: 1, RampFrom: 7},
	} {
		var s State
		for ; c.used(s, 0) < 1; s.Step++ {
			s.Examples += int64(c.batch(c.used(s, 0)))
		}
		if got := c.Length(); got != s.Examples {
			t.Errorf("a training of %+v has %d examples, want %d", c.Budget, got, s.Examples)
		}
	}
	if got := (&Config{Batch: 32, Budget: Budget{Examples: 1000}}).Length(); got != 1000 {
		t.Errorf("a training of 1000 examples has %d", got)
	}
	if got := (&Config{Batch: 32, Budget: Budget{Time: 1000}}).Length(); got != 0 {
		t.Errorf("a training of a time has %d examples", got)
	}
}

// TestTrapezoid pins the schedule of arXiv:2405.17399 at the points of its fact sheet.
func TestTrapezoid(t *testing.T) {
	cfg := Config{LR: 1, Schedule: "trapezoid", Warmup: 0.1, Cooldown: 0.1}
	for at, want := range map[float64]float64{0: 0, 0.05: 0.5, 0.5: 1, 0.95: 0.5, 1: 0} {
		if got := cfg.rate(at); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %g the rate is %g, want %g", at, got, want)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		budget       Budget
		state        State
		elapsed      time.Duration
		used, middle float64
		steps, every int
	}{
		{Budget{Steps: 1000}, State{Step: 250}, 0, 0.25, 0.2505, 1000, 10},
		{Budget{Steps: 20}, State{}, 0, 0, 0.025, 20, 1},
		{Budget{Examples: 1000}, State{Examples: 300}, 0, 0.3, 0.35, 10, 1},
		{Budget{Examples: 1001}, State{Examples: 1100}, 0, 1100. / 1001, 1150. / 1001, 11, 1},
		{Budget{Time: time.Minute}, State{Step: 7}, 15 * time.Second, 0.25, 0.25, 0, 20},
		{Budget{FLOP: 1e6}, State{}, 0, 0, 0.04, 0, 20},
		{Budget{FLOP: 1e6}, State{Examples: 200, Rows: 1000}, 0, 0.1, 0.125, 0, 20},
		{Budget{FLOP: 1e6}, State{Examples: 1, Rows: 4}, 0, 0.0004, 0.0204, 0, 20},
		{Budget{FLOP: 1}, State{}, 0, 0, 40_000, 0, 20},
	} {
		const batch = 100
		cfg := Config{Budget: c.budget, Batch: batch, Rows: 8, RowFLOP: 100}
		if got := cfg.used(c.state, c.elapsed); got != c.used {
			t.Errorf("%s at %v: %g used, want %g", c.budget, c.state, got, c.used)
		}
		if got := cfg.middle(c.state, batch, c.elapsed); got != c.middle {
			t.Errorf("%s at %v: the middle of the step is %g, want %g", c.budget, c.state, got, c.middle)
		}
		if steps, every := cfg.Steps(), cfg.reportEvery(); steps != c.steps || every != c.every {
			t.Errorf("%s: %d steps, a report every %d, want %d, %d", c.budget, steps, every, c.steps, c.every)
		}
	}
}

// TestRamp pins the batch of arXiv:2405.17399 at the points of its fact sheet: from one draw group
// to 8192 examples.
func TestRamp(t *testing.T) {
	for _, c := range []struct {
		group int
		at    float64
		want  int
	}{
		{256, 0, 256}, {256, 0.3, 4352}, {256, 0.59, 8192}, {256, 0.6, 8192}, {256, 1, 8192},
		{4096, 0, 4096}, {4096, 0.29, 4096}, {4096, 0.3, 8192}, {4096, 0.9, 8192},
		{3000, 0.59, 8192}, // not a whole number of groups
	} {
		cfg := Config{Batch: 8192, Ramp: 0.6, MicroBatch: 2, Group: c.group}
		if got := cfg.batch(c.at); got != c.want {
			t.Errorf("groups of %d, at %g: a batch of %d, want %d", c.group, c.at, got, c.want)
		}
	}
	if got := (&Config{Batch: 100, MicroBatch: 8}).batch(0); got != 100 {
		t.Errorf("without a ramp the first batch is %d of 100", got)
	}
}

// TestRampFrom counts the steps of 400M examples. They begin with a micro-batch of 512 on one GPU
// or on each of eight, as for figure 6 of arXiv:2405.17399.
func TestRampFrom(t *testing.T) {
	for _, c := range []struct{ from, first, later, steps int }{
		{0, 512, 4608, 118_578},
		{4096, 4096, 8192, 63_477},
	} {
		cfg := Config{Batch: 8192, Ramp: 0.6, RampFrom: c.from, MicroBatch: 8, Group: 512, Budget: Budget{Examples: 400e6}}
		if first, later, steps := cfg.batch(0), cfg.batch(0.3), cfg.Steps(); first != c.first || later != c.later || steps != c.steps {
			t.Errorf("from %d: steps of %d, after 30 %% of %d, %d in all; want %d, %d, %d", c.from, first, later, steps, c.first, c.later, c.steps)
		}
	}
}

// TestRampSteps counts the steps of a growing batch. The first 500 of 1000 examples come 10, 20,
// 30, … at a time.
func TestRampSteps(t *testing.T) {
	cfg := Config{Batch: 50, Ramp: 0.5, MicroBatch: 10, Budget: Budget{Examples: 1000}}
	var sizes []int
	for s := (State{}); cfg.used(s, 0) < 1; {
		n := cfg.batch(cfg.used(s, 0))
		sizes = append(sizes, n)
		s.Examples += int64(n)
	}
	want := []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 30, 30, 30, 30, 40, 40, 50, 50, 50}
	if n := len(want); !cmp.Equal(sizes[:n], want) || cfg.Steps() != len(sizes) {
		t.Errorf("%d steps of\n%v, want\n%v", cfg.Steps(), sizes, want)
	}
}

// TestGroupsOfAStep checks that each draw group of a step has the examples with its numbers, and
// their labels.
func TestGroupsOfAStep(t *testing.T) {
	tasks, err := tasks.New(task.Config{Kind: "addition", DigitsLo: 1, DigitsHi: 20, Base: 10, Sequence: true}, 3)
	if err != nil {
		t.Fatal(err)
	}
	const n, group = 48, 16
	s := newStepper(&Trainer{Task: tasks, Plan: &device.Plan{}, Config: Config{MicroBatch: 4, Group: group}})
	b, err := s.source.draw(n, n)
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < n; first += group {
		want, got := 0, 0
		for row := first; row < first+group; row++ {
			alone, err := tasks.One(tasks.Train(n + int64(row)))
			if err != nil {
				t.Fatal(err)
			}
			want += alone.Kept()
			part := b.Slice(row, row+1)
			got += part.Kept()
		}
		if want != got {
			t.Errorf("the group from %d on has %d labels, its examples %d", first, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Config{Schedule: "constant", Batch: 4, MicroBatch: 2, Budget: Budget{Steps: 1}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		`schedule "linear"`:                          func(c *Config) { c.Schedule = "linear" },
		"the budget must be":                         func(c *Config) { c.Budget = Budget{} },
		"the budget must be a":                       func(c *Config) { c.Budget.Examples = 5 },
		"a batch of 0 in micro-batch":                func(c *Config) { c.Batch = 0 },
		"a batch that grows from 5 examples to 4":    func(c *Config) { c.RampFrom = 5 },
		"chunks of 3 examples in micro-batches of 2": func(c *Config) { c.Chunk = 3 },
		"groups of 5 examples in micro-batches of 2": func(c *Config) { c.Group = 5 },
		"gradients through 3 of 2 runs":              func(c *Config) { c.Progressive, c.Times, c.Backprop = true, 2, 3 },
		"a sum over the batch":                       func(c *Config) { c.SumLoss = true },
		"a budget in FLOP for a model":               func(c *Config) { c.Budget = Budget{FLOP: 1} },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCurriculumNeedsLength refuses a curriculum if the length of training is unknown.
func TestCurriculumNeedsLength(t *testing.T) {
	grows, err := tasks.New(task.Config{Kind: "copy", DigitsLo: 1, DigitsHi: 3, Base: 10, Sequence: true, Curriculum: config.Curriculum{From: 1, Until: 0.5}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		budget Budget
		task   *task.Task
		want   string // "": nothing is wrong
	}{
		{Budget{Steps: 1}, grows, ""},
		{Budget{Time: time.Minute}, addition(t, 3, 0), ""},
		{Budget{Time: time.Minute}, grows, "E0340: a curriculum goes by the share of the training"},
		{Budget{}, grows, "the budget must be"},
	} {
		tr := &Trainer{Task: c.task, Config: Config{Schedule: "constant", Batch: 1, MicroBatch: 1, Budget: c.budget}}
		if err := tr.Check(); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.budget, err, c.want)
		}
	}
}

func TestInitial(t *testing.T) {
	const n = 40_000 // more than a goroutine has
	params := []device.Param{
		{Name: "c", Init: device.Init{Kind: "const", A: 0.5}},
		{Name: "u", Shape: []int{n / 2, 2}, Off: 1, Init: device.Init{Kind: "uniform", A: -1, B: 3}},
		{Name: "n", Shape: []int{n}, Off: 1 + n, Init: device.Init{Kind: "normal", A: 0.02}},
	}
	starts := func(params []device.Param, seed uint64) []float32 {
		x := make([]float32, 1+2*n)
		for i, p := range params {
			initial(x[p.Off:p.Off+p.Elems()], p, i, seed)
		}
		return x
	}
	a := starts(params, 5)
	src := philox.NewSource(5, philox.Init, 1, 0)
	for e := range n { // one after another
		if want := float32(initials["uniform"].draw(params[1].Init, src)); a[1+e] != want {
			t.Fatalf("element %d of u is %g, want %g", e, a[1+e], want)
		}
	}
	if a[0] != 0.5 {
		t.Errorf("the constant is %g", a[0])
	}
	moments := func(x []float32) (mean, deviation float64) {
		for _, v := range x {
			mean += float64(v) / n
		}
		for _, v := range x {
			deviation += (float64(v) - mean) * (float64(v) - mean) / n
		}
		return mean, math.Sqrt(deviation)
	}
	for _, v := range a[1 : 1+n] {
		if v < -1 || v > 3 {
			t.Fatalf("a uniform value is %g", v)
		}
	}
	if mean, dev := moments(a[1 : 1+n]); math.Abs(mean-1) > 0.03 || math.Abs(dev-4/math.Sqrt(12)) > 0.03 {
		t.Errorf("uniform: mean %g, deviation %g", mean, dev)
	}
	if mean, dev := moments(a[1+n:]); math.Abs(mean) > 0.0006 || math.Abs(dev-0.02) > 0.0006 {
		t.Errorf("normal: mean %g, deviation %g", mean, dev)
	}
	if !cmp.Equal(a, starts(params, 5)) || cmp.Equal(a, starts(params, 6)) {
		t.Error("initial values are not a function of the seed")
	}
	if cmp.Equal(starts(params[1:2], 5)[1:1+n], a[1:1+n]) {
		t.Error("two parameters start equal")
	}
}

func TestStretches(t *testing.T) {
	params := []device.Param{
		{Name: "a", Shape: []int{2, 2}, Off: 0, Decay: true}, {Name: "b", Shape: []int{2}, Off: 4}, {Name: "c", Off: 6},
		{Name: "d", Shape: []int{3, 1}, Off: 7, Decay: true},
	}
	tr := Trainer{Plan: &device.Plan{NumParams: 10}, Params: params, Config: Config{Decay: 0.5}}
	want := []stretch{{0, 4, 0.5, none}, {4, 7, 0, none}, {7, 10, 0.5, none}}
	if diff := cmp.Diff(want, tr.stretches(), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	tr.Config.Decay = 0
	if diff := cmp.Diff([]stretch{{0, 10, 0, none}}, tr.stretches(), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	params[0].Matrix, params[3].Matrix, params[1].Decay = true, true, true
	tr.Config.Decay = 0.5
	if diff := cmp.Diff([]stretch{{4, 6, 0.5, none}, {6, 7, 0, none}}, tr.stretches(), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	least := float32(-1)
	params[2].Min = &least
	if diff := cmp.Diff([]stretch{{4, 6, 0.5, none}, {6, 7, 0, least}}, tr.stretches(), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	params[1].Matrix, params[2].Matrix, params[0].Matrix = true, true, false
	params[3].Matrix = false
	if diff := cmp.Diff([]stretch{{0, 4, 0.5, none}, {7, 10, 0.5, none}}, tr.stretches(), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
}

// TestMatrices updates each matrix once, by the program of its shape and with its decay, for any
// cut of all elements.
func TestMatrices(t *testing.T) {
	type update struct {
		rows, at int
		decay    float32
	}
	begin := map[int]int{1: 0, 3: 2, 7: 4, 9: 6} // by offset: elements of matrices before
	for cuts := range 1 << 7 {                   // before each element but the first
		var got []update
		lo, hi := 0, 1
		program := func(rows, cols int) device.Matrix {
			run := func(_ device.Queue, e *device.Env) {
				got = append(got, update{rows, e.P, e.Decay})
				if at := begin[e.P]; at < lo || hi <= at {
					t.Errorf("cut at %b: elements %d to %d have the matrix that begins at %d", cuts, lo, hi-1, at)
				}
			}
			return device.Matrix{Rows: rows, Cols: cols, Update: device.Program{Layout: device.FlatLayout, Run: run}}
		}
		tr := Trainer{
			Plan: &device.Plan{NumParams: 11, Matrices: []device.Matrix{program(1, 2), program(2, 1)}},
			Params: []device.Param{
				{Shape: []int{1}}, {Shape: []int{2, 1}, Off: 1, Matrix: true, Decay: true}, {Shape: []int{1, 2}, Off: 3, Matrix: true},
				{Shape: []int{1, 2}, Off: 5}, {Shape: []int{2, 1}, Off: 7, Matrix: true, Decay: true}, {Shape: []int{2, 1}, Off: 9, Matrix: true, Decay: true},
			},
			Config: Config{Decay: 0.5},
		}
		s := &stepper{Trainer: &tr, matrices: tr.matrices()}
		for ; hi <= 8; hi++ {
			if hi == 8 || cuts>>(hi-1)&1 > 0 {
				s.updateMatrices(&fakeWorker{}, lo, hi)
				lo = hi
			}
		}
		want := []update{{2, 1, 0.5}, {1, 3, 0}, {2, 7, 0.5}, {2, 9, 0.5}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(update{})); diff != "" {
			t.Fatalf("cut at %b: %s", cuts, diff)
		}
		if n := s.matrices[len(s.matrices)-1].end; n != 8 {
			t.Fatalf("%d elements of matrices", n)
		}
	}
}

// A fakeWorker computes nothing.
type fakeWorker struct {
	device.Worker
	env device.Env
	to  device.Launcher
}

func (w *fakeWorker) Env() *device.Env    { return &w.env }
func (w *fakeWorker) Queue() device.Queue { return device.NewQueue(w.to) }
func (w *fakeWorker) Fit(int, int)        {}

// TestRangesOfStretches checks that parts of alike stretches are updated at their places in the
// arena, the first by a launch and the others by joined ones.
func TestRangesOfStretches(t *testing.T) {
	var ran []device.Env
	var said launched
	update := device.Program{
		Layout: func(*device.Env) device.Layout { return device.Layout{} },
		Run: func(q device.Queue, e *device.Env) {
			q.Launch(0, e)
			ran = append(ran, *e)
		},
	}
	s := &stepper{Trainer: &Trainer{Plan: &device.Plan{Update: update}}, alike: []stretch{{7, 20, 0.5, 2}, {40, 53, 0.5, 2}, {27, 40, 0.5, 2}}, optimizer: device.Env{Step: 3}}
	s.updateRange(&fakeWorker{to: &said}, 2, 5)
	for i, e := range ran {
		if e.P != []int{9, 42, 29}[i] || e.N != 3 || e.Decay != 0.5 || e.Bound != 2 || e.Step != 3 {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if !slices.Equal(said.joins, []bool{false, true, true}) {
		t.Errorf("launches that join: %v", said.joins)
	}
}

// launched is a Launcher that records which launches joined others.
type launched struct {
	device.Launcher
	joins []bool
}

func (l *launched) Launch(int, *device.Env, ...device.Ref) { l.joins = append(l.joins, false) }
func (l *launched) Join(int, *device.Env, ...device.Ref)   { l.joins = append(l.joins, true) }

// TestAlike groups stretches that differ only in their place, if launches can join.
func TestAlike(t *testing.T) {
	all := []stretch{{7, 9, 0, none}, {1, 3, 0, none}, {3, 5, 0.5, none}, {20, 23, 0.5, none}, {30, 33, 0.5, none}, {40, 43, 0.5, 1}}
	for joins, want := range map[bool][]int{true: {2, 1, 2, 1}, false: {1, 1, 1, 1, 1, 1}} {
		var got []int
		var back []stretch
		for x := range alike(all, joins) {
			got, back = append(got, len(x)), append(back, x...)
		}
		if !slices.Equal(got, want) || !slices.Equal(back, all) {
			t.Errorf("joins %v: %v of %v", joins, got, back)
		}
	}
}
