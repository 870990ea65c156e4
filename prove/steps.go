package prove

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// Steps is the result of some steps of training.
type Steps struct {
	Steps   int       `json:"steps"`
	Batch   int       `json:"batch"`          // examples a step
	Loss    float64   `json:"loss,omitempty"` // loss of the last step
	Prepare float64   `json:"prepare"`        // seconds until the first step, compilation included
	Seconds []float64 `json:"seconds"`        // times of the steps, by the host's clock
	Hash    string    `json:"hash,omitempty"` // SHA-256 of parameters and moments
	Want    string    `json:"want,omitempty"` // the processor's
}

// A trial is a spec that is trained for a few steps. Slow devices use the settings in fewer.
type trial struct {
	model
	fewer []string
}

// trainSteps is the number of steps. The optimizer's moments matter from the second step on.
const trainSteps = 3

// trials are encoder-decoders without and with learned biases, and a loop.
func trials() []trial {
	fewer := func(batch string) []string { return []string{"train.batch=" + batch, "train.microbatch=2"} }
	return []trial{
		{model{name: "tiny"}, fewer("8")}, {model{name: "successor"}, fewer("7")}, {model{name: "addition"}, fewer("5")},
		{model{name: "kerple"}, fewer("3")}, {model{name: "small/looped"}, append(fewer("4"), "model.width=24", "model.heads=2")},
	}
}

// The sizes of a trial.
const (
	fullSize    = "full"
	reducedSize = "reduced"
)

// size is the size of trials on the device.
func (e *Env) size() string {
	if e.Reduced() {
		return reducedSize
	}
	return fullSize
}

// config compiles the trial at a size, ready to train.
func (t trial) config(size string) (*live.Model, error) {
	var set []string
	if size == reducedSize {
		set = t.fewer
	}
	p, err := t.compile(set...)
	if err != nil {
		return nil, err
	}
	m, err := live.New(p)
	if err != nil {
		return nil, err
	}
	m.Train.Budget, m.Train.Stop, m.Train.Report = train.Budget{Steps: trainSteps}, nil, train.Report{}
	return m, nil
}

//go:embed hashes.txt
var hashText string

// processorHashes returns the processor's hashes of the trials, by name and size.
func processorHashes() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(hashText) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "#" {
			all[f[0]+" "+f[1]] = f[2]
		}
	}
	return all
}

// hashOf hashes parameters and moments: equal bits have equal hashes.
func hashOf(f ckpt.File) (string, error) {
	sum := sha256.New()
	err := ckpt.Encode(sum, ckpt.File{Tensors: f.Tensors})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func stepParts(*Env) ([]string, string) { return names(trials()), "" }

// runSteps trains one of the trials on the device.
func runSteps(ctx context.Context, e *Env, p *Part) error {
	trial, err := find(trials(), p.Name)
	if err != nil {
		return err
	}
	want := processorHashes()[p.Name+" "+e.size()]
	if e.hash != nil {
		want = e.hash(want)
	}
	start := time.Now()
	m, err := trial.config(e.size())
	if err != nil {
		return err
	}
	if e.ptx != nil {
		m.GPU.PTX = string(e.ptx([]byte(m.GPU.PTX)))
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	machine, err := m.Machine(d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	got, err := steps(ctx, m, machine, nil, start)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	p.whole = true
	if p.Steps = got; e.counts() {
		got.Hash, got.Loss = "", 0 // nothing was computed; only the host's side was checked
		return d.Close()
	}
	if got.Want = want; got.Hash != want {
		p.wrong("%s: after %d steps of %d examples parameters and moments have other bits than the processor's: SHA-256 %.16s…, want %.16s…",
			p.Name, got.Steps, got.Batch, got.Hash, want)
	}
	return d.Close()
}

// steps trains as a trainer does, up to its checkpoint: alone, or as one of several ranks.
func steps(ctx context.Context, m *live.Model, machine device.Machine, with train.Ranks, start time.Time) (*Steps, error) {
	t, err := m.Trainer(machine)
	if err != nil {
		return nil, err
	}
	t.Ranks = with
	if t.Dir, err = os.MkdirTemp("", "mlc-prove-run-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.Dir)
	t.Config.Report.Every = 1
	t.Match = func(bool, int, int) (float64, error) { return 0, nil } // does not affect training
	t.Status = track.NewStatus(os.Stderr, true)
	out := &Steps{Steps: trainSteps, Batch: t.Config.Batch, Prepare: time.Since(start).Seconds()}
	if err := t.Run(ctx); err != nil {
		return nil, err
	}
	reports, err := track.Until(t.Dir, trainSteps)
	if err != nil {
		return nil, err
	}
	before := 0.0
	for _, r := range reports {
		out.Seconds = append(out.Seconds, r.Seconds-before)
		before, out.Loss = r.Seconds, r.Loss
	}
	files, err := train.Checkpoints(t.Dir)
	if err != nil {
		return nil, err
	}
	f, err := ckpt.Read(files[len(files)-1])
	if err != nil {
		return nil, err
	}
	out.Hash, err = hashOf(f)
	return out, err
}
