package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/disk"
)

// A State is the progress of training. A run continues from it, the parameters and the
// optimizer's states.
type State struct {
	Step     int           // steps done
	Examples int64         // examples seen
	Tokens   int64         // labels seen
	Rows     int64         // target rows computed, with and without a label
	Stopped  bool          // training stopped before the budget was used up
	Elapsed  time.Duration // time trained, if the budget is a time; else 0
}

// spaces returns the spaces that a checkpoint holds. A tensor's name is the space's prefix and
// the parameter's name.
func spaces(p *device.Plan) []space {
	all := []space{{device.Params, "", true}}
	for i, name := range p.States {
		all = append(all, space{device.State + device.Space(i), name + ".", i < p.MatrixStates})
	}
	return all
}

type space struct {
	space    device.Space
	prefix   string
	matrices bool // it holds parameters that are a Matrix
}

// holds reports whether a checkpoint has a parameter in a space. The optimizer has no states of
// fixed parameters.
func (s *space) holds(p device.Param) bool {
	return (!p.Fixed || s.space == device.Params) && (!p.Matrix || s.matrices)
}

// elapsed is the name of State.Elapsed in a checkpoint, in nanoseconds.
const elapsed = "elapsed"

// keep is how many checkpoints stay: the newest, and a spare.
const keep = 2

// Folder is the folder of checkpoints in a run directory.
const Folder = config.CheckpointFolder

// checkpointName is the file name of the checkpoint after a step. Names sort by step.
func checkpointName(step int) string { return fmt.Sprintf("step-%08d.safetensors", step) }

// Best is the name of the best checkpoint in Folder.
const Best = "best.safetensors"

// BestPath is the path of a run directory's best checkpoint, which may not exist.
func BestPath(dir string) string { return filepath.Join(dir, Folder, Best) }

// Checkpoints returns the paths of a run directory's checkpoints, oldest first. An unreadable
// folder is an error; a missing one has none.
func Checkpoints(dir string) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(dir, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, f := range files {
		if ok, _ := filepath.Match("step-*.safetensors", f.Name()); ok {
			all = append(all, filepath.Join(dir, Folder, f.Name()))
		}
	}
	return all, err
}

// Sums numbers the summation orders of training. Every change of the order, and so of results'
// bits, increments it.
const Sums = "4"

const sums = "sums" // Sums in the metadata; files of the first order lack it

// Save waits for all steps, writes a checkpoint and returns its path. Equal states give equal
// bytes.
func (t *Trainer) Save() (string, error) {
	if _, err := t.Wait(); err != nil {
		return "", err
	}
	path := filepath.Join(t.Dir, Folder, checkpointName(t.State.Step))
	if err := t.write(path); err != nil {
		return "", fmt.Errorf("cannot save a checkpoint: %w", err)
	}
	return path, t.prune()
}

// write writes a checkpoint of the State.
func (t *Trainer) write(path string) error {
	f := ckpt.File{Meta: map[string]string{
		"seed":     strconv.FormatUint(t.Config.Seed, 10),
		"budget":   t.Config.Budget.String(),
		"step":     strconv.Itoa(t.State.Step),
		"examples": strconv.FormatInt(t.State.Examples, 10),
		"tokens":   strconv.FormatInt(t.State.Tokens, 10),
		"rows":     strconv.FormatInt(t.State.Rows, 10),
		"stopped":  strconv.FormatBool(t.State.Stopped),
		"end":      strconv.Itoa(int(t.Task.EOS())),
		sums:       Sums,
	}}
	if t.Config.InitSeed != nil {
		f.Meta["init_seed"] = strconv.FormatUint(*t.Config.InitSeed, 10)
	}
	vocabulary, err := json.Marshal(t.Task.Vocabulary())
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	f.Meta["vocabulary"] = string(vocabulary)
	maps.Copy(f.Meta, t.Meta)
	if t.Config.Budget.Time > 0 { // no other checkpoint depends on the clock
		f.Meta[elapsed] = strconv.FormatInt(int64(t.State.Elapsed), 10)
	}
	w := t.Machine.Root()
	for _, s := range spaces(t.Plan) {
		arena := make([]float32, t.Plan.NumParams)
		w.GetFloats(arena, device.Ref{Space: s.space})
		for _, p := range t.Params {
			if !s.holds(p) {
				continue
			}
			f.Tensors = append(f.Tensors, ckpt.Tensor{Name: s.prefix + p.Name, Shape: p.Shape, Data: arena[p.Off : p.Off+p.Elems()]})
		}
	}
	if err := t.Machine.Err(); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return ckpt.Write(path, f)
}

// prune removes old checkpoints and files that a killed process left half written.
func (t *Trainer) prune() error {
	old, err := Checkpoints(t.Dir)
	if err != nil {
		return err
	}
	for _, name := range old[:max(len(old)-keep, 0)] {
		if err := disk.Remove(name); err != nil {
			return err
		}
	}
	return ckpt.Clean(filepath.Join(t.Dir, Folder))
}

// A Checkpoint is a file that Save wrote: parameters, the optimizer's states, a State, and
// metadata of its run.
type Checkpoint struct {
	Path    string
	Meta    map[string]string
	State   State
	tensors map[string]ckpt.Tensor
}

// Read reads the checkpoint at path. A file that Save did not write at that path is an error,
// most often damage.
func Read(path string) (*Checkpoint, error) {
	f, err := ckpt.Read(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: path, Meta: f.Meta, tensors: map[string]ckpt.Tensor{}}
	for _, t := range f.Tensors {
		c.tensors[t.Name] = t
	}
	if c.State, err = stateOf(f.Meta); err != nil {
		return nil, fmt.Errorf("%s: it does not say how far it was trained: %w", path, err)
	}
	if want := checkpointName(c.State.Step); filepath.Base(path) != want && filepath.Base(path) != Best {
		return nil, fmt.Errorf("%s: it is the checkpoint after %d steps, which is called %s: give it its name back", path, c.State.Step, want)
	}
	return c, nil
}

// Put puts parameters and the optimizer's states onto a machine.
func (c *Checkpoint) Put(m device.Machine, plan *device.Plan, params []device.Param) error {
	spaces := spaces(plan)
	arenas := make([][]float32, len(spaces))
	for i, sp := range spaces {
		arenas[i] = make([]float32, plan.NumParams)
		for _, p := range params {
			if !sp.holds(p) {
				continue
			}
			t, ok := c.tensors[sp.prefix+p.Name]
			if !ok || !slices.Equal(t.Shape, p.Shape) {
				return fmt.Errorf("%s: it has no tensor %s of shape %v: it is of another model", c.Path, sp.prefix+p.Name, p.Shape)
			}
			if err := t.Finite(); err != nil && sp.space == device.Params && !p.Fixed {
				return fmt.Errorf("%s: %w", c.Path, err)
			}
			copy(arenas[i][p.Off:], t.Data)
		}
	}
	for i, sp := range spaces {
		m.Root().PutFloats(device.Ref{Space: sp.space}, arenas[i])
	}
	return nil
}

// PutAverage replaces the trained parameters, which Put has put onto a machine, by the averaged
// ones. Before the first step both are equal.
func (c *Checkpoint) PutAverage(m device.Machine, params []device.Param) error {
	if c.State.Step == 0 {
		return nil
	}
	for _, p := range params {
		if p.Fixed {
			break
		}
		t, ok := c.tensors[config.AverageState+"."+p.Name]
		if !ok || !slices.Equal(t.Shape, p.Shape) {
			return fmt.Errorf("%s: it has no average of %s: it is of another model", c.Path, p.Name)
		}
		if err := t.Finite(); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		m.Root().PutFloats(device.Ref{Space: device.Params, Off: p.Off}, t.Data)
	}
	return nil
}

// stateOf reads the State from a checkpoint's metadata.
func stateOf(meta map[string]string) (State, error) {
	var s State
	var step, trained int64
	for _, x := range []struct {
		name string
		to   *int64
	}{{"step", &step}, {"examples", &s.Examples}, {"tokens", &s.Tokens}, {"rows", &s.Rows}, {elapsed, &trained}} {
		if _, ok := meta[x.name]; !ok && x.name == elapsed {
			continue
		}
		n, err := strconv.ParseInt(meta[x.name], 10, 64)
		if err != nil || n < 0 {
			return s, damage.Errorf("%s is %q", x.name, meta[x.name])
		}
		*x.to = n
	}
	s.Step, s.Stopped, s.Elapsed = int(step), meta["stopped"] == "true", time.Duration(trained)
	return s, nil
}
