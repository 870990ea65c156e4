package board

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func report(step int) track.Point {
	match := float64(step) / 10
	return track.Report{Step: step, Examples: int64(step) * 128, Loss: 1 / float64(step), LR: 1e-3, GradNorm: 2, ExactMatch: &match, Seconds: float64(step) / 4}.Point()
}

func result() *eval.Result {
	id := 0.75
	r := &eval.Result{Trained: &[2]int{1, 1}, ID: &id, SecondsTrain: 3, SecondsEval: 1}
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

// write writes a run of three reports that is interrupted after the second, continues from the
// first, and is tested.
func write(t *testing.T, dir string) {
	t.Helper()
	settings := map[string]string{"train.optimizer": "adam(lr = 1e-3)", "model.width": "64", "model.bias": "false"}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, last := range []int{2, 3} {
		run := NewTraining(dir, settings, started)
		var kept []track.Point
		if last == 3 {
			kept = []track.Point{report(1)}
		}
		check(run.Begin(kept))
		for step := len(kept) + 1; step <= last; step++ {
			check(run.Report(report(step)))
		}
		check(run.End(report(last).Seconds, last == 3, nil))
	}
	check(os.MkdirAll(filepath.Join(dir, "eval"), 0o755))
	check(WriteResult(filepath.Join(dir, "eval"), result(), 3, started))
}

// TestTensorBoard reads events with TensorBoard: no step appears twice after a resumption.
func TestTensorBoard(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	got := read(t, dir, filepath.Join(dir, "eval"))
	at := func(seconds float64) float64 { return float64(started.Unix()) + seconds }
	start := map[string]any{"start_time_secs": at(0), "hparams": map[string]any{"train.optimizer": "adam(lr = 1e-3)", "model.width": 64.0, "model.bias": false}}
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

// TestSameBytes writes the same run twice. It writes an existing result only once.
func TestSameBytes(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	write(t, one)
	write(t, other)
	for _, name := range []string{File, filepath.Join("eval", File)} {
		a, err := os.ReadFile(filepath.Join(one, name))
		b, fail := os.ReadFile(filepath.Join(other, name))
		if err != nil || fail != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v, %v", name, err, fail)
		}
	}
	folder := filepath.Join(one, "eval")
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o755)
	before, _ := os.Stat(filepath.Join(folder, File))
	if err := WriteResult(folder, result(), 3, started); err != nil {
		t.Error(err)
	}
	if after, _ := os.Stat(filepath.Join(folder, File)); !os.SameFile(before, after) {
		t.Error("a result that is there was written again")
	}
}

// TestFailure marks a run as failed.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	run := NewTraining(dir, nil, started)
	if err := run.End(1, false, errors.New("before it began")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(run.Begin(nil), run.End(1, false, errors.New("no memory"))); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, File))
	if failed := string(ends(float64(started.Unix())+1, false).data); !strings.Contains(string(text), failed) {
		t.Errorf("no failure in %q", text)
	}
	if err := NewTraining(filepath.Join(dir, "none"), nil, started).Begin(nil); err == nil || !strings.Contains(err.Error(), "cannot write TensorBoard's events") {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

// TestFullFile wants one error for a file on a full disk, from the first call that writes.
func TestFullFile(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full, which takes nothing")
	}
	full := func() *Training {
		dir := t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
		return NewTraining(dir, nil, started)
	}
	run := full()
	if err := run.Begin(nil); err == nil || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("begins with %v", err)
	}
	if err := run.End(1, false, errors.New("cannot write")); err != nil {
		t.Errorf("says again %v", err)
	}
	run = full()
	var err error
	if run.file, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(run.Report(track.Point{Step: 1}), run.End(1, true, nil)); err == nil || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("says %v", err)
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
