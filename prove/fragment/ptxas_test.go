package fragment

import (
	"errors"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxas"
)

// TestAssembles wants NVIDIA's assembler to take every probe, for its architecture.
func TestAssembles(t *testing.T) {
	if _, err := ptxas.Find(); errors.Is(err, ptxas.ErrMissing) {
		t.Skip(err)
	}
	for _, p := range Probes() {
		if _, err := ptxas.Assemble([]byte(p.PTX()), p.Target); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
