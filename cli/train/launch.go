package train

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/disk"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
)

// A launch leaves trainings to another program, each as a task. It compiles and builds
// their programs here, so tasks need neither Go nor mlc.
type launch struct {
	*series
	line   Line
	folder string // of a sweep's run directories, or the one run directory; also has the programs
	tasks  []remoteTask
	before int // finished trainings
	now    int // trainings that other processes run
}

// A remoteTask is a training for one process.
type remoteTask struct {
	number  int // in the sweep, from 1
	name    string
	dir     string   // of its run, absolute
	command []string // with absolute paths
}

// launchers are the programs that can run trainings. ready is called before anything is
// built.
var launchers = map[string]struct {
	ready func() error
	start func(*launch) error
}{
	"slurm":      {hasSbatch, (*launch).slurm},
	"print":      {nil, (*launch).print},
	"kubernetes": {nil, (*launch).kubernetes},
}

// launchAll leaves trainings to a launcher.
func launchAll(b *build.Builder, where project.Folders, all []project.Training, line Line, quiet bool) error {
	by := launchers[line.Launcher]
	if by.ready != nil {
		if err := by.ready(); err != nil {
			return err
		}
	}
	if search := all[0].Point.Search.Kind; search == "halving" && len(all) > 1 {
		return shell.Usagef("--launcher: with search = halving a rung waits for all trainings of the last one, and tasks cannot wait. Train on one machine with --jobs N, or use search = random")
	}
	l := &launch{series: &series{Builder: b, where: where, flags: line.Flags, quiet: true, said: saying(quiet, b.JSON)}, line: line}
	l.flags.Resume = flags.Either
	if l.flags.Out == "" {
		l.flags.Out = record.Runs(project.NameOf(all[0].Name))
	}
	if err := l.plan(all); err != nil {
		return err
	}
	if l.count(failed) > 0 {
		return shell.ErrShown
	}
	if err := l.place(); err != nil {
		return err
	}
	for i := range l.jobs {
		if err := l.add(&l.jobs[i]); err != nil {
			return err
		}
	}
	if len(l.tasks) == 0 {
		b.Say("nothing to train%s; the table: %s", l.leftOut(), l.collect())
		return nil
	}
	return by.start(l)
}

// place chooses the folder of the run directories. Without --out, the run directory of a
// spec without a sweep is named after its time as usual.
func (l *launch) place() (err error) {
	j := &l.jobs[0]
	if j.Point.Name == "" && l.line.Out == "" {
		l.flags.Out = filepath.Join(l.flags.Out, record.Dated(time.Now().UTC(), j.asked.hash))
	}
	if l.flags.Out, err = filepath.Abs(l.flags.Out); err != nil {
		return err
	}
	l.folder = l.flags.Out
	for i := range l.jobs {
		if strings.EqualFold(l.jobs[i].Point.Slug, record.LaunchFolder) {
			return shell.Usagef("--launcher: a training of the sweep is named %s, like the folder of the programs: give it another name", record.LaunchFolder)
		}
	}
	return nil
}

// add makes the task and the program of a training, unless the training is finished or
// running.
func (l *launch) add(j *job) error {
	dir := l.flags.dir(j)
	if rec, err := record.Read(dir); err == nil && rec.SpecHash != j.asked.hash {
		return shell.Usagef("%s is a run of another spec: choose another --out", paths.FromHere(dir))
	}
	if paths.Exists(record.Path(dir)) {
		switch list.Of(dir).State {
		case list.Tested:
			l.before++
			return nil
		case list.Running:
			l.now++
			return nil
		}
	}
	p, err := l.Trainer(l.where, j.Training, build.Brief)
	if err != nil {
		return err
	}
	program := filepath.Join(l.folder, record.LaunchFolder, build.CacheName(p.Program.Spec.Name, p.Program.Spec.Hash)+shell.ExeSuffix)
	if err := bring(p.Binary, program); err != nil {
		return fmt.Errorf("cannot copy the program of a task: %w: choose another place with --out", err)
	}
	l.tasks = append(l.tasks, remoteTask{number: max(j.Number, 1), name: cmp.Or(j.Point.Slug, p.Name), dir: dir,
		command: append([]string{program, "train"}, l.words(l.flags.of(j))...)})
	return nil
}

// leftOut counts the trainings without a task, as a part of a sentence.
func (l *launch) leftOut() string {
	var parts []string
	if l.before > 0 {
		parts = append(parts, fmt.Sprintf("%d trained before", l.before))
	}
	if l.now > 0 {
		parts = append(parts, fmt.Sprintf("%d being trained", l.now))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// collect returns the command that prints the table of all trainings.
func (l *launch) collect() string {
	f := l.flags
	f.Resume, f.Out = flags.Begins, ""
	words := slices.Concat([]string{"mlc", "train", l.line.File}, words(&l.line.Of), words(&f))
	return flag.Line(append(words, "--collect", "--out", paths.FromHere(l.flags.Out)))
}

// wholeLine returns the command line of this launch.
func (l *launch) wholeLine() string {
	all := slices.Concat([]string{"mlc", "train", l.line.File}, words(&l.line.Of), words(&l.line.How), words(&l.line.Flags))
	return strings.ReplaceAll(flag.Line(all), "\n", " ")
}

// bring puts a program where tasks find it, as a hard link if possible. A later build makes
// another file, so waiting tasks keep this one.
func bring(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), paths.Unfinished+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, filepath.Base(to))
	if os.Link(from, name) != nil {
		if err := copyProgram(from, name); err != nil {
			return err
		}
	}
	return disk.Rename(name, to)
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
