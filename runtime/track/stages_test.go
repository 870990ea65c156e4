package track

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTrained(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"plain"}`: ".",
		`{"stages":[{"name":"a","kind":"training"},{"name":"b","kind":"calibration"},{"name":"c","kind":"training"}]}`: "c",
		`{"stages":[{"name":"a","kind":"training"},{"name":"b","kind":"calibration"}]}`:                                "a",
		`{"stages":[{"name":"../../etc","kind":"training"}]}`:                                                          ".",
		`{"stages":`: ".",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := Trained(dir); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, want %s in it", text, got, want)
		}
	}
	if dir := t.TempDir(); Trained(dir) != dir {
		t.Error("a directory without a run speaks for itself")
	}
}
