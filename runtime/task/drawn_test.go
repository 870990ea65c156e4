package task_test

import (
	"fmt"
	"hash/crc32"
	"testing"

	. "github.com/arithlang/mlc/runtime/task"
)

// TestDrawnProblems compares problems, tokens and labels with hashes: trained and held-out ones,
// before and after the end of a set, and cells. Checkpoints and results of runs depend on them.
func TestDrawnProblems(t *testing.T) {
	const n = 300
	for _, c := range []struct {
		name string
		cfg  Config
		want uint32
	}{
		{"successor", successors, 0x4b10b2b0},
		{"addition below", additions, 0xe363f61c},
		{"released", with(additions, func(c *Config) { c.Released, c.Pad = true, Pad{Step: 1} }), 0x791e8fce},
		{"repeated", with(successors, func(c *Config) { c.Repeated = true }), 0xa0a5e5a6},
		{"nx1", with(successors, func(c *Config) { c.Kind, c.Below = "nx1", 1000 }), 0xa0671fd2},
		{"parity", with(successors, func(c *Config) { c.Kind, c.Base, c.Pad, c.Scratchpad = "parity", 2, Pad{Step: 1}, true }), 0x83e3b110},
		{"ranged", ranged, 0x87e5f31f},
		{"base 16", with(ranged, func(c *Config) { c.Base = 16 }), 0xc142acc1},
		{"adding", with(adding, func(c *Config) { c.Examples, c.Holdout = 20_000_000, 0.01 }), 0xfe8588e7},
		{"adding a large set", with(adding, func(c *Config) { c.Examples = 1 << 40 }), 0x7b5bb338},
		{"adding without a set", with(adding, func(c *Config) { c.Holdout = 0.01 }), 0xb98705b2},
		{"hinted", with(adding, func(c *Config) { c.Hints, c.RandomPad, c.Pad = "cyclic", 0.3, Pad{To: 25} }), 0xf7873682},
		{"subtraction", kindOfSequence("subtraction"), 0x59bea632},
		{"multiplication", with(kindOfSequence("multiplication"), func(c *Config) { c.Examples = 5000 }), 0x67913805},
		{"mixed", with(adding, func(c *Config) {
			c.Kind, c.Of, c.Examples, c.Holdout = "mixed", []string{"addition", "subtraction", "nx1"}, 10_000, 0.1
		}), 0x17ac68e3},
		{"sort", with(sorting, func(c *Config) { c.Examples = 20_000_000 }), 0x6fcb6637},
		{"or", with(oring, func(c *Config) { c.Examples = 2870 }), 0x8fcb9ba0},
		{"or without a set", oring, 0x55b4f49a},
		{"of a file", reading(squares(), 0.2), 0x55baf25f},
	} {
		t.Run(c.name, func(t *testing.T) {
			hash := crc32.NewIEEE()
			for seed := range uint64(2) {
				task := must(t, c.cfg, seed)
				for _, first := range []int64{0, max(task.Set(false), n) - n/2, 1 << 33} {
					for k := first; k < first+n; k++ {
						for _, p := range []Problem{task.Train(k), task.HeldOut(k)} {
							b, err := task.One(p)
							if err != nil {
								t.Fatal(err)
							}
							fmt.Fprint(hash, p, b.Source, b.Target, b.Labels)
						}
					}
				}
				for _, cell := range [][2]int{{1, 1}, {2, 3}, {5, 5}, {40, 7}} {
					fmt.Fprint(hash, task.Cell(cell[0], cell[1], n))
				}
			}
			if got := hash.Sum32(); got != c.want {
				t.Errorf("hash %#08x, want %#08x", got, c.want)
			}
		})
	}
}
