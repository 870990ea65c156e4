package runtime

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/calibration"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/world"
)

// contents returns the bytes and times of all files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = info.ModTime().String() + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unchanged compares a directory with its earlier contents.
func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := contents(t, dir)
	for path := range before {
		if after[path] != before[path] {
			t.Errorf("%s has been written", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
}

// edit replaces text in a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %s, %v", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

var seal = regexp.MustCompile(`,\s*"sha256": "[0-9a-f]*"`)

// forge edits a file that has a checksum, and removes the checksum.
func forge(t *testing.T, path, old, new string) {
	t.Helper()
	edit(t, path, old, new)
	text, _ := os.ReadFile(path)
	edit(t, path, seal.FindString(string(text)), "")
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestForeignCheckpoint wants every verb to compare a checkpoint with run.json, to report both
// values, and to write nothing.
func TestForeignCheckpoint(t *testing.T) {
	m, other := toyModel(), toyModel()
	other.SpecHash, other.Train.LR = strings.Repeat("ab", 32), 0.01
	stopped := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, stopped, 10)
	seed2 := filepath.Join(t.TempDir(), "run")
	m2 := toyModel()
	m2.Train.Seed = 2
	stopAt(t, m2, seed2, 10)
	spec := filepath.Join(t.TempDir(), "run")
	stopAt(t, other, spec, 10)
	const name = "ckpt/step-00000010.safetensors"
	bring := func(from string) func(dir string) {
		return func(dir string) {
			text, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, c := range map[string]struct {
		change func(dir string)
		want   string
	}{
		"of another seed": {bring(seed2), "is of another run: its seed is 2, in DIR/run.json it is 1."},
		"of another spec": {bring(spec), "is of another run: its spec hash is abababababab, in DIR/run.json it is 0123456789ab."},
		"edited seed":     {func(dir string) { forge(t, filepath.Join(dir, record.File), `"seed": 1`, `"seed": 7`) }, "its seed is 1, in DIR/run.json it is 7."},
		"edited budget":   {func(dir string) { forge(t, filepath.Join(dir, record.File), `"steps": 20`, `"steps": 28`) }, "its budget is 20 steps, in DIR/run.json it is 28 steps."},
		"edited name":     {func(dir string) { forge(t, filepath.Join(dir, record.File), `"name": "toy"`, `"name": "boy"`) }, "its name is toy, in DIR/run.json it is boy."},
		"renamed": {func(dir string) {
			os.Rename(filepath.Join(dir, name), filepath.Join(dir, "ckpt/step-00000019.safetensors"))
		}, "it is the checkpoint after 10 steps, which is called step-00000010.safetensors"},
	} {
		dir := copied(t, stopped)
		c.change(dir)
		before := contents(t, dir)
		for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}, {"solve", dir, "1"}} {
			s := call(t, m, "", args...)
			if s.code != 1 || !strings.Contains(s.err, strings.ReplaceAll(c.want, "DIR", dir)) || strings.Contains(s.err, "remove") {
				t.Errorf("%s, %s: exit %d\n%s", what, args[0], s.code, s.err)
			}
		}
		unchanged(t, dir, before)
	}
}

// TestForeignStage wants the same for the files that a stage begins with.
func TestForeignStage(t *testing.T) {
	p := toyPipeline()
	mine, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	for dir, seed := range map[string]string{mine: "1", other: "2"} {
		if s := callStages(t, p, "train", "--out", dir, "--seed", seed, "--until", "calibrate", "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
	}
	bring := func(name string) func(dir string) {
		return func(dir string) {
			os.RemoveAll(filepath.Join(dir, name))
			if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(other, name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, c := range map[string]struct {
		change func(dir string)
		until  string
		want   string
	}{
		"a stage of another run":       {bring("first"), "first", "DIR/first/run.json is of another run: its seed is 2, in DIR/run.json it is 1."},
		"a calibration of another run": {bring("calibrate"), "second", "DIR/calibrate/" + calibrate.LinesFile + " is of another run: its seed is 2, in DIR/run.json it is 1."},
		"a checkpoint of another run":  {bring("first/ckpt"), "first", "is of another run: its seed is 2, in DIR/first/run.json it is 1."},
		"an edited seed": {func(dir string) {
			forge(t, filepath.Join(dir, record.File), `"state": "done",
      "seed": 1`, `"state": "done",
      "seed": 3`)
		}, "first", "DIR/first/run.json is of another run: its seed is 1, in DIR/run.json it is 3."},
		"a state that there is not": {func(dir string) { forge(t, filepath.Join(dir, record.File), `"done"`, `"donf"`) }, "second", `DIR/run.json is damaged: stage first cannot be "donf"`},
		"a stage that there is not": {func(dir string) { forge(t, filepath.Join(dir, record.File), `"calibrate"`, `"calibratf"`) }, "second", `DIR/run.json is damaged: stage 2 is the calibration calibratf, not calibrate`},
		"a checkpoint that is not a file": {func(dir string) {
			path := lastCheckpoint(filepath.Join(dir, "first"))
			os.Remove(path)
			os.Mkdir(path, 0o755)
		}, "first", "is a directory"},
	} {
		dir := copied(t, mine)
		c.change(dir)
		before := contents(t, filepath.Join(dir, "first"))
		s := callStages(t, p, "train", "--resume", "--out", dir, "--until", c.until, "-q")
		if s.code != 1 || !strings.Contains(s.err, strings.ReplaceAll(c.want, "DIR", dir)) || strings.Contains(s.err, "remove") {
			t.Errorf("%s: exit %d, want %s\n%s", what, s.code, c.want, s.err)
		}
		unchanged(t, filepath.Join(dir, "first"), before)
	}
}

// TestFinishedIsNotWritten resumes finished runs: it touches no file, for any budget that is
// already reached.
func TestFinishedIsNotWritten(t *testing.T) {
	dir := trained(t, toyModel(), "-q", "--steps", "40")
	before := contents(t, dir)
	for want, args := range map[string][]string{
		"for 40 steps, and nothing is left to train: its budget of 40 steps is used up":                            nil,
		"for 40 steps, and nothing is left to train: it has reached 10 steps already, and its budget stays 40 ste": {"--steps", "10"},
	} {
		if s := call(t, toyModel(), "", append([]string{"train", "--resume", "--out", dir}, args...)...); s.code != 0 || !strings.Contains(s.err, want) || s.out == "" {
			t.Errorf("%v: exit %d\n%s%s", args, s.code, s.out, s.err)
		}
		unchanged(t, dir, before)
	}
	p := toyPipeline()
	dir = travelled(t, p, "-q")
	before = contents(t, dir)
	for _, args := range [][]string{nil, {"--until", "first"}, {"--steps", "10"}} {
		if s := callStages(t, p, append([]string{"train", "--resume", "--out", dir}, args...)...); s.code != 0 || args != nil && args[0] == "--steps" && !strings.Contains(s.err, "it has reached 10 steps already") {
			t.Errorf("%v: exit %d\n%s%s", args, s.code, s.out, s.err)
		}
		if args == nil || args[0] != "--until" { // --until tests a stage that was not tested
			unchanged(t, dir, before)
		}
		before = contents(t, dir)
	}
}

// TestDamagedRun reports damage to any file of a run, and writes nothing.
func TestDamagedRun(t *testing.T) {
	m := toyModel()
	whole := trained(t, m, "-q")
	for _, c := range []struct{ file, old, new, want string }{
		{"metrics.jsonl", `{"step":8,`, `{"step":8$`, "metrics.jsonl is damaged: line 8: this is no JSON"},
		{"metrics.jsonl", `{"step":8,`, `{"step":7,`, "metrics.jsonl is damaged: line 8 is of step 7, the one before it of step 7"},
		{"metrics.jsonl", `{"step":8,"examples":400`, `{"step":8,"examples":402`, "disagree"},
		{"metrics.csv", "\n8,400", "\n8,500", "disagree"},
		{"metrics.csv", "\n8,400", "\nx,400", `metrics.csv is damaged: line 9: "x" is no number of steps`},
		{"run.json", `"seed": 1`, `"seed": 3`, "run.json is damaged: altered"},
		{"run.json", `{`, `[`, "run.json is damaged: line 2: this is no JSON"},
		{"eval/result.json", `[6,0,300,`, `[6,0,301,`, "eval/result.json is damaged: altered"},
		{"eval/result.json", `by_cell`, "by\x00cell", "eval/result.json is damaged: "},
	} {
		dir := copied(t, whole)
		edit(t, filepath.Join(dir, c.file), c.old, c.new)
		before := contents(t, dir)
		s := call(t, m, "", "train", "--resume", "--out", dir, "-q")
		if s.code != 1 || !strings.Contains(s.err, c.want) || strings.Contains(s.err, "invalid character") {
			t.Errorf("%s, %q: exit %d, want %q\n%s", c.file, c.new, s.code, c.want, s.err)
		}
		unchanged(t, dir, before)
	}
}

// TestChangedSpec reports that the spec in a run directory was changed.
func TestChangedSpec(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 || strings.Contains(s.err, record.SpecFile) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	edit(t, filepath.Join(dir, record.SpecFile), "1M", "2M")
	if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 || !strings.Contains(s.err, filepath.Join(dir, record.SpecFile)+" is not the spec of this run any more") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestUnreadable never advises to remove a file that cannot be read.
func TestUnreadable(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	path := lastCheckpoint(dir)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil { // not even root can read it as a file
		t.Fatal(err)
	}
	for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}} {
		if s := call(t, m, "", args...); s.code != 1 || !strings.Contains(s.err, path) || strings.Contains(s.err, "remove it") {
			t.Errorf("%s: exit %d\n%s", args[0], s.code, s.err)
		}
	}
	// An unreadable folder of checkpoints does not count as empty.
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(path), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}} {
		if s := call(t, m, "", args...); s.code != 1 || !strings.Contains(s.err, filepath.Dir(path)) {
			t.Errorf("%s: exit %d\n%s", args[0], s.code, s.err)
		}
	}
	unchanged(t, dir, before)
}

// TestNewestOfASeed continues the newest run with the given seed, and no run if an unreadable
// one may be newer.
func TestNewestOfASeed(t *testing.T) {
	t.Chdir(t.TempDir())
	m := toyModel()
	for _, seed := range []string{"3", "1"} {
		if s := call(t, m, "", "train", "--seed", seed, "--steps", "3", "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
	}
	for seed, want := range map[string]string{"1": "", "3": "", "4": "there is no run of this spec with seed 4 in runs/toy"} {
		s := call(t, m, "", "train", "--resume", "--seed", seed)
		if (s.code == 0) != (want == "") || !strings.Contains(s.err, want) || want == "" && !strings.Contains(s.err, "has a budget of 3 steps; the spec's budget is 20 steps") {
			t.Errorf("seed %s: exit %d\n%s", seed, s.code, s.err)
		}
	}
	for _, name := range []string{"a file", ".DS_Store"} {
		if err := os.WriteFile(filepath.Join("runs/toy", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := "runs/toy/20200101-000000-damaged"
	os.MkdirAll(dir, 0o755)
	if err := os.WriteFile(filepath.Join(dir, record.File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := call(t, m, "", "train", "--resume"); s.code != 1 || !strings.Contains(s.err, dir+"/run.json is damaged: it ends too early\nname the run with --out") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestNoRuns describes paths that are not run directories.
func TestNoRuns(t *testing.T) {
	m := toyModel()
	run := trained(t, m, "-q")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{file: "it is a file", filepath.Join(file, "x"): "there is no such folder", filepath.Dir(file): "it has no run.json", filepath.Dir(run): "it has no run.json, but there is " + filepath.Join(run, "run.json")} {
		for _, args := range [][]string{{"eval", dir}, {"train", "--resume", "--out", dir}} {
			if s := call(t, m, "", args...); s.code != 1 || !strings.Contains(s.err, dir+" is no run directory: "+want) {
				t.Errorf("%v: exit %d, want %s\n%s", args, s.code, want, s.err)
			}
		}
	}
}

// TestLongLine reports in our words that a line is too long.
func TestLongLine(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	s := call(t, m, "41\n"+strings.Repeat("1", world.LongestLine+1), "solve", dir)
	if s.code != 2 || !strings.Contains(s.err, "line 2: it is longer than 1,048,576 bytes") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestRemovedRun removes, moves and replaces a run directory under a training. The training
// must end with an error and not make another directory.
func TestRemovedRun(t *testing.T) {
	for what, change := range map[string]func(dir string){
		"removed":  func(dir string) { os.RemoveAll(dir) },
		"moved":    func(dir string) { os.Rename(dir, dir+"2") },
		"replaced": func(dir string) { os.RemoveAll(dir); os.MkdirAll(filepath.Join(dir, "ckpt"), 0o755) },
	} {
		m := toyModel()
		dir := filepath.Join(t.TempDir(), "run")
		at(&m, 7, func() { change(dir) })
		s := call(t, m, "", "train", "--out", dir, "-q", "--threads", "1")
		if s.code != 1 || !strings.Contains(s.err, "the folder "+dir+" was removed or moved while it was written to") {
			t.Errorf("%s: exit %d\n%s", what, s.code, s.err)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(files) > 0 || what != "replaced" && rundir.Exists(dir) {
			t.Errorf("%s: it has been made again: %v", what, files)
		}
	}
	m := toyModel()
	dir := trained(t, m, "-q")
	test := testModel(t, m, dir)
	os.RemoveAll(dir)
	if _, err := test.Run(t.Context(), filepath.Join(dir, "eval")); err == nil || rundir.Exists(dir) {
		t.Errorf("a test in a run that was removed: %v", err)
	}
}

// TestWhatAKillLeaves removes half-written files of every kind.
func TestWhatAKillLeaves(t *testing.T) {
	p := toyPipeline()
	dir := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, p, "train", "--out", dir, "--until", "calibrate", "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	for _, name := range []string{".run.json.12", ".spec.arith.3", "first/.run.json.4", "first/ckpt/.step-00000020.safetensors.5", "calibrate/.lines.safetensors.6",
		"calibrate/.calibration.json.7", "second/eval/.grid.csv.8", "second/eval/.result.json.9"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s := callStages(t, p, "train", "--out", dir, "--resume", "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	for path := range contents(t, dir) {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s stays", path)
		}
	}
}

// TestSealedCalibration notices a changed record of a calibration.
func TestSealedCalibration(t *testing.T) {
	path := filepath.Join(travelled(t, toyPipeline(), "--until", "calibrate", "-q"), "calibrate", calibrate.RecordFile)
	if err := damage.At(path).ReadSealed(new(calibration.Record)); err != nil {
		t.Error(err)
	}
	edit(t, path, `"layer": 2`, `"layer": 3`)
	if err := damage.At(path).ReadSealed(new(calibration.Record)); !damage.Is(err) {
		t.Errorf("a changed calibration: %v", err)
	}
}
