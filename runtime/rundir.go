package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
)

// An identity is what a run is of.
type identity struct {
	name, spec, hash, version string
	models                    []*Model // with the files that the spec reads
}

func (m *Model) identity() identity {
	return identity{m.Name, m.Spec, m.SpecHash, m.Version, []*Model{m}}
}

// A claim is a run directory that no other process trains in until it is closed.
type claim struct {
	*lock.Dir
	dir string
	rec record.Record
}

// newRun makes the directory of a new run and locks it: dir, in which nothing may be
// yet, or, if that is empty, one named after spec and time. Only who has locked it may
// look what is in it: files that another process is writing look as if it was killed.
func newRun(dir string, id identity, started time.Time) (_ string, held *lock.Dir, err error) {
	if dir == "" {
		dir, err = datedRun(id, started)
	} else {
		err = makeDir(dir)
	}
	if err != nil {
		return "", nil, err
	}
	if held, err = occupy(dir); err != nil {
		return "", nil, err
	}
	if err := vacate(dir, id); err != nil {
		held.Close()
		return "", nil, err
	}
	record.Tell(dir)
	return dir, held, nil
}

// occupy keeps other processes from training in a run directory until it is closed.
func occupy(dir string) (*lock.Dir, error) {
	held, err := lock.Try(dir)
	if errors.Is(err, lock.ErrTaken) {
		return nil, fmt.Errorf("%s is training in %s: wait for its end, or choose another --out", lock.Owner(dir), dir)
	}
	return held, err
}

// datedRun makes a directory that no other run has, however many begin in a second.
func datedRun(id identity, started time.Time) (string, error) {
	base := filepath.Join(record.Runs(id.name), record.Dated(started, id.hash))
	if err := makeDir(filepath.Dir(base)); err != nil {
		return "", err
	}
	dir := base
	for n := 2; ; n++ {
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrExist):
			return "", cannotMake(err)
		}
		dir = fmt.Sprintf("%s-%02d", base, n) // later ones sort behind
	}
}

// vacate refuses a directory that has something in it, apart from what mlc has put there to
// launch it, and what a run of the same spec leaves that was killed before it began, whose
// temporary files go.
func vacate(dir string, id identity) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return cannotMake(err)
	}
	for _, file := range found {
		switch name := file.Name(); {
		case ckpt.IsTemp(name) || name == lock.File || name == record.LaunchFolder:
		case name == record.SpecFile && sameText(filepath.Join(dir, name), id.spec):
		case name == config.FilesFolder && id.left(filepath.Join(dir, name)) && !exists(record.Path(dir)):
		case exists(record.Path(dir)):
			return fmt.Errorf("%s has a run in it already: go on with it by --resume --out %s, or choose another --out", dir, flag.Word(dir))
		default:
			return fmt.Errorf("%s is not empty: choose another --out", dir)
		}
	}
	return ckpt.Clean(dir)
}

// clean removes what processes that were killed have left half written in a run
// directory and in those of its stages. Results have locks of their own, and the folder of
// a launch is written by mlc.
func clean(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case (d.Name() == record.ResultFolder || d.Name() == record.LaunchFolder) && path != dir:
			return fs.SkipDir
		}
		return ckpt.Clean(path)
	})
	if err != nil {
		return fmt.Errorf("cannot remove what a killed process has left: %w", err)
	}
	return nil
}

func sameText(path, text string) bool {
	found, err := damage.At(path).Read()
	return err == nil && string(found) == text
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fillRun writes what a run directory begins with. Doing it again changes nothing
// but the record.
func fillRun(dir string, id identity, r record.Record) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	err := id.writeFiles(dir)
	if err == nil {
		err = ckpt.WriteFile(filepath.Join(dir, record.SpecFile), []byte(id.spec))
	}
	if err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return writeRecord(dir, r)
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotMake(err)
	}
	return nil
}

func cannotMake(err error) error {
	return fmt.Errorf("cannot make the run directory: %w: choose a place that can be written with --out", err)
}

func writeRecord(dir string, r record.Record) error {
	if err := r.Write(dir); err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return nil
}

// newestRun is findRun where there has to be one.
func newestRun(id identity, seed *uint64, initial flags.Seeds) (string, error) {
	newest, err := findRun(id, seed, initial)
	if err != nil || newest != "" {
		return newest, err
	}
	which := ""
	if seed != nil {
		which = fmt.Sprintf(" with seed %d", *seed)
	}
	if initial.Set {
		which += fmt.Sprintf(" with init seed %s", initial)
	}
	return "", fmt.Errorf("there is no run of this spec%s in %s: train without --resume, or say where it is with --out", which, record.Runs(id.name))
}

// findRun is the run directory of this spec, and of the seeds that are asked for, that
// was begun last, whatever its name; "" if there is none. A copy began when its original
// did: then the one that is named after its time is the newest, the last of several. One
// that cannot be read may be it.
func findRun(id identity, seed *uint64, initial flags.Seeds) (newest string, err error) {
	runs := record.Runs(id.name)
	dirs, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var begun time.Time
	for _, d := range dirs {
		dir := filepath.Join(runs, d.Name())
		r, err := record.Read(dir)
		switch {
		case record.Missing(err):
			continue
		case err != nil:
			return "", fmt.Errorf("%w\nsay which run to go on with by --out", err)
		case r.SpecHash != id.hash || seed != nil && r.Seed != *seed || !begunBy(initial, &r):
			continue
		}
		dated, _ := filepath.Match(record.Dated(time.Time{}, id.hash)+"*", d.Name())
		if newest == "" || r.Started.After(begun) || dated && r.Started.Equal(begun) {
			newest, begun = dir, r.Started
		}
	}
	return newest, nil
}

// staleSpec says that spec.arith in a run directory is not the run's any more; "" if it is.
func staleSpec(dir string, id identity) string {
	path := filepath.Join(dir, record.SpecFile)
	if sameText(path, id.spec) {
		return ""
	}
	return fmt.Sprintf("%s is not the spec of this run any more: it was changed, or cannot be read\n", path)
}

// openRun reads run.json and makes sure that the run is of this very spec.
func openRun(dir string, id identity) (record.Record, error) {
	r, err := record.Open(dir)
	if err != nil || r.SpecHash == id.hash {
		return r, err
	}
	spec, err := damage.At(dir).Join(record.SpecFile).Read()
	if err != nil {
		return r, fmt.Errorf("%s is a run of another spec: %w", dir, err)
	}
	if string(spec) == id.spec {
		return r, fmt.Errorf("%s is a run of this spec with other files: a table or a list of problems that it reads has changed (%.8s in run.json; this program is %.8s). "+
			"Build the program with the files of then to go on with that run, or train this one in a directory of its own", dir, r.SpecHash, id.hash)
	}
	return r, fmt.Errorf("%s is a run of another spec (%s, %.8s; this program is %s, %.8s). Lines of the run (-) and of this program (+):\n%s"+
		"build the program from %s to go on with that run, or train this one in a directory of its own",
		dir, r.Name, r.SpecHash, id.name, id.hash, lineDiff(string(spec), id.spec), filepath.Join(dir, record.SpecFile))
}
