package fragment

import (
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/internal/full"
)

// TestAssembles checks that NVIDIA's assembler accepts every probe, for its architecture.
func TestAssembles(t *testing.T) {
	full.Needs(t, full.Ptxas)
	for _, p := range Probes() {
		if _, err := ptxas.Assemble([]byte(p.PTX()), p.Target); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
