package train

import (
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
)

// TestRead reads checkpoints under their own names and as the best one, and says what is wrong with
// others.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	meta := map[string]string{"step": "12", "examples": "96", "tokens": "500", "rows": "300", "stopped": "true"}
	for _, c := range []struct{ name, change, to, why string }{
		{checkpointName(12), "", "", ""},
		{Best, "", "", ""},
		{checkpointName(11), "", "", "it is the checkpoint after 12 steps, which is called " + checkpointName(12) + ": give it its name back"},
		{"other.safetensors", "", "", "give it its name back"},
		{checkpointName(12), "tokens", "-1", `it does not say how far it was trained: tokens is "-1"`},
		{checkpointName(12), "step", "", `step is ""`},
	} {
		of := maps.Clone(meta)
		if c.change != "" {
			of[c.change] = c.to
		}
		path := filepath.Join(dir, c.name)
		if err := ckpt.Write(path, ckpt.File{Meta: of, Tensors: []ckpt.Tensor{{Name: "w", Shape: []int{1}, Data: []float32{3}}}}); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		switch {
		case c.why != "":
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", c.name, err, c.why)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case got.State != State{Step: 12, Examples: 96, Tokens: 500, Rows: 300, Stopped: true} || got.tensors["w"].Data[0] != 3:
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestStateOf reads the state before the first step, and the time of training if it is there.
func TestStateOf(t *testing.T) {
	meta := map[string]string{"step": "0", "examples": "0", "tokens": "0", "rows": "0"}
	if got, err := stateOf(meta); err != nil || got != (State{}) {
		t.Errorf("%+v, %v", got, err)
	}
	meta[elapsed] = "5"
	if got, err := stateOf(meta); err != nil || got != (State{Elapsed: 5}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSave saves weights and states, and puts them onto another machine.
func TestSave(t *testing.T) {
	params := []device.Param{
		{Name: "a", Shape: []int{2}, Init: device.Init{Kind: "const", A: 3}},
		{Name: "m", Shape: []int{1, 2}, Off: 2, Matrix: true, Init: device.Init{Kind: "const", A: 4}},
		{Name: "given", Shape: []int{2}, Off: 4, Fixed: true, Init: device.Init{Kind: "given"}},
		{Name: "zero", Shape: []int{1}, Off: 6, Fixed: true, Init: device.Init{Kind: "given"}},
	}
	plan := &device.Plan{NumParams: 7, States: []string{config.AverageState, "v"}, MatrixStates: 1}
	seed := uint64(8)
	on := func(m *memory) *Trainer {
		return &Trainer{Machine: m, Plan: plan, Params: params, Task: addition(t, 2, 0), Dir: t.TempDir(), Meta: map[string]string{"spec": "x"},
			Given: map[string][]float32{"given": {5, 6}}, Config: Config{Seed: 7, InitSeed: &seed}, State: State{Step: 9}}
	}
	m := newMemory()
	tr := on(m)
	m.of(device.Ref{Space: device.State}, 7)[0] = 9 // of a training before
	tr.Start()
	if !slices.Equal(m.floats[device.Params], []float32{3, 3, 4, 4, 5, 6, 0}) || !slices.Equal(m.floats[device.State], make([]float32, 7)) || tr.State != (State{}) {
		t.Errorf("a training starts at %+v with %v", tr.State, m.floats)
	}
	average, v := []float32{10, 11, 12, 13}, []float32{20, 21}
	m.PutFloats(device.Ref{Space: device.State}, average)
	m.PutFloats(device.Ref{Space: device.State + 1}, v)

	tr.State = State{Step: 2, Examples: 20, Tokens: 30, Rows: 40, Stopped: true}
	path, err := tr.Save()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(path)
	if err != nil || c.State != tr.State || c.Meta["seed"] != "7" || c.Meta["init_seed"] != "8" || c.Meta["spec"] != "x" || len(c.tensors) != 7 {
		t.Fatalf("%+v, %v, want a checkpoint of %+v", c, err, tr.State)
	}
	other := newMemory()
	if err := c.Put(other, plan, params); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(other.floats[device.Params], m.floats[device.Params]) || !slices.Equal(other.floats[device.State][:4], average) || !slices.Equal(other.floats[device.State+1][:2], v) {
		t.Errorf("of %v another machine has %v", m.floats, other.floats)
	}
	if err := c.PutAverage(other, params); err != nil || !slices.Equal(other.floats[device.Params], []float32{10, 11, 12, 13, 5, 6, 0}) {
		t.Errorf("with the average it has %v, %v", other.floats[device.Params], err)
	}
	c.State.Step = 0
	other = newMemory()
	if err := c.PutAverage(other, params); err != nil || len(other.floats) > 0 {
		t.Errorf("before the first step the average is %v, %v", other.floats, err)
	}

	// Of four checkpoints two stay.
	tr.Config.InitSeed, tr.Config.Budget.Time, tr.State.Elapsed = nil, time.Hour, 12*time.Second
	for tr.State.Step = 3; tr.State.Step < 6; tr.State.Step++ {
		if path, err = tr.Save(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Checkpoints(tr.Dir)
	if err != nil || len(all) != 2 || all[1] != path || filepath.Base(all[0]) != checkpointName(4) {
		t.Errorf("checkpoints %v, %v", all, err)
	}
	if c, err = Read(path); err != nil || c.State.Elapsed != 12*time.Second {
		t.Errorf("of a training for a time %+v, %v", c, err)
	}
	if _, is := c.Meta["init_seed"]; is {
		t.Errorf("a training whose seeds are equal says %v", c.Meta)
	}
	m.err = errors.New("failed")
	tr.State.Step = 7
	if _, err := tr.Save(); !errors.Is(err, m.err) {
		t.Errorf("of a machine that failed: %v", err)
	}
}

// TestMisfitsOfACheckpoint refuses tensors that are missing, of another shape or not finite.
func TestMisfitsOfACheckpoint(t *testing.T) {
	plan := &device.Plan{NumParams: 3, States: []string{config.AverageState}}
	trained, fixed := device.Param{Name: "a", Shape: []int{2}}, device.Param{Name: "f", Shape: []int{1}, Off: 2, Fixed: true}
	params := []device.Param{trained, fixed}
	nan := float32(math.NaN())
	for _, c := range []struct {
		name               string
		change             map[string]ckpt.Tensor
		put, average, from string // what is wrong; "": nothing
	}{
		{"as it was", nil, "", "", ""},
		{"another shape", map[string]ckpt.Tensor{"a": {Shape: []int{2, 1}, Data: []float32{1, 2}}}, "it has no tensor a of shape [2]: it is of another model", "", "its a has shape [2 1], that of this model [2]"},
		{"a state of another shape", map[string]ckpt.Tensor{"average.a": {Shape: []int{1}, Data: []float32{1}}}, "it has no tensor average.a of shape [2]", "it has no average of a", ""},
		{"a weight is not finite", map[string]ckpt.Tensor{"a": {Shape: []int{2}, Data: []float32{1, nan}}}, "is not finite", "", ""},
		{"an average is not finite", map[string]ckpt.Tensor{"average.a": {Shape: []int{2}, Data: []float32{1, nan}}}, "", "is not finite", ""},
		{"a fixed one is not finite", map[string]ckpt.Tensor{"f": {Shape: []int{1}, Data: []float32{nan}}}, "", "", ""},
	} {
		of := &Checkpoint{Path: "p", State: State{Step: 1}, tensors: map[string]ckpt.Tensor{
			"a": {Shape: []int{2}, Data: []float32{1, 2}}, "f": {Shape: []int{1}, Data: []float32{3}}, "average.a": {Shape: []int{2}, Data: []float32{4, 5}}}}
		maps.Copy(of.tensors, c.change)
		_, adopted := (&Trainer{Machine: newMemory(), Params: params}).Adopt(of)
		for what, got := range map[string]struct {
			err  error
			want string
		}{"put": {of.Put(newMemory(), plan, params), c.put}, "its average": {of.PutAverage(newMemory(), params), c.average}, "adopted": {adopted, c.from}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && !strings.Contains(got.err.Error(), got.want) {
				t.Errorf("%s, %s: %v, want %q", c.name, what, got.err, got.want)
			}
		}
	}
}

// TestAdopt takes the weights that both models have. Given ones stay.
func TestAdopt(t *testing.T) {
	m := newMemory()
	tr := &Trainer{Machine: m, Params: []device.Param{{Name: "new", Shape: []int{1}}, {Name: "b", Shape: []int{2}, Off: 1}, {Name: "given", Shape: []int{1}, Off: 3, Init: device.Init{Kind: "given"}}}}
	m.PutFloats(device.Ref{Space: device.Params}, []float32{1, 2, 3, 4})
	missing, err := tr.Adopt(&Checkpoint{tensors: map[string]ckpt.Tensor{"b": {Shape: []int{2}, Data: []float32{7, 8}}, "given": {Shape: []int{1}, Data: []float32{9}}}})
	if err != nil || !slices.Equal(missing, []string{"new"}) || !slices.Equal(m.floats[device.Params], []float32{1, 7, 8, 4}) {
		t.Errorf("weights %v, without %v, %v", m.floats, missing, err)
	}
	m.err = errors.New("failed")
	if _, err := tr.Adopt(&Checkpoint{}); !errors.Is(err, m.err) {
		t.Errorf("on a machine that failed: %v", err)
	}
}
