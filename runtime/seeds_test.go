package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/world"
)

// weightsOf returns the tensors of a checkpoint.
func weightsOf(t *testing.T, path string) []ckpt.Tensor {
	t.Helper()
	f, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.Tensors
}

// checkpointsOf returns the tensors of all checkpoints of a run, by file name.
func checkpointsOf(t *testing.T, dir string) map[string][]ckpt.Tensor {
	t.Helper()
	all := map[string][]ckpt.Tensor{}
	paths, err := filepath.Glob(filepath.Join(dir, "ckpt", "*.safetensors"))
	if err != nil || len(paths) < 1 {
		t.Fatalf("%s: %v, %v", dir, paths, err)
	}
	for _, path := range paths {
		all[filepath.Base(path)] = weightsOf(t, path)
	}
	return all
}

// problemsOf returns the reports' numbers about the drawn problems.
func problemsOf(t *testing.T, dir string) (tokens []int64, loss []float64) {
	t.Helper()
	reports, err := track.All(damage.At(dir))
	if err != nil || len(reports) == 0 {
		t.Fatal(err)
	}
	for _, r := range reports {
		tokens, loss = append(tokens, r.Examples, r.Tokens), append(loss, r.Loss)
	}
	return tokens, loss
}

// TestInitSeed changes only the initial weights. With an init seed equal to the seed, a run is
// the same as without; with another one it has the same problems.
func TestInitSeed(t *testing.T) {
	flags := []string{"--steps", "6", "--seed", "5", "--save", "1ns", "-q"}
	plain := trained(t, toyModel(), flags...)
	same := trained(t, toyModel(), append(flags, "--init-seed", "5")...)
	other := trained(t, toyModel(), append(flags, "--init-seed", "6")...)
	elsewhere := trained(t, toyModel(), append(flags, "--seed", "6")...)
	if diff := cmp.Diff(checkpointsOf(t, plain), checkpointsOf(t, same)); diff != "" {
		t.Errorf("with the seed of all else: %s", diff)
	}
	if cmp.Equal(checkpointsOf(t, plain), checkpointsOf(t, other)) {
		t.Error("another seed of initial weights gives the same ones")
	}
	tokens, loss := problemsOf(t, plain)
	otherTokens, otherLoss := problemsOf(t, other)
	if !slices.Equal(tokens, otherTokens) || loss[0] == otherLoss[0] {
		t.Errorf("tokens %v and %v, losses %v and %v", tokens, otherTokens, loss, otherLoss)
	}
	if _, drawn := problemsOf(t, elsewhere); drawn[0] == otherLoss[0] {
		t.Error("the seed of initial weights also changes other random numbers")
	}
	spec := toyModel()
	spec.Train.InitSeed = new(uint64(6))
	sameRun(t, other, trained(t, spec, flags...))
	for dir, want := range map[string]*uint64{plain: nil, same: new(uint64(5)), other: new(uint64(6))} {
		rec, err := record.Read(dir)
		text, _ := os.ReadFile(record.Path(dir))
		if err != nil || !cmp.Equal(rec.InitSeed, want) || rec.Seed != 5 || strings.Contains(string(text), "init_seed") != (want != nil) {
			t.Errorf("%s: %v\n%s", dir, err, text)
		}
		f, err := ckpt.Read(lastCheckpoint(dir))
		if err != nil || f.Meta["init_seed"] != rundir.SeedText(want) || f.Meta["seed"] != "5" {
			t.Errorf("%s: %v\n%v", dir, err, f.Meta)
		}
	}
}

// TestInitialWeights compares weights before the first step: they depend only on the init seed.
func TestInitialWeights(t *testing.T) {
	initial := func(seed uint64, own *uint64) []ckpt.Tensor {
		m := toyModel()
		m.Train.Seed, m.Train.InitSeed = seed, own
		path, err := trainerIn(t, m, filepath.Join(t.TempDir(), "run")).Save()
		if err != nil {
			t.Fatal(err)
		}
		return weightsOf(t, path)
	}
	if want := initial(9, nil); !cmp.Equal(want, initial(1, new(uint64(9)))) || cmp.Equal(want, initial(1, nil)) {
		t.Error("initial weights are not those of the init seed")
	}
	if cmp.Equal(initial(1, new(uint64(0))), initial(1, nil)) {
		t.Error("an init seed of 0 is none")
	}
}

// TestInitSeedResumes interrupts runs with an init seed, also before their first step, and
// continues to the same bytes.
func TestInitSeedResumes(t *testing.T) {
	flags := []string{"--steps", "8", "--init-seed", "7", "-q"}
	whole := trained(t, toyModel(), flags...)
	for _, step := range []uint32{0, 3} {
		dir := filepath.Join(t.TempDir(), "run")
		m := toyModel()
		at(&m, step, ctrlC)
		if s := call(t, m, "", append([]string{"train", "--out", dir}, flags...)...); s.code != exitInterrupted {
			t.Fatalf("exit %d\n%s", s.code, s.err)
		}
		if s := call(t, toyModel(), "", "train", "--resume", "--out", dir, "--init-seed", "8"); s.code != world.ExitUsage || !strings.Contains(s.err, "has seed 1, init seed 7: resume it without --init-seed") {
			t.Errorf("exit %d\n%s", s.code, s.err)
		}
		if s := call(t, toyModel(), "", "train", "--resume", "--out", dir); s.code != 0 || !strings.Contains(s.err, "seed 1, init seed 7, on cpu") {
			t.Fatalf("exit %d\n%s", s.code, s.err)
		}
		sameRun(t, whole, dir)
	}
}

// TestInitSeedOfStages gives the flag's seed to each stage that trains.
func TestInitSeedOfStages(t *testing.T) {
	spec := toyPipeline()
	spec.Stages[0].Model.Train.InitSeed = new(uint64(4))
	of := func(dir string) (all []string) {
		rec, err := record.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rec.Stages {
			all = append(all, rundir.SeedText(s.InitSeed))
		}
		return append(all, rundir.SeedText(rec.InitSeed))
	}
	whole := travelled(t, spec, "--steps", "8", "-q")
	if got, want := of(whole), []string{"4", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("init seeds %q, want %q", got, want)
	}
	flags := []string{"--steps", "8", "--init-seed", "9", "-q"}
	flagged := travelled(t, spec, flags...)
	if got, want := of(flagged), []string{"9", "", "9", "9"}; !slices.Equal(got, want) {
		t.Errorf("init seeds %q, want %q", got, want)
	}
	dir, p := filepath.Join(t.TempDir(), "run"), toyPipeline()
	at(p.Stages[2].Model, 3, ctrlC)
	args := append([]string{"train", "--resume=auto", "--out", dir}, flags...)
	if s := callStages(t, p, args...); s.code != exitInterrupted {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	if s := callStages(t, toyPipeline(), args...); s.code != 0 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	sameJourney(t, flagged, dir)
	mixed := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, spec, "train", "--out", mixed, "--steps", "8", "--until", "calibrate", "-q"); s.code != 0 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	if err := os.RemoveAll(filepath.Join(mixed, "calibrate")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(mixed, "calibrate"), os.DirFS(filepath.Join(flagged, "calibrate"))); err != nil {
		t.Fatal(err)
	}
	if s := callStages(t, spec, "train", "--resume", "--out", mixed, "-q"); s.code == 0 || !strings.Contains(s.err, "is of another run: its init seed is 9, in ") {
		t.Errorf("a calibration of another run: exit %d\n%s", s.code, s.err)
	}
}

// TestInitSeedOfRounds continues rounds to the same bytes, and refuses answers of a model that
// began with other weights.
func TestInitSeedOfRounds(t *testing.T) {
	flags := []string{"--init-seed", "9", "-q"}
	whole := travelled(t, toyRounds(), flags...)
	dir, p := filepath.Join(t.TempDir(), "run"), toyRounds()
	at(p.Stages[1].Model, 50, ctrlC)
	args := append([]string{"train", "--out", dir}, flags...)
	if s := callStages(t, p, args...); s.code != exitInterrupted {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	own, err := os.ReadFile(filepath.Join(dir, "second", answersOf(1)))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(travelled(t, toyRounds(), "-q", "--init-seed", "8"), "second", answersOf(1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "second", answersOf(1)), other, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := callStages(t, toyRounds(), "train", "--resume", "--out", dir, "-q"); s.code == 0 || !strings.Contains(s.err, "is of another run: its init seed is 8, in ") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "second", answersOf(1)), own, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := callStages(t, toyRounds(), "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	sameRounds(t, whole, dir)
}

// TestBadInitSeeds refuses flags that an init seed does not go with.
func TestBadInitSeeds(t *testing.T) {
	for _, c := range []struct {
		flags, want string
	}{
		{"--init-seed 1 --init x.safetensors", "the run begins with the weights of --init"},
		{"--init-seed 3..1", "want 1..3"},
		{"--init-seed 1..3", "one model at a time"},
		{"--init-seed x", "want a seed, such as 3, or a range of them"},
		{"--init-seed", "--init-seed: expected seed value"},
	} {
		if s := call(t, toyModel(), "", append([]string{"train", "-q"}, strings.Fields(c.flags)...)...); s.code != world.ExitUsage || !strings.Contains(s.err, c.want) {
			t.Errorf("%s: exit %d\n%s", c.flags, s.code, s.err)
		}
	}
	if s := callStages(t, toyPipeline(), "train", "--init-seed", "1..3"); s.code != world.ExitUsage || !strings.Contains(s.err, "this spec has stages") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestNewestOfAnInitSeed continues the newest run with the given init seed.
func TestNewestOfAnInitSeed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []string{"3", "4"} {
		if s := call(t, toyModel(), "", "train", "--init-seed", seed, "--steps", "3", "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
	}
	for seed, want := range map[string]string{"3": "", "4": "", "1": "there is no run of this spec with init seed 1 in runs/toy"} {
		s := call(t, toyModel(), "", "train", "--resume", "--init-seed", seed)
		if (s.code == 0) != (want == "") || !strings.Contains(s.err, want) {
			t.Errorf("init seed %s: exit %d\n%s", seed, s.code, s.err)
		}
	}
}
