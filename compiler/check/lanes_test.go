package check

import (
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestLanes resolves lanes and seeds of initial weights, separately for each stage.
func TestLanes(t *testing.T) {
	const text = `arith 2
task addition { operands = digits(1..2) }
train { seed = 3  init_seed = 7 }
stage first {}
stage second { train.init_seed = 0  train.lanes = 8 }
stage third { train.init_seed = none }
`
	spec, found := resolve(map[string]string{"a.arith": text}, "a.arith")
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, want := range []struct {
		stage   string
		set     bool
		initial uint64
		lanes   int
	}{{"first", true, 7, 0}, {"second", true, 0, 8}, {"third", false, 3, 0}} {
		got := spec.stage(want.stage).Spec.Train
		if got.Seed != 3 || (got.InitSeed != nil) != want.set || config.Initial(got.Seed, got.InitSeed) != want.initial || got.Lanes != want.lanes {
			t.Errorf("stage %s: seed %d, initial weights by %d, set: %v, %d lanes; want %+v", want.stage, got.Seed, config.Initial(got.Seed, got.InitSeed), got.InitSeed != nil, got.Lanes, want)
		}
	}
}
