package plot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// The sizes of the attention that was read, and of the bias.
const (
	readRows, readColumns = 8, 20
	biasRows, biasColumns = 12, 26
	countedRows           = 6
)

// looking returns attention. In each head the first rows look along one line of each of
// some directions; the other rows look at everything.
func looking(rows, columns int, causal bool, lines ...map[calibrate.Direction]int) calibrate.Attention {
	a := calibrate.Attention{Heads: len(lines), Rows: rows, Columns: columns, Values: make([]float64, len(lines)*rows*columns)}
	for h, line := range lines {
		for i := range rows {
			for j := range columns {
				x := 0.01
				for d, n := range line {
					if i < countedRows && d.Number(i, j) == n {
						x += 0.8
					}
				}
				if !causal || j <= i {
					a.Values[(h*rows+i)*columns+j] = x
				}
			}
		}
	}
	return a
}

// pipelineDir makes the run directory of a pipeline: a training, a calibration of self and
// cross attention with three heads, and another training. The second head of the cross
// attention keeps two lines, the last head none.
func pipelineDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	above := func(value, mean, std float64) bool { return value > mean+2.5*std }
	diagonal, antidiagonal, column := calibrate.Direction{1, 1}, calibrate.Direction{1, -1}, calibrate.Direction{1, 0}
	found := struct {
		Name, Stage, From, Of string
		Samples, Layer        int
		Self, Cross           *calibrate.Result
	}{Name: "abc", Stage: "calibrate", From: "first", Of: "weights", Samples: 32, Layer: 2}
	meta := map[string]string{"name": "abc"}
	read, lines := ckpt.File{Meta: meta}, ckpt.File{Meta: meta}
	for _, s := range []struct {
		name   string
		result **calibrate.Result
		lines  calibrate.Lines
		read   calibrate.Attention
	}{
		{"self", &found.Self, calibrate.Lines{Directions: [][2]int{diagonal}, Rows: countedRows, M: biasRows, N: biasRows, Keep: func(v, mean, std float64) bool { return v > mean+std }},
			looking(readRows, readRows, true, map[calibrate.Direction]int{diagonal: -1}, map[calibrate.Direction]int{diagonal: 0}, map[calibrate.Direction]int{diagonal: 0})},
		{"cross", &found.Cross, calibrate.Lines{Directions: [][2]int{antidiagonal, column}, Rows: countedRows, M: biasRows, N: biasColumns, Keep: above},
			looking(readRows, readColumns, false, map[calibrate.Direction]int{antidiagonal: 18}, map[calibrate.Direction]int{antidiagonal: 14, column: 17}, nil)},
	} {
		r, err := new(calibrate.Config).Calibrate(s.lines, s.read)
		if err != nil {
			t.Fatal(err)
		}
		*s.result = r
		values := make([]float32, len(s.read.Values))
		for i, x := range s.read.Values {
			values[i] = float32(x)
		}
		read.Tensors = append(read.Tensors, ckpt.Tensor{Name: s.name, Shape: []int{s.read.Heads, s.read.Rows, s.read.Columns}, Data: values})
		lines.Tensors = append(lines.Tensors, ckpt.Tensor{Name: s.name, Shape: []int{s.read.Heads, s.lines.M, s.lines.N}, Data: r.Matrix()})
	}
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"run.json": `{"name":"abc","seed":7,"stages":[{"name":"first","kind":"training","state":"done"},` +
			`{"name":"calibrate","kind":"calibration","state":"done"},{"name":"last","kind":"training","state":"done"}]}`,
		"first/metrics.jsonl":        `{"step":1,"examples":50,"loss":2.5,"exact_match":0}` + "\n" + `{"step":2,"examples":100,"loss":0.5,"exact_match":1}` + "\n",
		"last/metrics.jsonl":         `{"step":1,"examples":50,"loss":1.5,"exact_match":0}` + "\n" + `{"step":2,"examples":90,"loss":0.5,"exact_match":1}` + "\n",
		"last/eval/result.json":      `{"name":"abc/last","metric":"exact_match","trained":[7,7],"by_cell":[[6,6,5,5],[60,60,5,4]]}`,
		"calibrate/calibration.json": string(text),
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for file, tensors := range map[string]ckpt.File{calibrate.AttentionFile: read, calibrate.LinesFile: lines} {
		if err := ckpt.Write(filepath.Join(dir, "calibrate", file), tensors); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func figureNames(figures []*Figure) string {
	var all []string
	for _, f := range figures {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

// TestPipeline reads a run of several stages, and the directory of one stage.
func TestPipeline(t *testing.T) {
	dir := pipelineDir(t)
	other := load(t, runDir(t, "b", 1, func(int, int) int { return 10 }))[0]
	whole := load(t, dir)[0]
	if whole.Name != "abc" || whole.Seed != 7 || len(whole.Trainings) != 2 || len(whole.Calibrations) != 1 || whole.Result == nil {
		t.Fatalf("%+v", whole)
	}
	own := *whole
	own.InitSeed = new(uint64(3))
	for _, c := range []struct {
		runs       []*Run
		kind, want string
	}{
		{[]*Run{&own, other}, "attention", "attention-self-abc-seed-7-init-seed-3 bias-self-abc-seed-7-init-seed-3 attention-cross-abc-seed-7-init-seed-3 bias-cross-abc-seed-7-init-seed-3"},
		{[]*Run{whole}, "", "lengths loss training attention-self bias-self attention-cross bias-cross"},
		{[]*Run{whole}, "length", "lengths"},
		{load(t, filepath.Join(dir, "calibrate")), "", "attention-self bias-self attention-cross bias-cross"},
		{[]*Run{whole, other}, "attention", "attention-self-abc-seed-7 bias-self-abc-seed-7 attention-cross-abc-seed-7 bias-cross-abc-seed-7"},
		{[]*Run{other}, "attention", ""},
	} {
		figures, err := Figures(c.runs, c.kind, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := figureNames(figures); got != c.want {
			t.Errorf("%q: %q, want %q", c.kind, got, c.want)
		}
	}
	for wider, all := range map[int][]string{
		0:                         {"i+j = 18", "i+j = 14; j = 17", "transparent"},
		biasColumns - readColumns: {"i+j = 24", "i+j = 20; j = 23", "transparent"},
	} {
		for h, want := range all {
			if got := kept(&whole.Calibrations[0].Sites[1].Heads[h], wider); got != want {
				t.Errorf("head %d keeps %q, want %q", h, got, want)
			}
		}
	}
}

// TestCalibrationFiles wants no bias where no line was kept, and tensors of the shapes that
// calibration.json names.
func TestCalibrationFiles(t *testing.T) {
	dir := pipelineDir(t)
	if err := os.Remove(filepath.Join(dir, "calibrate", calibrate.LinesFile)); err != nil {
		t.Fatal(err)
	}
	figures, err := Figures(load(t, dir), "attention", Options{})
	if err != nil || figureNames(figures) != "attention-self attention-cross" {
		t.Errorf("%q, %v", figureNames(figures), err)
	}
	path := filepath.Join(dir, "calibrate", calibrate.AttentionFile)
	if err := ckpt.Write(path, ckpt.File{Meta: map[string]string{"name": "abc"}, Tensors: []ckpt.Tensor{{Name: "self", Shape: []int{3, 2, 2}, Data: make([]float32, 12)}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, ""); err == nil || !strings.Contains(err.Error(), "no tensor self [3, 8, 8]") {
		t.Errorf("a tensor of another shape: %v", err)
	}
	record := filepath.Join(dir, "run.json")
	if err := os.WriteFile(record, []byte(`{"stages":[{"name":"../x","kind":"training"}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, ""); err == nil || !strings.Contains(err.Error(), "cannot be called") {
		t.Errorf("a stage outside of its run: %v", err)
	}
}
