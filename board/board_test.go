package board

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// report is a report with numbers that can be told apart.
func report(step int) track.Report {
	match := float64(step) / 10
	return track.Report{Step: step, Examples: int64(step) * 128, Loss: 1 / float64(step), LR: 1e-3, GradNorm: 2, ExactMatch: &match, Seconds: float64(step) / 4}
}

// result is the result of a test after three steps.
func result() *eval.Result {
	id := 0.75
	r := &eval.Result{Settings: eval.Settings{ExamplesTrained: 3 * 128}, Trained: &[2]int{1, 1}, ID: &id, SecondsTrain: 3, SecondsEval: 1}
	for i := 1; i <= 2; i++ {
		for j := 1; j <= 3; j++ {
			r.ByCell = append(r.ByCell, eval.Cell{Pair: eval.Pair{I: i, J: j}, Samples: 4, Correct: i + j - 1})
		}
	}
	return r
}

// python returns an interpreter with TensorBoard.
func python(t *testing.T) string {
	t.Helper()
	name := full.Needs(t, full.Python)
	if err := exec.Command(name, "-c", "import tensorboard").Run(); err != nil {
		t.Skipf("%s has no TensorBoard", name)
	}
	return name
}

// found holds the data that TensorBoard finds in a folder.
type found struct {
	Scalars map[string][][3]float64 // time, step, value
	Images  map[string][][5]int     // step, width and height, and the size of the PNG
	HParams map[string]map[string]map[string]any
}

func read(t *testing.T, folders ...string) []found {
	t.Helper()
	text, err := exec.Command(python(t), append([]string{"testdata/read.py"}, folders...)...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	var all []found
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// begin makes a run with a budget of three steps.
func begin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	rec := record.Record{Name: "tiny", Started: started, Seed: 7, Training: record.Training{Budget: train.Budget{Steps: 3}}}
	spec := "train {\n  optimizer = adam(lr = 1e-3)\n}\nmodel {\n  width = 64\n  bias = false\n}\n"
	check(t, rec.Write(dir), os.WriteFile(filepath.Join(dir, record.SpecFile), []byte(spec), 0o644))
	return dir
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// reach trains a run from one step to another, and writes events after each.
func reach(t *testing.T, dir string, from, to int) {
	t.Helper()
	held, err := lock.Try(dir)
	check(t, err)
	log, _, err := track.Open(dir, from, false)
	check(t, err)
	for step := from + 1; step <= to; step++ {
		check(t, log.Write(report(step)), Write(dir, false))
	}
	check(t, log.Close())
	held.Close()
}

// run makes a run of three reports that is interrupted after the second, continues from the
// first, and is tested.
func run(t *testing.T) string {
	t.Helper()
	dir := begin(t)
	reach(t, dir, 0, 2)
	check(t, Write(dir, false))
	reach(t, dir, 1, 3)
	text, err := json.Marshal(result())
	folder := record.Results(dir, "")
	check(t, err, os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, eval.File), damage.Seal(text), 0o644), Write(dir, false))
	return dir
}

// TestTensorBoard reads events with TensorBoard: no step appears twice after a resumption.
func TestTensorBoard(t *testing.T) {
	dir := run(t)
	got := read(t, dir, filepath.Join(dir, "eval"))
	at := func(seconds float64) float64 { return float64(started.Unix()) + seconds }
	start := map[string]any{"start_time_secs": at(0), "hparams": map[string]any{"train.optimizer": "adam(lr = 1e-3)", "model.width": 64.0, "model.bias": false, "train.seed": 7.0}}
	end := map[string]any{"status": "STATUS_SUCCESS", "end_time_secs": at(0.75)}
	want := []found{{
		Scalars: map[string][][3]float64{
			"loss":        {{at(0.25), 1, 1}, {at(0.5), 2, 0.5}, {at(0.75), 3, 1.0 / 3}},
			"lr":          {{at(0.25), 1, 1e-3}, {at(0.5), 2, 1e-3}, {at(0.75), 3, 1e-3}},
			"grad_norm":   {{at(0.25), 1, 2}, {at(0.5), 2, 2}, {at(0.75), 3, 2}},
			"exact_match": {{at(0.25), 1, 0.1}, {at(0.5), 2, 0.2}, {at(0.75), 3, 0.3}},
			"examples":    {{at(0.25), 1, 128}, {at(0.5), 2, 256}, {at(0.75), 3, 384}},
		},
		HParams: map[string]map[string]map[string]any{
			"_hparams_/session_start_info": {"session_start_info": start},
			"_hparams_/session_end_info":   {"session_end_info": end},
		},
	}, {
		Scalars: map[string][][3]float64{
			"exact_match/id":        {{at(4), 3, 0.75}},
			"exact_match/by_length": {{at(4), 1, 0.25}, {at(4), 2, 0.75}},
		},
		Images: map[string][][5]int{"exact_match/grid": {{3, 240, 360, 240, 360}}},
	}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Error(diff)
	}
}

// TestSameBytes writes the events of one run during training, and again from its files. It
// writes nothing where nothing is new.
func TestSameBytes(t *testing.T) {
	dir := run(t)
	for _, path := range []string{filepath.Join(dir, File), filepath.Join(record.Results(dir, ""), File)} {
		grown, err := os.ReadFile(path)
		check(t, err, os.Chmod(path, 0o444), os.Chmod(filepath.Dir(path), 0o555))
		before, err := os.Stat(path)
		check(t, err, Write(dir, false))
		if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s was written again: %v", path, err)
		}
		check(t, os.Chmod(filepath.Dir(path), 0o755), os.Remove(path), Write(dir, false))
		whole, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(grown, whole) {
			t.Errorf("%s differs: %v", path, err)
		}
	}
}

// TestGrows keeps the beginning of a file that grows, for readers that have it open.
func TestGrows(t *testing.T) {
	dir := begin(t)
	reach(t, dir, 0, 1)
	f, err := os.Open(filepath.Join(dir, File))
	check(t, err)
	defer f.Close()
	before, err := io.ReadAll(f)
	check(t, err)
	reach(t, dir, 1, 2)
	more, err := io.ReadAll(f)
	check(t, err)
	if whole, err := os.ReadFile(f.Name()); err != nil || len(before) == 0 || len(more) == 0 || !bytes.Equal(whole, append(before, more...)) {
		t.Errorf("%d bytes, then %d, of %d: %v", len(before), len(more), len(whole), err)
	}
}

// TestFailure marks a run as failed, and no longer once it goes on.
func TestFailure(t *testing.T) {
	dir := begin(t)
	failed := func() bool {
		text, err := os.ReadFile(filepath.Join(dir, File))
		check(t, err)
		return bytes.Contains(text, ends(wall(started, 0.25), false).data)
	}
	reach(t, dir, 0, 1)
	if failed() {
		t.Error("a run under way has failed")
	}
	check(t, Write(dir, true))
	if !failed() {
		t.Error("a run that has failed is not marked")
	}
	reach(t, dir, 1, 2)
	if failed() {
		t.Error("a run that goes on has failed")
	}
}

// TestNoRun writes nothing into other folders, and says what it cannot write.
func TestNoRun(t *testing.T) {
	dir := t.TempDir()
	check(t, Write(dir, false), Write(filepath.Join(dir, "none"), false))
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("wrote %v: %v", files, err)
	}
	dir = begin(t)
	check(t, os.Mkdir(filepath.Join(dir, File), 0o755))
	if err := Write(dir, false); err == nil || !strings.Contains(err.Error(), "cannot write TensorBoard's events: ") {
		t.Error(err)
	}
}

// TestStepOf gives a result the step after which its model was tested.
func TestStepOf(t *testing.T) {
	reports := []track.Report{report(1), report(2)}
	for examples, want := range map[int64]int{0: 0, 127: 0, 128: 1, 256: 2, 1000: 2} {
		if got := stepOf(reports, examples); got != want {
			t.Errorf("after %d examples: step %d, want %d", examples, got, want)
		}
	}
}

// TestChecksum is a known case: the length that precedes a record of 24 bytes, at the beginning
// of every TensorFlow event file.
func TestChecksum(t *testing.T) {
	if got, want := checksum([]byte{24, 0, 0, 0, 0, 0, 0, 0}), uint32(0x224b7fa3); got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestGridPicture checks the pixels of cells and the line around training.
func TestGridPicture(t *testing.T) {
	img := gridOf(result()).draw()
	for _, c := range []struct {
		x, y int
		want any
	}{{60, 300, shade(0.25)}, {180, 60, shade(1)}, {60, 60, shade(0.75)}, {119, 300, border}, {60, 240, border}, {119, 200, shade(0.5)}} {
		if got := img.At(c.x, c.y); got != c.want {
			t.Errorf("(%d, %d) is %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if shade(0) == shade(1) || shade(-1) != shade(0) || shade(2) != shade(1) {
		t.Error("shades")
	}
}
