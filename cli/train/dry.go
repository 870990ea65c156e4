package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/bench"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// A forecast is what a training would do.
type forecast struct {
	Name     string  `json:"name"`
	State    string  `json:"state"` // done, or where the training begins
	Examples int64   `json:"examples,omitempty"`
	Step     float64 `json:"step_seconds,omitempty"`      // measured; 0: it is not
	Memory   int     `json:"peak_memory_bytes,omitempty"` // of the process that measured
	Seconds  float64 `json:"seconds,omitempty"`           // of the training from its beginning, without tests; 0: unknown
	Device   string  `json:"device,omitempty"`
}

// finished is the state of a training with a result.
const finished = "done"

// dryRun prints what the trainings of a command line would do, and trains nothing. It measures a
// step of each training, once for those that differ in seeds alone.
func dryRun(b *build.Builder, where project.Folders, all []project.Training, line Line, quiet bool) error {
	s := &series{Builder: b, where: where, flags: line.Flags}
	if err := s.plan(all); err != nil {
		return err
	}
	steps := map[string]*bench.Result{}
	var list []forecast
	for i := range s.jobs {
		j := &s.jobs[i]
		if j.state == failed {
			continue
		}
		f := forecast{Name: j.Point.Name, State: s.flags.begins(j)}
		if f.Name == "" {
			f.Name = project.NameOf(j.Training.Name)
		}
		if !j.staged && f.State != finished {
			r := steps[j.of.Kind]
			if r == nil {
				var err error
				if r, err = s.step(j, quiet); err != nil {
					return err
				}
				steps[j.of.Kind] = r
			}
			f.measured(r, j)
		}
		list = append(list, f)
	}
	if b.JSON {
		for _, f := range list {
			if err := b.PrintJSON(f); err != nil {
				return err
			}
		}
	} else if err := writeForecasts(b.Out, list, max(1, line.Jobs)); err != nil {
		return err
	}
	if s.count(failed) > 0 {
		return shell.ErrShown
	}
	return nil
}

// begins describes where a training would begin.
func (f Flags) begins(j *job) string {
	dir := f.dir(j)
	if f.Resume == flags.Begins || dir == "" {
		return "new"
	}
	switch at := f.reached(j); at {
	case "":
		return finished
	case "not begun":
		return "new"
	default:
		return at
	}
}

// step builds a training's program and measures its step.
func (s *series) step(j *job, quiet bool) (*bench.Result, error) {
	p, err := s.Trainer(s.where, j.Training, build.Tells(build.Brief, quiet))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	const enough = "5" // steps to measure
	args := append(words(&s.flags.Machine), "--json", "--steps", enough)
	if err := attend(p.Binary, p.Command("bench", args), os.Environ(), &out); err != nil {
		return nil, err
	}
	r := &bench.Result{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s bench printed no result: %w", p.Binary, err)
	}
	return r, nil
}

// measured fills in what follows from a measured step.
func (f *forecast) measured(r *bench.Result, j *job) {
	f.Step, f.Memory, f.Device = r.Seconds, r.Memory, r.Device
	c := train.Config(j.trains)
	c.Budget = j.budget
	switch f.Examples = c.Length(); {
	case j.budget.Time > 0:
		f.Seconds = j.budget.Time.Seconds()
	case j.budget.FLOP > 0 && j.flops > 0:
		f.Examples = int64(j.budget.FLOP / j.flops * float64(c.Batch))
	}
	if f.Seconds == 0 && r.Examples > 0 {
		f.Seconds = float64(f.Examples) / r.Examples
	}
}

// writeForecasts writes a line for each training, and the time of those that are not done if so
// many run at once.
func writeForecasts(out io.Writer, list []forecast, jobs int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "training\tbegins\texamples\ta step\tmemory\ttime")
	or := func(known bool, text string) string {
		if known {
			return text
		}
		return "-"
	}
	total, left, unknown := 0.0, 0, 0
	for _, f := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.State, or(f.Examples > 0, track.Thousands(int(f.Examples))),
			or(f.Step > 0, seconds(f.Step).Round(10*time.Microsecond).String()), or(f.Memory > 0, shell.Scaled(float64(f.Memory), 1024, "B")),
			or(f.Seconds > 0, rounded(seconds(f.Seconds))))
		if f.State == finished {
			continue
		}
		left++
		if total += f.Seconds; f.Seconds == 0 {
			unknown++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	sum := fmt.Sprintf("%d of %d to train", left, len(list))
	if left > 0 && unknown == 0 {
		sum += fmt.Sprintf(": about %s without tests", rounded(seconds(total/float64(min(jobs, left)))))
	}
	_, err := fmt.Fprintln(out, sum)
	return err
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
