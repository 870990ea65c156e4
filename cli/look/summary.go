package look

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// A summary has the sizes of a model and of a step of its training.
type summary struct {
	Name     string    `json:"name"`
	Source   string    `json:"source"`
	Hash     string    `json:"spec_hash"`
	Params   int       `json:"params"` // trained ones
	Groups   []group   `json:"groups"`
	Step     step      `json:"step"`
	Budget   budget    `json:"budget"`
	Memory   footprint `json:"memory"`
	Families []family  `json:"kernels"`
}

// group is the parameters of one stack of layers.
type group struct {
	Name     string `json:"name"`
	Layers   int    `json:"layers"`
	PerLayer int    `json:"params_per_layer"`
}

// step is one training step on the longest problems.
type step struct {
	Batch      int     `json:"batch"`
	MicroBatch int     `json:"microbatch"`
	Source     int     `json:"source_tokens"`
	Target     int     `json:"target_rows"`
	FLOPs      float64 `json:"flops"` // as compiler.Program.StepFLOPs counts them

	Recurrences int    `json:"recurrences,omitempty"` // of a loop by length, on the longest problems
	ByLength    string `json:"by_length,omitempty"`   // formula for other problems
}

// budget is a whole training. Its numbers are 0 if they are unknown beforehand.
type budget struct {
	Steps    int           `json:"steps,omitempty"`
	Examples int64         `json:"examples,omitempty"`
	FLOPs    float64       `json:"flops,omitempty"` // if all problems are the longest ones
	Time     time.Duration `json:"nanoseconds,omitempty"`
}

// footprint is the memory of a step on the CPU, in bytes.
type footprint struct {
	Shared    float64 `json:"shared"`     // parameters, the optimizer's states
	PerWorker float64 `json:"per_worker"` // gradients twice, activations, saved values, the update of a matrix
}

type family struct {
	Name    string `json:"family"`
	Kernels int    `json:"kernels"`
}

// floatBytes is the size of every element: F32 and I32.
const floatBytes = 4

// Summarize prints a summary of a program, without running it.
func Summarize(sh *shell.Shell, p *compiler.Program, t project.Training) error {
	sum, err := newSummary(p)
	if err != nil {
		return err
	}
	return printSummary(sh, sum, t)
}

// printSummary prints a summary of a training and the command that begins it.
func printSummary(sh *shell.Shell, sum fmt.Stringer, t project.Training) error {
	if sh.JSON {
		return sh.PrintJSON(sum)
	}
	_, err := fmt.Fprintf(sh.Out, "%snext: %s %s\n", sum, shell.Hint("train"), t.Command())
	return err
}

func newSummary(p *compiler.Program) (*summary, error) {
	t := p.Spec.Train
	s := &summary{Name: p.Spec.Name, Source: p.Source, Hash: p.Spec.Hash, Params: p.Plan.Trained(),
		Step: step{Batch: t.Batch, MicroBatch: p.Batches.Micro}}
	if p.Stage != "" {
		s.Name += "/" + p.Stage
	}
	s.Step.Source, s.Step.Target = p.Spec.TrainedShape()
	if by := p.Spec.Task.Recurrences; by.ByLength() {
		s.Step.Recurrences, s.Step.ByLength = p.Spec.Model.Times(), by.String()
	}
	for _, g := range p.Plan.Groups {
		s.Groups = append(s.Groups, group{g.Name, g.Layers, g.Stride})
	}
	var err error
	if s.Step.FLOPs, err = p.StepFLOPs(); err != nil {
		return nil, err
	}
	c := train.Config(t.Train)
	c.MicroBatch = p.Batches.Micro
	each := s.Step.FLOPs / float64(t.Batch) // of an example
	s.Budget = budget{Steps: c.Steps(), Examples: c.Length(), FLOPs: float64(c.Length()) * each, Time: t.Budget.Time}
	if n := t.Budget.FLOP; n > 0 {
		s.Budget.FLOPs, s.Budget.Examples = n, int64(n/each)
	}
	work, err := s.work(p.Lowered)
	if err != nil {
		return nil, err
	}
	all := float64(p.Lowered.NumParams)
	s.Memory = footprint{Shared: float64(1+len(p.Lowered.States)) * floatBytes * all, PerWorker: floatBytes * (2*all + float64(p.Lowered.NumUses) + work)}
	if p.Lowered.Rounds {
		s.Memory.Shared += floatBytes / 2 * all
	}
	for _, k := range p.Lowered.Kernels {
		i := slices.IndexFunc(s.Families, func(f family) bool { return f.Name == k.Family() })
		if i < 0 {
			i = len(s.Families)
			s.Families = append(s.Families, family{Name: k.Family()})
		}
		s.Families[i].Kernels++
	}
	return s, nil
}

// dims returns the extents of a launch on examples examples.
func (s *summary) dims(examples int) map[string]int {
	return map[string]int{"B": examples, "S": s.Step.Source, "T": s.Step.Target, "C": s.Step.Target, "P": 0, "N": s.Params}
}

// work counts the elements in the buffers of a micro-batch and of the largest update of a
// matrix. The number may exceed integers.
func (s *summary) work(p *lower.Program) (float64, error) {
	gradients, update := 0.0, 0.0
	for _, e := range p.Entries {
		if e.Name != trainingProgram && e.Matrix == nil {
			continue
		}
		total := 0.0
		for _, b := range e.Memory.Buffers {
			n := float64(b.Count)
			for _, d := range b.Type.Shape {
				size, err := d.Size(s.dims(s.Step.MicroBatch))
				if err != nil {
					return 0, fmt.Errorf("buffer %s: %w", b.Name, err)
				}
				n *= float64(size)
			}
			total += n
		}
		if e.Matrix == nil {
			gradients = total
		} else {
			update = max(update, total)
		}
	}
	return gradients + update, nil
}

// lengths describes the length of an example. A decoder-only model has no source.
func lengths(source, target int) string {
	if source == 0 {
		return fmt.Sprintf("%d rows", target)
	}
	return fmt.Sprintf("%d source tokens and %d target rows", source, target)
}

// String returns the summary for people.
func (s *summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec        %s, %.12s\n%s", s.Source, s.Hash, s.details())
	return b.String()
}

// String returns the budget for people.
func (b budget) String() string {
	if b.Time > 0 {
		return b.Time.String()
	}
	var all []string
	if b.Steps > 0 {
		all = append(all, track.Thousands(b.Steps)+" steps")
	}
	all = append(all, track.Thousands(int(b.Examples))+" examples")
	return strings.Join(append(all, shell.Scaled(b.FLOPs, 1000, "FLOP")+" if all are of that length"), ", ")
}

// details returns the summary without the spec.
func (s *summary) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "parameters  %s\n", track.Thousands(s.Params))
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "  %-14s %2d x %12s\n", g.Name, g.Layers, track.Thousands(g.PerLayer))
	}
	fmt.Fprintf(&b, "step        %s on %d examples of %s, by %d\n",
		shell.Scaled(s.Step.FLOPs, 1000, "FLOP"), s.Step.Batch, lengths(s.Step.Source, s.Step.Target), s.Step.MicroBatch)
	if s.Step.Recurrences > 0 {
		fmt.Fprintf(&b, "  recurrences  %d on the longest problems, %s on others\n", s.Step.Recurrences, s.Step.ByLength)
	}
	fmt.Fprintf(&b, "budget      %s\n", s.Budget)
	fmt.Fprintf(&b, "memory      %s, and %s for each thread\n", shell.Scaled(s.Memory.Shared, 1024, "B"), shell.Scaled(s.Memory.PerWorker, 1024, "B"))
	total := 0
	var families []string
	for _, f := range s.Families {
		total += f.Kernels
		families = append(families, fmt.Sprintf("%d %s", f.Kernels, f.Name))
	}
	fmt.Fprintf(&b, "kernels     %d: %s\n", total, strings.Join(families, ", "))
	return b.String()
}
