package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// calibrationDir makes the directory of a calibration of two heads. The first head looks
// along the antidiagonal 9.
func calibrationDir(t *testing.T) string {
	t.Helper()
	const rows, columns = 4, 10
	a := calibrate.Attention{Heads: 2, Rows: rows, Columns: columns}
	for n := range 2 * rows * columns {
		x := 0.05
		if h, i, j := n/(rows*columns), n/columns%rows, n%columns; h == 0 && i+j == 9 {
			x = 0.55
		}
		a.Values = append(a.Values, x)
	}
	r, err := new(calibrate.Config).Calibrate(calibrate.Lines{Directions: [][2]int{{1, -1}}, Rows: rows, M: rows, N: columns,
		Keep: func(value, mean, std float64) bool { return value > mean+2*std }}, a)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{"name": "abc", "stage": "calibrate", "from": "first", "samples": 8, "layer": 2, "of": "weights", "cross": r})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "calibration.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	read := ckpt.Tensor{Name: "cross", Shape: []int{2, rows, columns}}
	for _, x := range a.Values {
		read.Data = append(read.Data, float32(x))
	}
	bias := ckpt.Tensor{Name: "cross", Shape: read.Shape, Data: r.Matrix()}
	for file, tensor := range map[string]ckpt.Tensor{"attention.safetensors": read, "lines.safetensors": bias} {
		if err := ckpt.Write(filepath.Join(dir, file), ckpt.File{Meta: map[string]string{"name": "abc"}, Tensors: []ckpt.Tensor{tensor}}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPlotAttention draws a calibration and prints its lines.
func TestPlotAttention(t *testing.T) {
	dir := calibrationDir(t)
	for _, c := range []struct {
		args []string
		want string // beginning of the output, DIR for the directory
	}{
		{[]string{"--format", "svg"}, "DIR/plots/attention-cross.svg\nDIR/plots/bias-cross.svg\n"},
		{[]string{"--kind", "attention", "--format", "text"},
			"abc, seed 0: lines that calibrate keeps of first, decoder layer 2, mean of 8 problems\n  head  cross i+j\n  0     9 (2.20)\n  1     transparent\n"},
		{[]string{"--format", "markdown"},
			"abc, seed 0: lines that calibrate keeps of first, decoder layer 2, mean of 8 problems\n\n| head | cross i+j |\n|---|---|\n| 0 | 9 (2.20) |\n| 1 | transparent |\n"},
		{[]string{"--kind", "attention", "--format", "csv"}, "run,stage,site,head,a,b,line,value,cells,kept\nDIR,calibrate,cross,0,1,-1,0,0.05,1,false\n"},
	} {
		var out, messages bytes.Buffer
		if code := Run(sourceTree(), append([]string{"plot", dir}, c.args...), &out, &messages); code != shell.ExitOK {
			t.Errorf("%v: exit code %d, %s", c.args, code, messages.String())
		}
		if got := out.String(); !strings.HasPrefix(got, strings.ReplaceAll(c.want, "DIR", dir)) {
			t.Errorf("%v:\n%s", c.args, got)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "plots", "bias-cross.svg"))
	if err != nil || !strings.Contains(string(svg), "head 0: i+j = 9") {
		t.Errorf("the figure does not name the line: %v", err)
	}
}
