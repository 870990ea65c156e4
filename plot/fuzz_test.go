package plot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/runtime/calibrate"
)

// FuzzRun draws a run from any record, metrics, result and calibration.
func FuzzRun(f *testing.F) {
	f.Add([]byte(`{"name":"a","seed":1}`), []byte(`{"step":1,"examples":50,"loss":2.5}`+"\n"+`{"step":2,"examples":100,"loss":0.5}`+"\n"),
		[]byte(`{"name":"x","metric":"exact_match","samples":4,"trained":[3,3],"by_cell":[[1,2,4,4],[2,2,4,2]]}`), []byte(nil))
	f.Add([]byte(`{"name":"a","stages":[{"name":".","kind":"training"}]}`), []byte(nil), []byte(`{"by_cell":[[100000,1,1,1]]}`),
		[]byte(`{"self":{"heads":[]},"cross":null}`))
	f.Fuzz(func(t *testing.T, record, metrics, result, calibration []byte) {
		dir := t.TempDir()
		os.Mkdir(filepath.Join(dir, "eval"), 0o755)
		for name, text := range map[string][]byte{"run.json": record, "metrics.jsonl": metrics, "tests.jsonl": metrics, "eval/result.json": result, calibrate.RecordFile: calibration} {
			if len(text) == 0 {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run, err := Load(dir, "")
		if err != nil {
			return
		}
		Figures([]*Run{run, run}, "", Options{})
	})
}

// FuzzThinking draws any answers of a loop.
func FuzzThinking(f *testing.F) {
	f.Add([]byte(`{"problem":"1+1","answer":"2","reply":"2","settled":1,"after":[[{"token":"2","right":true}],[{"token":"3"}]]}`))
	f.Add([]byte(`{"after":[[],[{}]],"settled":-9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "t.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if thinking, err := LoadThinking(path); err == nil {
			Thinking(thinking)
		}
	})
}
