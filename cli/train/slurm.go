package train

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/record"
)

// hasSbatch returns an error if there is no sbatch command.
func hasSbatch() error {
	if _, err := exec.LookPath("sbatch"); err != nil {
		return errors.New("there is no sbatch in PATH to submit jobs to Slurm: run this on a machine that has it, or print the commands with --launcher print")
	}
	return nil
}

// slurm submits the trainings as one job, which is an array if there are several.
func (l *launch) slurm() error {
	script, err := l.script()
	if err != nil {
		return err
	}
	path := filepath.Join(l.folder, record.LaunchFolder, project.NameOf(l.jobs[0].Training.Name)+".sh")
	if err := ckpt.WriteFile(path, []byte(script)); err != nil {
		return fmt.Errorf("cannot write the script of the job: %w: choose another place with --out", err)
	}
	cmd := l.Command("sbatch", "--parsable", path)
	var said strings.Builder
	cmd.Stderr = &said
	answer, err := cmd.Output()
	if err := l.Shell.Ended(err); err != nil {
		if l.Context.Err() != nil {
			return err
		}
		return fmt.Errorf("sbatch refused the job (%w): %s\nits script is %s; options for sbatch go into --sbatch, and --point chooses trainings where an array is too long",
			err, strings.TrimSpace(said.String()), paths.FromHere(path))
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(answer)), ";") // the cluster may follow
	if l.JSON {
		return l.PrintJSON(map[string]any{"job": id, "tasks": len(l.tasks), "script": path, "out": l.flags.Out})
	}
	l.Say("%s as job %s%s", trainingsAtOnce(len(l.tasks), l.line.Jobs), id, l.leftOut())
	l.Say("state:  squeue --job %s", id)
	l.Say("output: %s", paths.FromHere(l.output(id, "*")))
	l.Say("table:  %s", l.collect())
	_, err = fmt.Fprintln(l.Out, id)
	return err
}

func trainingsAtOnce(n, parallel int) string {
	text := fmt.Sprintf("%d trainings", n)
	if n == 1 {
		text = "1 training"
	}
	if parallel > 0 {
		text += fmt.Sprintf(", %d at a time,", parallel)
	}
	return text
}

// output returns the output file of a job's task. For an array it contains the task's
// number.
func (l *launch) output(job, number string) string {
	name := project.NameOf(l.jobs[0].Training.Name) + "-" + job
	if len(l.tasks) > 1 {
		name += "_" + number
	}
	return filepath.Join(l.folder, record.LaunchFolder, name+".out")
}

// pattern is output for all tasks, in the syntax of sbatch: %A is the job of an array, %a
// the number in it, %j any other job, %% a percent sign.
func (l *launch) pattern() string {
	job := "%j"
	if len(l.tasks) > 1 {
		job = "%A"
	}
	name := filepath.Base(l.output(job, "%a"))
	return filepath.Join(strings.ReplaceAll(l.folder, "%", "%%"), record.LaunchFolder, name)
}

// taken is the time that Slurm gives a trainer to save before the job's end, in seconds.
const taken = 120

// script returns the job's script. The trainer is not a step of the job, so that it may use
// all of the job's cores in every version of Slurm.
func (l *launch) script() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(l.folder+here, "\\\n\r") {
		return "", shell.Usagef("--launcher slurm: sbatch cannot name a folder with a backslash or a line break: choose another --out")
	}
	var b strings.Builder
	option := func(format string, args ...any) { fmt.Fprintf(&b, "#SBATCH "+format+"\n", args...) }
	b.WriteString("#!/bin/bash\n")
	option("--job-name=%s", project.NameOf(l.jobs[0].Training.Name))
	job := "$SLURM_JOB_ID"
	if len(l.tasks) > 1 {
		job = "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
		limit := ""
		if l.line.Jobs > 0 {
			limit = fmt.Sprintf("%%%d", l.line.Jobs)
		}
		option("--array=%s%s", ranges(l.tasks), limit)
	}
	option("--chdir=%s", batchWord(here))
	option("--output=%s", batchWord(l.pattern()))
	option("--open-mode=append")
	option("--requeue")
	option("--signal=B:USR1@%d", taken)
	for _, s := range l.line.Sbatch {
		if strings.ContainsAny(s, "\n\r") {
			return "", shell.Usagef("--sbatch: options must be on one line")
		}
		option("%s", s)
	}
	fmt.Fprintf(&b, "# Written by: %s\n\n%s", l.wholeLine(), l.choice("SLURM_ARRAY_TASK_ID", 0))
	alone := ":"
	if l.flags.Threads == 0 {
		alone = `set -- "$@" --threads=$SLURM_CPUS_ON_NODE`
	}
	fmt.Fprintf(&b, ofRanks, alone)
	fmt.Fprintf(&b, attended, job)
	return b.String(), nil
}

// ofRanks turns the tasks of a job into ranks of one training, if options ask for several
// tasks.
const ofRanks = `if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then set -- srun "$@"; else %s; fi
`

// attended runs the trainer. Only the script gets USR1 before the limit, or USR2 if options
// ask for it: the trainer then saves and ends with 138 or 140. All processes get TERM, and
// a second TERM would kill the trainer before it has saved. A trapped signal also makes
// wait return.
const attended = `
trap 'kill -USR1 $trainer' USR1
trap 'kill -USR2 $trainer' USR2
trap : TERM
"$@" &
trainer=$!
while wait $trainer; kill -0 $trainer 2>/dev/null; do :; done
wait $trainer
status=$?
trap '' USR1 USR2 TERM
if [ $status = 138 ] || [ $status = 140 ]; then
	scontrol requeue %s && exit
	echo "mlc: Slurm did not requeue the job, and the training is not finished: launch it again" >&2
fi
exit $status
`

// choice prints a shell command that sets the words of a task, by the variable with its
// number. The variable is less lower than the number in the sweep.
func (l *launch) choice(variable string, less int) string {
	if len(l.tasks) == 1 && less == 0 {
		return "set -- " + flag.Line(l.tasks[0].command) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "case $%s in\n", variable)
	for _, t := range l.tasks {
		fmt.Fprintf(&b, "%d) set -- %s ;;\n", t.number-less, flag.Line(t.command))
	}
	b.WriteString("esac\n")
	return b.String()
}

// ranges writes ascending numbers of tasks for sbatch: 1-3,7.
func ranges(tasks []remoteTask) string {
	var parts []string
	for i := 0; i < len(tasks); {
		last := i
		for last+1 < len(tasks) && tasks[last+1].number == tasks[last].number+1 {
			last++
		}
		text := fmt.Sprint(tasks[i].number)
		if last > i {
			text += fmt.Sprintf("-%d", tasks[last].number)
		}
		parts = append(parts, text)
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// batchWord quotes a value for an option of sbatch.
func batchWord(text string) string {
	if !strings.ContainsAny(text, " \t\"'#") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
}
