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

// toyProcess in the environment makes the test binary a trainer: of the toy, of a
// slow one whose first step takes a minute, of the toy in stages, of one whose steps take some
// milliseconds, or of one whose rank 1 is killed.
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

// toyCommand is a trainer as a process of its own.
func toyCommand(model string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), toyProcess+"="+model)
	return cmd
}

// A said is what a command left behind.
type said struct {
	code     int
	out, err string
}

// call runs a model's command line in this process.
func call(t *testing.T, m program.Model, stdin string, args ...string) said {
	t.Helper()
	return callApp(t, world.App{Model: m, In: strings.NewReader(stdin)}, append([]string{"./toy"}, args...))
}

// callApp runs a command line, the program's name first, and listens.
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

// trained trains the toy in a new directory and returns that.
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

// attending are the contexts of the command lines that this process has run.
var attending struct {
	sync.Mutex
	all []context.Context
}

// attended runs a command line, which ctrlC reaches, of a program that has a simulated GPU
// unless it has other devices.
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

// simMemory is what a simulated GPU has: it takes several times as much of the host's.
const simMemory = 1 << 30

// ctrlC is what Ctrl-C is for this process. It returns once all that is attended knows.
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

// lastCheckpoint is the path of a run's last checkpoint, "" if there is none.
func lastCheckpoint(dir string) string {
	path, _ := rundir.NewestCheckpoint(dir)
	return path
}

// final is the bytes of a run's last checkpoint, and of its metrics without the
// seconds.
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

// at does something once, before the gradients of a step.
func at(m *program.Model, step uint32, do func()) {
	healthy, once := m.CPU[toyGradients].Run, sync.Once{}
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		if e.Step == step {
			once.Do(do)
		}
		healthy(w, e, a)
	}
}

// dieLater has the process killed some steps after its first one.
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
