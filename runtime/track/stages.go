package track

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Trained is the directory whose metrics and results speak for a run: dir itself, or,
// where run.json has stages, that of the last one that trains.
func Trained(dir string) string {
	var run struct {
		Stages []struct{ Name, Kind string }
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil || json.Unmarshal(text, &run) != nil {
		return dir
	}
	for i := len(run.Stages) - 1; i >= 0; i-- {
		if s := run.Stages[i]; s.Kind == "training" && filepath.IsLocal(s.Name) {
			return filepath.Join(dir, s.Name)
		}
	}
	return dir
}
