package kerneltest

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestRandom makes kernels of all kinds, compares them with their printed form, and runs them.
// Together they use every statement.
func TestRandom(t *testing.T) {
	const n = 90
	var text strings.Builder
	for seed := range uint64(n) {
		k := Random(seed)
		if err := kernel.Verify(k); err != nil {
			t.Fatalf("%v in\n%s", err, k)
		}
		if again := Random(seed); again.String() != k.String() {
			t.Errorf("seed %d gives\n%s\nand then\n%s", seed, k, again)
		}
		parsed, err := kernel.Parse(k.String())
		if err != nil || kernel.Format(parsed) != k.String() {
			t.Errorf("%v\n%s", err, k)
		}
		text.WriteString(k.String())
		t.Run(k.Name, func(t *testing.T) {
			for seed, s := range Launches() {
				if err := Check(k, s, Signed, uint64(seed), interpreter(k), nil); err != nil {
					t.Errorf("%v\n%s", err, k)
				}
			}
		})
	}
	for _, word := range []string{"let", "tile", "var", "set", "dot", "reduce", "for", "if", "random", " for ", "exp(", "where(", "tf32(", "bf16[", "f16[", "= bf16(", "= f16(", "f32(", "fma(", "; split"} {
		if !strings.Contains(text.String(), word) {
			t.Errorf("no random kernel uses %q", word)
		}
	}
}
