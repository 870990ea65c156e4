package train

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/train"
)

// someLaunch returns a launch of three trainings, without programs. Its folder's name has
// characters that shells and sbatch interpret.
func someLaunch(t *testing.T, args ...string) (l *launch, out *bytes.Buffer) {
	t.Helper()
	line := parsed[Line](t, append([]string{"My_sweep.arith"}, args...)...)
	out = new(bytes.Buffer)
	l = &launch{series: &series{Builder: build.New(&shell.Shell{Context: t.Context(), Out: out, Err: t.Output()}, nil, build.Maker{}), flags: line.Flags}, line: line, folder: `/runs/it's "all"`}
	l.flags.Out = l.folder
	for _, number := range []int{1, 2, 4} {
		slug := "seed-" + string(rune('0'+number))
		l.jobs = append(l.jobs, job{Training: project.Training{Source: project.Source{Name: "My_sweep.arith"}, Point: check.Point{Name: slug, Slug: slug}, Number: number}})
		l.tasks = append(l.tasks, remoteTask{number: number, name: slug, command: []string{"echo", "train", "--out", l.folder + "/" + slug, "$HOME"}})
	}
	return l, out
}

// TestPrint prints lines that a shell splits into the commands.
func TestPrint(t *testing.T) {
	l, out := someLaunch(t, "--launcher", "print")
	if err := l.print(); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("sh", "-c", out.String()).Output()
	want := ""
	for _, n := range []string{"1", "2", "4"} {
		want += `train --out /runs/it's "all"/seed-` + n + " $HOME\n"
	}
	if diff := cmp.Diff(want, string(said)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestKubernetes reads the manifest as YAML, and runs the script of a pod.
func TestKubernetes(t *testing.T) {
	l, out := someLaunch(t, "--launcher", "kubernetes", "--jobs", "2")
	if err := l.kubernetes(); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Completions, Parallelism int
			CompletionMode           string `yaml:"completionMode"`
			Template                 struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Grace         int    `yaml:"terminationGracePeriodSeconds"`
					Containers    []struct {
						Command    []string
						WorkingDir string `yaml:"workingDir"`
						Mounts     []struct {
							Path string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(out.Bytes(), &m); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if m.Kind != "Job" || m.Metadata.Name != "my-sweep" || m.Spec.Completions != 3 || m.Spec.Parallelism != 2 || m.Spec.CompletionMode != "Indexed" ||
		m.Spec.Template.Spec.RestartPolicy != "Never" || m.Spec.Template.Spec.Grace < 60 || len(m.Spec.Template.Spec.Containers) != 1 {
		t.Errorf("%+v", m)
	}
	pod := m.Spec.Template.Spec.Containers[0]
	if pod.WorkingDir != l.folder || pod.Mounts[0].Path != l.folder {
		t.Errorf("%+v", pod)
	}
	cmd := exec.Command(pod.Command[0], pod.Command[1:]...)
	cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX=2")
	if said, err := cmd.Output(); string(said) != `train --out /runs/it's "all"/seed-4 $HOME`+"\n" || err != nil {
		t.Errorf("pod 2 is %q, %v", said, err)
	}
}

// TestOneTraining launches a training alone: as a job without an array, and as the pod with the number 0.
func TestOneTraining(t *testing.T) {
	l, out := someLaunch(t, "--launcher", "kubernetes")
	l.jobs, l.tasks = l.jobs[2:], l.tasks[2:]
	const want = `train --out /runs/it's "all"/seed-4 $HOME` + "\n"
	if said, err := exec.Command("sh", "-c", l.choice("SLURM_ARRAY_TASK_ID", 0)+`"$@"`).Output(); string(said) != want || err != nil {
		t.Errorf("without an array: %q, %v", said, err)
	}
	if err := l.kubernetes(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "my-sweep") || !strings.Contains(out.String(), "0) set -- ") {
		t.Errorf("%s", out)
	}
}

// TestScript runs the script of an array with trainers that end in different ways, and with
// a Slurm that requeues the job or does not.
func TestScript(t *testing.T) {
	t.Parallel() // it waits
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash, which runs the scripts of jobs: install bash")
	}
	l, _ := someLaunch(t, "--launcher=slurm", "--jobs=2", "--sbatch", "-p gpu")
	dir := t.TempDir()
	trainer := filepath.Join(dir, "trainer")
	for _, c := range []struct {
		trainer, scontrol string
		code              int
		want              string
	}{
		{"exit 0", "echo requeues", 0, ""},
		{"exit 3", "echo requeues", 3, ""},
		{"exit 138", `echo "$@"`, 0, "requeue 7_2\n"},
		{"exit 138", "exit 1", 138, ""},
		{"trap 'sleep 0.2; exit 138' USR1; sleep 0.2; kill -USR1 $PPID; for i in {1..100}; do sleep 0.05; done", `echo "$@"`, 0, "requeue 7_2\n"},
		{"trap 'sleep 0.2; exit 140' USR2; sleep 0.2; kill -USR2 $PPID; for i in {1..100}; do sleep 0.05; done", `echo "$@"`, 0, "requeue 7_2\n"},
		{"trap 'sleep 0.2; exit 143' TERM; sleep 0.2; kill -TERM $PPID $$; for i in {1..100}; do sleep 0.05; done", "echo requeues", 143, ""},
		{"trap 'echo twice' TERM; sleep 0.2; kill -TERM $PPID; sleep 0.5; exit 143", "echo requeues", 143, ""},
		{`echo "$@"`, "", 0, "train --threads=5\n"},
	} {
		l.tasks[1].command = []string{trainer, "train"}
		script, err := l.script()
		if err != nil || !strings.HasPrefix(script, "#!/bin/bash\n#SBATCH ") {
			t.Fatalf("%v, %s", err, script)
		}
		if err := errors.Join(os.WriteFile(trainer, []byte("#!/bin/bash\n"+c.trainer+"\n"), 0o700), os.WriteFile(filepath.Join(dir, "scontrol"), []byte("#!/bin/bash\n"+c.scontrol+"\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=2", "SLURM_ARRAY_JOB_ID=7", "SLURM_JOB_ID=9", "SLURM_CPUS_ON_NODE=5")
		said, _ := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != c.code || string(said) != c.want {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.trainer, got, said, c.code, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "srun"), []byte("#!/bin/bash\necho srun \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	script, _ := l.script()
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=2", "SLURM_CPUS_ON_NODE=5", "SLURM_NTASKS=4")
	if said, err := cmd.Output(); err != nil || string(said) != "srun "+trainer+" train\n" {
		t.Errorf("four ranks: %v, %q", err, said)
	}
	for _, want := range []string{"#SBATCH --array=1-2,4%2\n", `#SBATCH --output="/runs/it's \"all\"/launch/My_sweep-%A_%a.out"` + "\n", "#SBATCH -p gpu\n"} {
		if !strings.Contains(script, want) {
			t.Errorf("no %s in\n%s", want, script)
		}
	}
	l.line.Sbatch = []string{"-p gpu\nrm -r /"}
	if _, err := l.script(); !errors.As(err, new(shell.UsageError)) {
		t.Errorf("two lines of options: %v", err)
	}
}

// TestReached describes the progress of a training, and skips one that another process
// runs.
func TestReached(t *testing.T) {
	dir := t.TempDir()
	const budget, half = `{"name":"x","budget":{"steps":10}}`, `{"step":4,"loss":1}` + "\n"
	for name, files := range map[string]map[string]string{
		"begun":   {},
		"stopped": {"run.json": budget, "metrics.jsonl": half},
		"trained": {"run.json": budget, "metrics.jsonl": `{"step":10,"loss":1}` + "\n"},
		"tested":  {"run.json": budget, "eval/result.json": `{"id":1,"by_cell":[]}`},
		"running": {"run.json": budget, "metrics.jsonl": half},
		"damaged": {"run.json": "nothing"},
	} {
		for file, text := range files {
			path := filepath.Join(dir, name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	os.Mkdir(filepath.Join(dir, "begun"), 0o755)
	for _, name := range []string{"begun", "running"} {
		held, err := lock.Try(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
	}
	s := &series{Builder: build.New(&shell.Shell{Err: t.Output()}, nil, build.Maker{}), flags: Flags{Training: flags.Training{Out: dir, Resume: flags.Resumes}}}
	for name, want := range map[string]string{"nowhere": "not begun", "begun": "running: process ", "stopped": "stopped: step 4 of 10", "trained": "trained, not tested", "tested": "",
		"running": "running: step 4 of 10, process ", "damaged": "unreadable: "} {
		j := job{budget: train.Budget{Steps: 10}}
		j.Point.Slug = name
		s.jobs = append(s.jobs, j)
		if got := s.flags.reached(&j); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for i := range s.jobs {
		name := s.jobs[i].Point.Slug
		if got, want := s.elsewhere(i), name == "begun" || name == "running"; got != want {
			t.Errorf("%s: made elsewhere: %t", name, got)
		}
	}
	running := slices.IndexFunc(s.jobs, func(j job) bool { return j.Point.Slug == "running" })
	s.jobs[running].state = waiting
	if err := s.each([]int{running}, s.flags.of); err != nil || s.jobs[running].state != away {
		t.Errorf("one after another, the running training is begun: %v", err)
	}
	w := &crew{series: s, size: 1, queue: []int{running}, building: none}
	if w.next(); w.building != none || len(w.queue) > 0 {
		t.Error("side by side, the running training is begun")
	}
}

// TestBring replaces a program, and keeps the installed one when it is built again.
func TestBring(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "program"), filepath.Join(dir, "launch", "program")
	for _, text := range []string{"one", "two"} {
		if err := os.WriteFile(from, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := bring(from, to); err != nil {
			t.Fatal(err)
		}
		os.Remove(from)
		if got, err := os.ReadFile(to); string(got) != text || err != nil {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(to)); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
}

// TestCopyProgram copies a program that cannot be linked, and replaces none.
func TestCopyProgram(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "program"), filepath.Join(dir, "copy")
	if err := copyProgram(from, to); err == nil {
		t.Error("a program that is not there is copied")
	}
	if err := os.WriteFile(from, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyProgram(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); string(text) != "one" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(to); err != nil || shell.ExeSuffix == "" && info.Mode().Perm()&0o700 != 0o700 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := copyProgram(from, to); err == nil {
		t.Error("it replaces a program")
	}
}

// TestAdd makes no task of a training that is finished or running, and refuses a run of another spec.
func TestAdd(t *testing.T) {
	l, _ := someLaunch(t)
	l.flags.Out, l.tasks = t.TempDir(), nil
	hash := strings.Repeat("ab", 32)
	for name, files := range map[string]map[string]string{
		"tested":  {"run.json": `{"name":"x","spec_hash":"` + hash + `"}`, "eval/result.json": `{"id":1,"by_cell":[]}`},
		"running": {"run.json": `{"name":"x","spec_hash":"` + hash + `"}`},
		"other":   {"run.json": `{"name":"x","spec_hash":"` + strings.Repeat("ef", 32) + `"}`},
	} {
		for file, text := range files {
			path := filepath.Join(l.flags.Out, name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := lock.Try(filepath.Join(l.flags.Out, "running"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for i, c := range []struct{ name, leftOut, err string }{
		{"tested", " (1 trained before)", ""}, {"running", " (1 trained before, 1 being trained)", ""}, {"other", " (1 trained before, 1 being trained)", "is a run of another spec: choose another --out"},
	} {
		j := &l.jobs[i]
		j.Point.Slug, j.asked.hash = c.name, hash
		err := l.add(j)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || l.leftOut() != c.leftOut || len(l.tasks) > 0 {
			t.Errorf("%s: %v,%s, %d tasks", c.name, err, l.leftOut(), len(l.tasks))
		}
	}
	l.before = 0
	if got := l.leftOut(); got != " (1 being trained)" {
		t.Errorf("%q", got)
	}
}

// TestPlace puts runs below --out, and otherwise a run of no sweep into a folder of its own.
func TestPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		given, point, slug string
		want               string // below here; ends with * if more follows
		err                string
	}{
		{"", "lr=1", "lr-1", "runs/x", ""},
		{"o", "lr=1", "lr-1", "runs/x", ""},
		{"o", "", "", "runs/x", ""},
		{"", "", "", "runs/x/2*", ""},
		{"", "lr=1", "Launch", "", "a training of the sweep is named launch, like the folder of the programs"},
	} {
		l, _ := someLaunch(t)
		l.jobs, l.line.Out, l.flags.Out = l.jobs[:1], c.given, "runs/x"
		l.jobs[0].Point = check.Point{Name: c.point, Slug: c.slug}
		l.jobs[0].asked.hash = strings.Repeat("ab", 32)
		err := l.place()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		want, more := strings.CutSuffix(filepath.Join(here, filepath.FromSlash(c.want)), "*")
		if err != nil || l.folder != l.flags.Out || !strings.HasPrefix(l.folder, want) || (l.folder == want) == more {
			t.Errorf("%+v: %s, %v", c, l.folder, err)
		}
	}
}
