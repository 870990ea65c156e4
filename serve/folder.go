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

// A folder holds runs. The server writes nothing there and reads nothing outside: it opens
// files through an os.Root, since another process may make links meanwhile.
type folder struct {
	path string // without symbolic links

	mu     sync.Mutex
	rows   []*row
	read   time.Time     // the time when rows were read
	took   time.Duration // how long that took
	sparks map[string]spark
}

// A row is a run in the list.
type row struct {
	*list.Run
	Losses []float64 // of all reports, in order
}

// mostSpark is the largest part of a file of metrics that the list reads, in bytes.
const mostSpark = 64 << 20

// A spark caches the losses of a file of metrics.
type spark struct {
	size    int64
	changed time.Time
	losses  []float64
}

func openFolder(path string) (*folder, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	return &folder{path: real, sparks: map[string]spark{}}, nil
}

// errOutside is the error for a path that is not below the folder.
var errOutside = errors.New("that path is not below the folder of the runs")

// run calls use with the directory of a run. name is its path below the folder.
func (f *folder) run(name string, use func(dir damage.Path)) error {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) || strings.ContainsRune(name, 0) {
		return errOutside
	}
	real, err := f.real(filepath.Join(f.path, local))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	dir := damage.Below(root, real)
	if _, err := dir.Join(record.File).Lstat(); err != nil {
		return err
	}
	if err := f.contained(dir); err != nil {
		return err
	}
	use(dir)
	return nil
}

// real resolves the links of a path, and returns it relative to the folder.
func (f *folder) real(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Rel(f.path, path); err != nil || !filepath.IsLocal(path) {
		return "", errOutside
	}
	return path, nil
}

// contained returns an error if a run directory has a link out of the folder, to explain
// why nothing of the run is shown. Links made later are not followed either.
func (f *folder) contained(dir damage.Path) error {
	return fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return nil // the reader of an unreadable file reports it
		}
		if _, err := f.real(dir.Join(filepath.FromSlash(name)).String()); err == errOutside {
			return problem{http.StatusForbidden, d.Name() + " is a link out of the folder of the runs, so nothing of this run is shown"}
		}
		return nil
	})
}

// The shortest time between two readings of the folder, also as a multiple of the time for
// reading.
const (
	leastPause = 700 * time.Millisecond
	pauseRatio = 10
)

// runs lists all runs. The list may be a moment old.
func (f *folder) runs() ([]*row, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := time.Now()
	if start.Sub(f.read) < max(leastPause, pauseRatio*f.took) {
		return f.rows, nil
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	found, err := list.Runs(damage.Below(root, "."))
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(found))
	for _, r := range found {
		rows = append(rows, f.row(r, damage.Below(root, filepath.FromSlash(r.Dir))))
	}
	f.rows, f.read, f.took = rows, time.Now(), time.Since(start)
	return rows, nil
}

func (f *folder) row(r *list.Run, dir damage.Path) *row {
	if err := f.contained(dir); err != nil {
		return &row{Run: &list.Run{Dir: r.Dir, State: list.Damaged, Problem: err.Error()}}
	}
	if r.Name == "" && r.State != list.Damaged {
		r.State, r.Problem = list.Damaged, "its run.json names no spec: another program has written it"
	}
	if r.State == list.Damaged {
		r.Problem = strings.ReplaceAll(r.Problem, f.path+string(filepath.Separator), "")
	}
	return &row{r, f.losses(dir.Join(r.Stage, track.File))}
}

// losses reads the losses of a file of metrics, if the file has changed.
func (f *folder) losses(path damage.Path) []float64 {
	file, err := path.Open()
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	old, known := f.sparks[path.String()]
	if known && old.size == info.Size() && old.changed.Equal(info.ModTime()) {
		return old.losses
	}
	text, err := path.ReadUpTo(mostSpark)
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
	f.sparks[path.String()] = s
	return s.losses
}
