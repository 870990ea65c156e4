package live_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
)

// unpadded is a small encoder-decoder without padding: numbers are as wide as the longest of a
// batch.
const unpadded = `arith 2
task %s
model {
  width = 4
  heads = 2
  ffn   = relu(hidden = 4)
  encoder.layers = 1
  decoder.layers = 1
}
model.encoder.self.bias  = %[2]s
model.decoder.self.bias  = %[2]s
model.decoder.cross.bias = %[2]s
train { batch = 16  budget = 2steps }
eval.digits = [3]
`

// TestLearnedBiasesWithoutPadding trains every learned bias, in all places of an encoder-decoder,
// on problems of every kind. A launch has a table of each bias for the longest problem, and fails
// with a longer one.
func TestLearnedBiasesWithoutPadding(t *testing.T) {
	biases := []string{"t5", "kerple", "rpe", "fire(hidden = 2)"}
	tasks := []string{"addition { operands = digits(1..4) }", "successor { operands = digits(1..3) }", "nx1 { operands = digits(1..3) }", "addition { operands = below(101) }",
		"addition { operands = digits(1..3)  interleave = true }", "addition { operands = digits(1..2)  order = reversed }", "parity { operands = digits(1..4) }", "copy { operands = digits(1..3) }"}
	for n, task := range full.Some(tasks, 2) {
		for k, bias := range biases {
			if (n >= 2 || !full.Tests) && k != n%len(biases) { // all combinations take minutes
				continue
			}
			p, found, err := compiler.Compile(check.Options{Path: "a.arith", Read: func(path string) ([]byte, error) {
				if path != "a.arith" {
					return nil, os.ErrNotExist
				}
				return fmt.Appendf(nil, unpadded, task, bias), nil
			}})
			if err != nil || found.HasErrors() {
				t.Fatalf("task %s, bias %s: %v, %+v", task, bias, err, found)
			}
			m, err := live.New(p)
			if err != nil {
				t.Fatal(err)
			}
			tr := simulatedTrainer(t, m)
			for step := range full.Either(1, 2) {
				if _, err := tr.Step(0.01); err != nil {
					t.Fatalf("task %s, bias %s, step %d: %v", task, bias, step, err)
				}
			}
			if err := tr.Machine.Err(); err != nil {
				t.Errorf("task %s, bias %s: %v", task, bias, err)
			}
		}
	}
}
