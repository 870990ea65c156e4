// Package rundir makes the directory of a run, finds it again, locks it, and checks that all
// its files belong to one program and one run. It builds on package record; package verbs
// builds on it.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
)

// An Identity identifies the program of a run.
type Identity struct {
	Name, Spec, Hash, Version string
	Models                    []*program.Model // with the files that the spec reads
}

// IdentityOf returns the identity of a model's runs.
func IdentityOf(m *program.Model) Identity {
	return Identity{m.Name, m.Spec, m.SpecHash, m.Version, []*program.Model{m}}
}

// A Claim is a run directory that is locked against training by other processes until it is
// closed.
type Claim struct {
	*lock.Dir
	Path   string
	Record record.Record
}

// New makes and locks the directory of a new run: dir, which must be empty, or, if dir is "",
// one named after spec and time. It inspects the directory only under the lock: files that
// another process is writing look like the files of a killed process.
func New(dir string, id Identity, started time.Time, called label.Label) (_ string, held *lock.Dir, err error) {
	if dir == "" {
		dir, err = Dated(id, started)
	} else {
		err = Make(dir)
	}
	if err != nil {
		return "", nil, err
	}
	if held, err = Occupy(dir); err != nil {
		return "", nil, err
	}
	if err = vacate(dir, id); err == nil {
		err = called.Add(dir)
	}
	if err != nil {
		held.Close()
		return "", nil, err
	}
	record.Tell(dir)
	return dir, held, nil
}

// Occupy locks a run directory against training by other processes until it is closed.
func Occupy(dir string) (*lock.Dir, error) {
	held, err := lock.Try(dir)
	if errors.Is(err, lock.ErrTaken) {
		return nil, fmt.Errorf("%s is training in %s: wait for its end, or choose another --out", lock.Owner(dir), dir)
	}
	return held, err
}

// Dated makes a directory that no other run has, even if several begin in the same second.
func Dated(id Identity, started time.Time) (string, error) {
	base := filepath.Join(record.Runs(id.Name), record.Dated(started, id.Hash))
	if err := Make(filepath.Dir(base)); err != nil {
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
		dir = fmt.Sprintf("%s-%02d", base, n) // later ones sort after it
	}
}

// vacate refuses a directory that is not empty. It accepts the launch files that mlc wrote, and
// files of a run of the same spec that was killed before it began, whose temporary files it
// removes.
func vacate(dir string, id Identity) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return cannotMake(err)
	}
	for _, file := range found {
		switch name := file.Name(); {
		case ckpt.IsTemp(name) || name == lock.File || name == label.File || name == record.LaunchFolder:
		case name == record.SpecFile && sameText(filepath.Join(dir, name), id.Spec):
		case name == config.FilesFolder && id.left(filepath.Join(dir, name)) && !Exists(record.Path(dir)):
		case Exists(record.Path(dir)):
			return fmt.Errorf("%s has a run in it already: continue it with --resume --out %s, or choose another --out", dir, flag.Word(dir))
		default:
			return fmt.Errorf("%s is not empty: choose another --out", dir)
		}
	}
	return ckpt.Clean(dir)
}

// Clean removes half-written files of killed processes from a run directory and its stages. It
// leaves results, which have separate locks, and launch files, which mlc writes.
func Clean(dir string) error {
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
		return fmt.Errorf("cannot remove files of a killed process: %w", err)
	}
	return nil
}

func sameText(path, text string) bool {
	found, err := damage.At(path).Read()
	return err == nil && string(found) == text
}

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Fill writes the initial files of a run directory. Repeating it changes only the record.
func Fill(dir string, id Identity, r record.Record) error {
	if err := Make(dir); err != nil {
		return err
	}
	err := id.writeFiles(dir)
	if err == nil {
		err = ckpt.WriteFile(filepath.Join(dir, record.SpecFile), []byte(id.Spec))
	}
	if err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return WriteRecord(dir, r)
}

func Make(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotMake(err)
	}
	return nil
}

func cannotMake(err error) error {
	return fmt.Errorf("cannot make the run directory: %w: choose a writable place with --out", err)
}

func WriteRecord(dir string, r record.Record) error {
	if err := r.Write(dir); err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return nil
}

// Newest is Find for a run that must exist.
func Newest(id Identity, seed *uint64, initial flags.Seeds) (string, error) {
	newest, err := Find(id, seed, initial)
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
	return "", fmt.Errorf("there is no run of this spec%s in %s: train without --resume, or say where it is with --out", which, record.Runs(id.Name))
}

// Find returns the directory of the latest run of this spec with the given seeds, whatever its
// name, or "". A copy has the start time of its original. Among such runs the directory named
// after that time counts as the latest, and the last of several. An unreadable record is an
// error, since that run may be the latest.
func Find(id Identity, seed *uint64, initial flags.Seeds) (newest string, err error) {
	runs := record.Runs(id.Name)
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
			return "", fmt.Errorf("%w\nname the run with --out", err)
		case r.SpecHash != id.Hash || seed != nil && r.Seed != *seed || !BegunBy(initial, &r):
			continue
		}
		dated, _ := filepath.Match(record.Dated(time.Time{}, id.Hash)+"*", d.Name())
		if newest == "" || r.Started.After(begun) || dated && r.Started.Equal(begun) {
			newest, begun = dir, r.Started
		}
	}
	return newest, nil
}

// StaleSpec says that spec.arith in a run directory has changed since the run began; "" if it
// has not.
func StaleSpec(dir string, id Identity) string {
	path := filepath.Join(dir, record.SpecFile)
	if sameText(path, id.Spec) {
		return ""
	}
	return fmt.Sprintf("%s is not the spec of this run any more: it was changed, or cannot be read\n", path)
}

// Open reads run.json and checks that the run has exactly this spec.
func Open(dir string, id Identity) (record.Record, error) {
	r, err := record.Open(dir)
	if err != nil || r.SpecHash == id.Hash {
		return r, err
	}
	spec, err := damage.At(dir).Join(record.SpecFile).Read()
	if err != nil {
		return r, fmt.Errorf("%s is a run of another spec: %w", dir, err)
	}
	if string(spec) == id.Spec {
		return r, fmt.Errorf("%s is a run of this spec with other files: a table or a list of problems that it reads has changed (%.8s in run.json; this program is %.8s). "+
			"To continue that run, build the program with the former files, or train this one in another directory", dir, r.SpecHash, id.Hash)
	}
	return r, fmt.Errorf("%s is a run of another spec (%s, %.8s; this program is %s, %.8s). Lines of the run (-) and of this program (+):\n%s"+
		"to continue that run, build the program from %s, or train this one in another directory",
		dir, r.Name, r.SpecHash, id.Name, id.Hash, lineDiff(string(spec), id.Spec), filepath.Join(dir, record.SpecFile))
}

// BegunBy reports whether a run has the given seed of initial weights; without the flag any
// matches.
func BegunBy(s flags.Seeds, of *record.Record) bool {
	return !s.Set || config.Initial(of.Seed, of.InitSeed) == s.First
}

// maxDiffLines is how many lines of a difference are shown.
const maxDiffLines = 20

// lineDiff returns the lines by which two texts differ, in order: lines of only a after "- ",
// lines of only b after "+ ".
func lineDiff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	same := common(x, y)
	var out []string
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && same[i+1][j] >= same[i][j+1]:
			out = append(out, "  - "+strings.TrimSpace(x[i]))
			i++
		default:
			out = append(out, "  + "+strings.TrimSpace(y[j]))
			j++
		}
	}
	if len(out) > maxDiffLines {
		out = append(out[:maxDiffLines], "  …")
	}
	return strings.Join(out, "\n") + "\n"
}

// common returns the lengths of the longest common subsequences of x[i:] and y[j:].
func common(x, y []string) [][]int {
	n := make([][]int, len(x)+1)
	for i := range n {
		n[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			n[i][j] = max(n[i+1][j], n[i][j+1])
			if x[i] == y[j] {
				n[i][j] = n[i+1][j+1] + 1
			}
		}
	}
	return n
}
