package compiler_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

const headline = "../specs/looped8x2.arith"

// TestParameterCounts compares models of McLeish et al. 2024 with table 3 of their paper
// (arXiv:2405.17399) and with the exact counts of their released code.
func TestParameterCounts(t *testing.T) {
	const (
		table = 512 * 1024
		fire  = 32 + 32 + 16*32 + 16 + 2 // the network's two layers, then c and the factor of L
	)
	nope := "model.embed.position = none"
	for _, c := range []struct {
		layers, times int
		set           []string
		want          int
	}{
		{16, 1, nil, 122_267_648},
		{8, 2, nil, 63_514_624},
		{4, 4, nil, 34_138_112},
		{2, 8, nil, 19_449_856},
		{1, 16, nil, 12_105_728},
		{32, 1, nil, 239_773_696},
		{1, 1, nil, 12_105_728},
		{8, 2, []string{nope}, 63_514_624 - table},
		{8, 2, []string{"model.embed.position = learned(max = 512)"}, 63_514_624},
		{8, 2, []string{nope, "model.decoder_only.self.bias = fire(hidden = 32, c = 0.1, threshold = 512)"}, 63_514_624 - table + 8*fire},
		{8, 2, []string{"model.decoder_only.self.rotary = rope()"}, 63_514_624},
	} {
		t.Run(fmt.Sprintf("%dx%d %v", c.layers, c.times, c.set), func(t *testing.T) {
			p := compileHeadline(t, append(c.set, fmt.Sprintf("model.decoder_only.layers = %d", c.layers), fmt.Sprintf("model.decoder_only.times = %d", c.times))...)
			if got := p.Lowered.NumParams; got != c.want {
				t.Errorf("%d parameters, want %d", got, c.want)
			}
		})
	}
}

// TestFixedRows: rows that stay as they were drawn count as parameters, but not as
// trained ones.
func TestFixedRows(t *testing.T) {
	p := compileHeadline(t, "model.embed.position = abacus(learned = false)")
	if all, trained := p.Lowered.NumParams, p.Plan.Trained(); all != 63_514_624 || trained != all-512*1024 {
		t.Errorf("%d parameters, %d of them trained", all, trained)
	}
}

// TestUsedVocabulary: a token that no problem has saves its row of the table, its column
// of the output and its output bias.
func TestUsedVocabulary(t *testing.T) {
	count := func(set ...string) int {
		p, found, err := compiler.Compile(check.Options{Path: "../specs/addition.arith", Read: os.ReadFile, Set: set})
		if err != nil || found.HasErrors() {
			t.Fatal(err, found)
		}
		return p.Lowered.NumParams
	}
	const width, full, used = 64, 17, 13 // 0 … 9, +, ^, $
	if got, want := count()-count("task.vocabulary=used"), (full-used)*(2*width+1); got != want {
		t.Errorf("%d parameters less, want %d", got, want)
	}
}

// TestFLOPs compares the operations of a row with a count by hand of matrix products and
// attention. The rest is less than a percent.
func TestFLOPs(t *testing.T) {
	const width, gated, symbols = 1024, 1024, 19
	const layer = 4*width*width + 3*width*gated // in matrices
	const head = 3*width*gated + width*width + width*symbols
	for _, c := range []struct {
		layers, times int
		loss          string
		forward, back float64 // recurrences, on average
	}{
		{8, 2, "progressive(alpha = 1)", 1.5, 1},
		{4, 4, "progressive(alpha = 1)", 1.5 + 1.375, 1.375},
		{1, 16, "progressive(alpha = 1)", 7.5 + 3.625, 3.625},
		{2, 1, "cross_entropy", 1, 1},
		{2, 3, "cross_entropy", 3, 3},
	} {
		t.Run(fmt.Sprintf("%dx%d %s", c.layers, c.times, c.loss), func(t *testing.T) {
			p := compileHeadline(t, fmt.Sprintf("model.decoder_only.layers = %d", c.layers), fmt.Sprintf("model.decoder_only.times = %d", c.times), "train.loss = "+c.loss)
			_, rows := p.Spec.TrainedShape()
			attention := 2.0 * width * float64(rows) // scores, and their products with values: all keys count
			want := c.forward*float64(c.layers)*(2*layer+2*attention) +
				c.back*float64(c.layers)*(4*layer+5*attention) + // scores once more, and two gradients for each product
				6*head
			got, err := p.RowFLOPs()
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got-want) <= 0.01*want) {
				t.Errorf("%g operations a row, %g by hand, %.2f%% off", got, want, 100*(got-want)/want)
			}
		})
	}
}

// TestMatrixFLOPs compares the operations that Muon adds to a step with a count by hand.
// Each iteration takes two products of the matrix with a square of its smaller side, and
// the square of the smaller side's Gram matrix.
func TestMatrixFLOPs(t *testing.T) {
	step := func(optimizer string) float64 {
		t.Helper()
		n, err := compileHeadline(t, "model.decoder_only.layers = 3", "model.ffn = geglu(hidden = 3072)", "model.head = geglu(hidden = 3072)", "train.optimizer = "+optimizer).StepFLOPs()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const width, gated = 1024, 1536
	iteration := func(small, large float64) float64 { return 4*small*small*large + 2*small*small*small }
	layer := 4*iteration(width, width) + 3*iteration(width, gated)
	head := 3*iteration(width, gated) + iteration(width, width)
	want := 5 * (3*layer + head)
	if got := step("muon") - step("adamw"); !(math.Abs(got-want) <= 0.01*want) {
		t.Errorf("%g operations more than AdamW, %g by hand", got, want)
	}
}

func compileHeadline(t *testing.T, set ...string) *compiler.Program {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: headline, Read: os.ReadFile, Set: set})
	if err != nil || found.HasErrors() {
		found.Text(t.Output(), os.ReadFile, false)
		t.Fatal(err)
	}
	return p
}
