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

// hasSbatch wants the command that takes jobs of Slurm.
func hasSbatch() error {
	if _, err := exec.LookPath("sbatch"); err != nil {
		return errors.New("there is no sbatch in PATH, which takes jobs of Slurm: run this where jobs are submitted, or take the commands with --launcher print")
	}
	return nil
}

// slurm submits the trainings as one job, an array where there are several.
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
		return fmt.Errorf("sbatch has not taken the job (%w): %s\nits script is %s; options for sbatch go into --sbatch, and --point chooses trainings where an array is too long",
			err, strings.TrimSpace(said.String()), paths.FromHere(path))
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(answer)), ";") // behind which may be the cluster
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

// output is where the task of a job writes, an array's with its number.
func (l *launch) output(job, number string) string {
	name := project.NameOf(l.jobs[0].Training.Name) + "-" + job
	if len(l.tasks) > 1 {
		name += "_" + number
	}
	return filepath.Join(l.folder, record.LaunchFolder, name+".out")
}

// pattern is output for all tasks, as sbatch has it: %A is the job of an array, %a the number
// in it, %j any other job, %% a percent sign.
func (l *launch) pattern() string {
	job := "%j"
	if len(l.tasks) > 1 {
		job = "%A"
	}
	name := filepath.Base(l.output(job, "%a"))
	return filepath.Join(strings.ReplaceAll(l.folder, "%", "%%"), record.LaunchFolder, name)
}

// taken is the time, in seconds, that Slurm gives a trainer to save before the job's end.
const taken = 120

// script is the job. The trainer is no step of it, so that it may use all cores of the job
// in every version of Slurm.
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
			return "", shell.Usagef("--sbatch: options are on one line")
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

// ofRanks makes ranks of one training of the tasks of a job, where options ask for several.
const ofRanks = `if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then set -- srun "$@"; else %s; fi
`

// attended runs the trainer. USR1, or USR2 where options ask for it, comes to the script
// alone, before the limit: the trainer saves and ends with 138 or 140. TERM comes to all processes, and a second one would kill the
// trainer before it has saved. Bash returns from wait for a signal that is trapped, too.
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
	echo "mlc: Slurm has not queued the job again, and the training is not at its end: launch it again" >&2
fi
exit $status
`

// choice sets the words of the command of a task, by the variable that has its number, from
// so much less than in the sweep.
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

// ranges are the numbers of tasks, which rise, as sbatch has them: 1-3,7.
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

// batchWord is a value in an option of sbatch, which reads quotes.
func batchWord(text string) string {
	if !strings.ContainsAny(text, " \t\"'#") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
}
