package serve

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// A folder is where runs are. Nothing in it is written to, and nothing outside is read.
type folder struct {
	root string // without links

	mu     sync.Mutex
	rows   []*row
	read   time.Time     // when rows were
	took   time.Duration // and how long that was
	sparks map[string]spark
}

// A row is a run in the list.
type row struct {
	*list.Run
	Losses []float64 // reported, in order
}

// mostSpark is the size of the largest file of metrics that the list reads.
const mostSpark = 64 << 20

// A spark is what was last read of a file of metrics.
type spark struct {
	size    int64
	changed time.Time
	losses  []float64
}

func openFolder(path string) (*folder, error) {
	root, err := filepath.EvalSymlinks(path)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return nil, err
	}
	return &folder{root: root, sparks: map[string]spark{}}, nil
}

// errOutside is a run that is asked for and is not below the folder.
var errOutside = errors.New("that is not below the folder of the runs")

// dir is the directory of the run with a name, which is a path below the folder.
func (f *folder) dir(name string) (string, error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) || strings.ContainsRune(name, 0) {
		return "", errOutside
	}
	dir := filepath.Join(f.root, local)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if !f.has(real) {
		return "", errOutside
	}
	if _, err := os.Lstat(record.Path(dir)); err != nil {
		return "", err
	}
	return dir, f.contained(dir)
}

// has says whether a path without links is in the folder.
func (f *folder) has(real string) bool {
	rel, err := filepath.Rel(f.root, real)
	return err == nil && filepath.IsLocal(rel)
}

// contained is an error where something in a run directory is a link out of the folder.
func (f *folder) contained(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return nil // what cannot be read says so where it is needed
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && !f.has(real) {
			return problem{http.StatusForbidden, filepath.Base(path) + " is a link out of the folder of the runs, so nothing of this run is shown"}
		}
		return nil
	})
}

// Least time between two readings of the folder, and how much of the time they may take.
const (
	leastPause = 700 * time.Millisecond
	pauseRatio = 10
)

// runs lists all runs, as they were a moment ago.
func (f *folder) runs() ([]*row, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := time.Now()
	if f.rows != nil && start.Sub(f.read) < max(leastPause, pauseRatio*f.took) {
		return f.rows, nil
	}
	found, err := list.Runs(damage.At(f.root))
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(found))
	for _, r := range found {
		rows = append(rows, f.row(r))
	}
	f.rows, f.read, f.took = rows, time.Now(), time.Since(start)
	return rows, nil
}

func (f *folder) row(r *list.Run) *row {
	dir := filepath.Join(f.root, filepath.FromSlash(r.Dir))
	if err := f.contained(dir); err != nil {
		return &row{Run: &list.Run{Dir: r.Dir, State: list.Damaged, Problem: err.Error()}}
	}
	if r.Name == "" && r.State != list.Damaged {
		r.State, r.Problem = list.Damaged, "its run.json names no spec: another program has written it"
	}
	if r.State == list.Damaged {
		r.Problem = strings.ReplaceAll(r.Problem, f.root+string(filepath.Separator), "")
	}
	return &row{r, f.losses(filepath.Join(dir, r.Stage, track.File))}
}

// losses are those of a file of metrics, which is read when it has changed.
func (f *folder) losses(path string) []float64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	old, known := f.sparks[path]
	if known && old.size == info.Size() && old.changed.Equal(info.ModTime()) {
		return old.losses
	}
	text, err := damage.At(path).ReadUpTo(mostSpark)
	if err != nil {
		return nil
	}
	s := spark{size: info.Size(), changed: info.ModTime()}
	for line := range strings.Lines(string(text)) {
		var r struct{ Loss *float64 }
		if json.Unmarshal([]byte(line), &r) == nil && r.Loss != nil {
			s.losses = append(s.losses, *r.Loss)
		}
	}
	f.sparks[path] = s
	return s.losses
}
