package runtime

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/comm/launch"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/several"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
	"github.com/arithlang/mlc/sim/simulated"
)

// toyProcess is the environment variable that makes the test binary a trainer. Its values are
// the toy, a slow toy whose first step takes a minute, the toy in stages, one whose steps take
// some milliseconds, and one whose rank 1 is killed.
const toyProcess = "MLC_TEST_TOY"

func TestMain(m *testing.M) {
	switch os.Getenv(toyProcess) {
	case "toy":
		Main(toyModel())
	case "slow":
		m := toyModel()
		m.CPU[toyGradients].Run = func(*cpu.Worker, *device.Env, []device.Ref) { time.Sleep(time.Minute) }
		Main(m)
	case "stages":
		MainStages(new(toyPipeline()), stages.Train)
	case "rounds":
		MainStages(new(toyRounds()), stages.Train)
	case "steady":
		m := toyModel()
		healthy := m.CPU[toyGradients].Run
		m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
			time.Sleep(2 * time.Millisecond)
			healthy(w, e, a)
		}
		Main(m)
	case "rank 1 dies":
		m := toyModel()
		if l, _, _ := launch.Find(os.Getenv); l.Rank == 1 {
			dieLater(&m)
		}
		Main(m)
	}
	os.Setenv("TMPDIR", inMemory())
	os.Exit(m.Run())
}

// toyCommand returns a trainer as a separate process.
func toyCommand(model string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), toyProcess+"="+model)
	return cmd
}

// A said is the outcome of a command.
type said struct {
	code     int
	out, err string
}

// call runs a model's command line in this process.
func call(t *testing.T, m program.Model, stdin string, args ...string) said {
	t.Helper()
	return callApp(t, world.App{Model: m, In: strings.NewReader(stdin)}, append([]string{"./toy"}, args...))
}

// callApp runs a command line, the program's name first, and returns its outcome.
func callApp(t *testing.T, a world.App, args []string) said {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	var out bytes.Buffer
	a.Out, a.Err = &out, stderr
	code := attended(a, args)
	text, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return said{code, out.String(), string(text)}
}

// trained trains the toy in a new directory and returns the directory.
func trained(t *testing.T, m program.Model, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if s := call(t, m, "", append([]string{"train", "--out", dir}, args...)...); s.code != 0 {
		t.Fatalf("train: exit %d\n%s", s.code, s.err)
	}
	return dir
}

// exitInterrupted is the exit code after ctrlC.
const exitInterrupted = 130

// attending holds the contexts of the command lines that run in this process.
var attending struct {
	sync.Mutex
	all []context.Context
}

// attended runs a command line that ctrlC reaches. The program has a simulated GPU unless it
// has other devices.
func attended(a world.App, args []string) (code int) {
	ctx, release := interrupt.Context()
	defer release()
	attending.Lock()
	attending.all = append(attending.all, ctx)
	attending.Unlock()
	a.Ctx = ctx
	if a.Brought == nil {
		a.Brought = []world.Device{{Name: "sim", How: "every access checked", Note: "simulating a GPU", Open: func() (cuda.Driver, error) {
			return simulated.Open(ptxsim.Options{Memory: simMemory})
		}}}
	}
	way := verbs.Way(stages.Train)
	if a.Whole == nil {
		way = nil
	}
	if a.Model.Lanes.N > 0 {
		way = several.Train
	}
	return run(a, args, way)
}

// simMemory is the memory of a simulated GPU, which takes several times as much of the host's.
const simMemory = 1 << 30

// ctrlC sends this process SIGINT. It returns once all contexts in attending have ended.
func ctrlC() {
	syscall.Kill(os.Getpid(), syscall.SIGINT)
	attending.Lock()
	defer attending.Unlock()
	for _, ctx := range attending.all {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			panic("an interrupt is not noticed")
		}
	}
}

// lastCheckpoint returns the path of a run's last checkpoint, or "".
func lastCheckpoint(dir string) string {
	path, _ := rundir.NewestCheckpoint(dir)
	return path
}

// final returns the bytes of a run's last checkpoint, and of its metrics without the seconds.
func final(t *testing.T, dir string) (checkpoint []byte, metrics string) {
	t.Helper()
	checkpoint, err := os.ReadFile(lastCheckpoint(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"metrics.jsonl", "metrics.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		metrics += seconds.ReplaceAllString(string(text), "")
	}
	return checkpoint, metrics
}

var seconds = regexp.MustCompile(`"seconds":[^,]*|,[^,]*,(train|first|second)\b`)

// sameRun compares two runs to the last byte.
func sameRun(t *testing.T, want, got string) {
	t.Helper()
	wantCkpt, wantMetrics := final(t, want)
	gotCkpt, gotMetrics := final(t, got)
	if !bytes.Equal(wantCkpt, gotCkpt) {
		t.Error("checkpoints differ")
	}
	if wantMetrics != gotMetrics {
		t.Errorf("metrics differ:\n%s\n---\n%s", wantMetrics, gotMetrics)
	}
}

// at calls do once, before the gradients of a step.
func at(m *program.Model, step uint32, do func()) {
	healthy, once := m.CPU[toyGradients].Run, sync.Once{}
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		if e.Step == step {
			once.Do(do)
		}
		healthy(w, e, a)
	}
}

// dieLater kills the process some steps after its first one.
func dieLater(m *program.Model) {
	healthy := m.CPU[toyGradients].Run
	var once sync.Once
	var begun uint32
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		once.Do(func() { begun = e.Step })
		if e.Step == begun+50 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		healthy(w, e, a)
	}
}
