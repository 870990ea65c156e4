package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table is a sweep over whole specs, in a separate folder.
var table = map[string]string{
	"t/table.arith": `arith 2
include "../part.arith"
sweep {
  row plain { include "../add.arith" }
  row more {
    include "../add.arith" { train.batch = 7 }
    train.clip = 3
  }
  row other { include "bits.arith" }
  row staged { include "../stages.arith" }
  train.seed = 1..2
}
eval.samples = 10
`,
	"part.arith":      "arith 2\neval.samples = 30\n",
	"add.arith":       "arith 2\ninclude \"base.arith\"\ntask addition { operands = digits(1..5) }\ntrain { seed = 9  clip = 1 }\n",
	"t/bits.arith":    "arith 2\ninclude \"../base.arith\"\ntask parity {}\nmodel { width = 32 }\nbias steps { value = -1 * abs(i - j) }\nmodel.decoder.self.bias = steps\n",
	"stages.arith":    "arith 2\ninclude \"add.arith\"\nstage one { train.batch = 64 }\nstage two { from = one }\n",
	"base.arith":      "arith 2\ntrain { batch = 32  seed = 8 }\neval { samples = 20  digits = [3] }\n",
	"t/sweeps.arith":  "arith 2\nsweep { row a { include \"table.arith\" } }\n",
	"t/itself.arith":  "arith 2\nsweep { row a { include \"itself.arith\" } }\n",
	"t/absent.arith":  "arith 2\nsweep { row a { include \"nowhere.arith\" }  row b { include \"../add.arith\" } }\n",
	"t/place.arith":   "arith 2\ntask addition {}\nsweep { row a { model { include \"../add.arith\" } } }\n",
	"t/twice.arith":   "arith 2\nsweep { row a { include \"../wrong.arith\" }  row b { include \"../wrong.arith\" } }\n",
	"wrong.arith":     "arith 2\ntask addition {}\nmodel.width = many\n",
	"t/crossed.arith": "arith 2\nsweep {\n  row plain { include \"../add.arith\" }\n  row other { include \"bits.arith\" }\n  how as_is {}\n  how staged { include \"../steps.arith\" }\n}\n",
	"steps.arith":     "arith 2\ntrain.batch = 5\nstage one {}\n",
}

// TestRows resolves each training of a sweep over whole specs.
func TestRows(t *testing.T) {
	const file = "t/table.arith"
	read := reader(table)
	points, list := Points(Options{Path: file, Read: read})
	if len(points) != 8 || len(list) > 0 {
		t.Fatalf("%d points, %s", len(points), textOf(list, table))
	}
	type row struct {
		Kind               string
		Digits, Width      int
		Batch, Samples     int
		Seed               uint64
		Clip               float64
		Stages, StageBatch int
	}
	get := func(s *Spec) row {
		r := row{s.Task.Kind, s.Task.DigitsHi, s.Model.Width, s.Train.Batch, s.Eval.Samples, s.Train.Seed, s.Train.Clip, len(s.Stages), 0}
		if len(s.Stages) > 0 {
			r.StageBatch = s.Stages[0].Spec.Train.Batch
		}
		return r
	}
	want := map[string]row{
		"row=plain,seed=1":  {"addition", 5, 64, 32, 10, 1, 1, 0, 0},
		"row=plain,seed=2":  {"addition", 5, 64, 32, 10, 2, 1, 0, 0},
		"row=more,seed=1":   {"addition", 5, 64, 7, 10, 1, 3, 0, 0},
		"row=other,seed=1":  {"parity", 20, 32, 32, 10, 1, 0, 0, 0},
		"row=staged,seed=2": {"addition", 5, 64, 32, 10, 2, 1, 2, 64},
	}
	hashes := make(map[string]bool)
	for _, p := range points {
		s, list := Resolve(Options{Path: file, Read: read, Set: p.Set})
		if len(list) > 0 {
			t.Fatalf("%s: %s", p.Name, textOf(list, table))
		}
		hashes[s.Hash] = true
		if w, ok := want[p.Name]; ok {
			if diff := cmp.Diff(w, get(s)); diff != "" {
				t.Errorf("%s: %s", p.Name, diff)
			}
			delete(want, p.Name)
		}
	}
	if len(want) > 0 || len(hashes) != len(points) {
		t.Errorf("%d trainings are missing, %d of %d differ", len(want), len(hashes), len(points))
	}
	set := append([]string{"train.batch=3", "sweep.train.seed=4"}, points[2].Set[:1]...)
	if s, _ := Resolve(Options{Path: file, Read: read, Set: set}); s == nil || s.Train.Batch != 3 || s.Train.Seed != 4 || s.Train.Clip != 3 {
		t.Errorf("--set does not win over what a row includes: %+v", s.Train)
	}
}

// TestRowIsItsSpec: a row that only includes a spec equals that spec, and the sweep
// equals its first row.
func TestRowIsItsSpec(t *testing.T) {
	files := map[string]string{"a.arith": "arith 2\nsweep { row x { include \"add.arith\" }  row y { include \"t/bits.arith\" } }\n"}
	for name, text := range table {
		files[name] = text
	}
	read := reader(files)
	for n, file := range []string{"add.arith", "t/bits.arith"} {
		alone, _ := Resolve(Options{Path: file, Read: read})
		points, _ := Points(Options{Path: "a.arith", Read: read})
		row, list := Resolve(Options{Path: "a.arith", Read: read, Set: points[n].Set})
		if len(list) > 0 || row.Hash != alone.Hash {
			t.Errorf("row %d is not %s: %s", n+1, file, textOf(list, files))
		}
	}
	first, _ := Resolve(Options{Path: "a.arith", Read: read})
	if alone, _ := Resolve(Options{Path: "add.arith", Read: read}); first.Hash != alone.Hash {
		t.Error("the sweep is not its first row")
	}
}

// TestCrossedRows: if two axes include, the later one overrides the earlier.
func TestCrossedRows(t *testing.T) {
	const file = "t/crossed.arith"
	read := reader(table)
	points, list := Points(Options{Path: file, Read: read})
	if len(points) != 4 || len(list) > 0 {
		t.Fatalf("%d points, %s", len(points), textOf(list, table))
	}
	for n, want := range []struct {
		kind          string
		batch, stages int
	}{{"addition", 32, 0}, {"addition", 5, 1}, {"parity", 32, 0}, {"parity", 5, 1}} {
		s, list := Resolve(Options{Path: file, Read: read, Set: points[n].Set})
		if len(list) > 0 || s.Task.Kind != want.kind || s.Train.Batch != want.batch || len(s.Stages) != want.stages {
			t.Errorf("%s: %s", points[n].Name, textOf(list, table))
		}
	}
}

// TestWrongRows: each mistake in a row is reported once, at its place.
func TestWrongRows(t *testing.T) {
	for file, want := range map[string]string{
		"t/sweeps.arith": "t/sweeps.arith:2:25: error[E0109]: table.arith is a sweep",
		"t/itself.arith": "t/itself.arith:2:25: error[E0108]: t/itself.arith includes itself",
		"t/absent.arith": "t/absent.arith:2:25: error[E0107]: cannot read t/nowhere.arith",
		"t/place.arith":  "t/place.arith:3:25: error[E0109]: an include belongs at the top of a file, or of a case",
		"t/twice.arith":  "wrong.arith:3:15: error[E0",
	} {
		spec, list := Resolve(Options{Path: file, Read: reader(table)})
		text := textOf(list, table)
		if spec != nil || len(list) != 1 || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", file, text)
		}
		if file == "t/twice.arith" && !strings.Contains(text, "included at t/twice.arith:2:17") {
			t.Errorf("nothing says how the file came in: %s", text)
		}
	}
}

// TestRowsForTools: settings in a row's file win if they are in the first training, and
// are overridden otherwise.
func TestRowsForTools(t *testing.T) {
	doc := Inspect(Options{Path: "t/table.arith", Read: reader(table), Set: []string{"sweep.row=plain"}})
	got := make(map[string]bool)
	for _, s := range doc.Settings {
		if s.Name.Start.File == "add.arith" || s.Name.Start.File == "base.arith" {
			got[s.Name.Start.File+" "+s.Path] = s.Wins
		}
	}
	want := map[string]bool{"add.arith task.operands": true, "add.arith train.seed": false, "add.arith train.clip": true,
		"base.arith train.batch": true, "base.arith train.seed": false, "base.arith eval.samples": false, "base.arith eval.digits": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
