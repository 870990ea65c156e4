package list

import "testing"

func TestSeedless(t *testing.T) {
	spec := func(name, seed, seeded string) string {
		return "// from " + name + "\narith 2\n\ntrain {\n  lr = 1\n  seed       = " + seed + "\n  init_seed  = " + seed + "\n  seeded = " + seeded + "\n}\n"
	}
	one, seed1 := Seedless(spec("a", "1", "1"))
	two, seed2 := Seedless(spec("b", "2", "1"))
	other, _ := Seedless(spec("a", "1", "2"))
	if one != two || seed1 == seed2 || seed1 == "" {
		t.Errorf("specs that differ in the seed alone: %q and %q of seeds %q and %q", one, two, seed1, seed2)
	}
	if other == one {
		t.Error("another attribute is taken for a seed")
	}
}
