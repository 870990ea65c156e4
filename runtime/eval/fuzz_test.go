package eval

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/runtime/damage"
)

// FuzzLoad reads any result, shows it and saves it.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"name":"x","metric":"exact_match","samples":4,"id":0.5,"by_length":{"6":1},"by_cell":[[6,6,4,4],[7,7,4,2,9]]}`))
	f.Add([]byte(`{"by_cell":[[-1,0,0,5],[1e300,2]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), text, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Load(damage.At(dir))
		if r == nil || err != nil {
			return
		}
		r.total()
		r.summarise(Pair{3, 3}, nil)
		r.Table(80)
		if err := r.save(dir); err != nil {
			t.Fatal(err)
		}
		if again, err := Load(damage.At(dir)); again == nil || err != nil {
			t.Errorf("a saved result cannot be read: %v", err)
		}
	})
}

// FuzzGrid parses any lengths of the command line.
func FuzzGrid(f *testing.F) {
	f.Add("1..100,1..100")
	f.Add("9223372036854775807..9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		var g Grid
		if g.UnmarshalText([]byte(text)) == nil && (g.First.Lo < 1 || g.First.Hi < g.First.Lo || g.Second.Lo < 1 || g.Second.Hi < g.Second.Lo) {
			t.Errorf("%q is taken as %v", text, g)
		}
	})
}
