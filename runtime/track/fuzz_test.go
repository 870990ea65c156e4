package track

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/runtime/damage"
)

// FuzzOpen continues any metrics: the kept reports can be read again and stay the same.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"step":1,"loss":0.5}`+"\n"+`{"step":2,"exa`), 7)
	f.Add(append(line(report(1)), line(report(2))...), 1)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		log, _, err := Open(dir, step, true)
		if err != nil {
			return
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		kept := files(t, dir)
		all, err := All(damage.At(dir))
		if err != nil {
			t.Fatal(err)
		}
		log, last, err := Open(dir, step, true)
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
		if again := files(t, dir); again != kept {
			t.Errorf("kept\n%sand then\n%s", kept, again)
		}
		if (last == nil) != (len(all) == 0) {
			t.Errorf("the last of %d is %v", len(all), last)
		}
	})
}
