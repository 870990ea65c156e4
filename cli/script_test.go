package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/slurmtest"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/internal/full"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mlc": func() {
			var by build.Maker
			switch {
			case os.Getenv("TOY") != "":
				by = build.Maker{Generate: toyGenerate, Build: toyBuild}
			case os.Getenv(programs) != "":
				by.Generate = generateOnce
			default:
				Main(sourceTree())
			}
			os.Exit(run(sourceTree(), by, os.Args[1:], os.Stdout, os.Stderr))
		},
		"toytrainer": toyTrainer,
	})
}

// programs names the folder in which commands of scripts keep programs for others.
const programs = "TEST_PROGRAMS"

// generateOnce is codegen.Generate. In the short run, another command of the scripts that has
// printed the same program has left its files.
func generateOnce(p *compiler.Program, o codegen.Options) ([]codegen.File, error) {
	text, _ := os.ReadFile(p.Source) // its lines are in kernels
	key := sha256.Sum256(fmt.Append(nil, o, p.Spec.Hash, codegen.SpecText(p), text))
	path := filepath.Join(os.Getenv(programs), hex.EncodeToString(key[:]))
	var files []codegen.File
	if data, err := os.ReadFile(path); err == nil {
		return files, json.Unmarshal(data, &files)
	}
	files, err := codegen.Generate(p, o)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	temp, err := paths.WriteTemp(filepath.Dir(path), data)
	if err != nil {
		return nil, err
	}
	return files, os.Rename(temp, path)
}

// sourceTree returns mlc's source, wherever the test runs.
func sourceTree() fs.FS {
	_, file, _, _ := runtime.Caller(0)
	return os.DirFS(filepath.Join(filepath.Dir(file), ".."))
}

// ptxScript returns the script for the simulator's own program, changed for mlc ptx.
func ptxScript(t *testing.T) string {
	text, err := os.ReadFile("../ptxsim/cmd/ptxsim/testdata/ptx.txtar")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ptx.txtar")
	of := strings.NewReplacer("ptxsim: ", "mlc: ", "ptxsim", "mlc ptx").Replace(string(text))
	of = "[!full] skip 'ptxsim/cmd/ptxsim runs it'\n" + of
	if err := os.WriteFile(path, []byte(of), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestScripts runs the scripts in testdata/script, and ptxScript. Each begins in a folder
// with the shipped specs in specs, and with specs/least.arith, which compiles in half the
// time of specs/tiny.arith.
func TestScripts(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Files: []string{ptxScript(t)},
		Setup: func(env *testscript.Env) error {
			if !full.Tests {
				env.Setenv(programs, made)
			}
			return setup(env)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"module":     userModule,
			"same":       same,
			"brackets":   brackets,
			"exits":      exits,
			"tmpfs":      tmpfs,
			"readonly":   readonly,
			"transcript": transcript,
			"quotes":     quotes,
			"await":      awaitLine,
			"slurm":      startSlurm,
			"mlflow":     startMLflow,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "full":
				return full.Tests, nil
			case "root":
				return os.Getuid() == 0, nil
			case "tmpfs":
				return canMount(), nil
			case "slurm":
				return slurmtest.Missing() == "", nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
	})
}

// goEnv returns the folders of the go command as environment variables.
var goEnv = sync.OnceValues(func() (values map[string]string, err error) {
	said, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return nil, err
	}
	return values, json.Unmarshal(said, &values)
})

func setup(env *testscript.Env) error {
	specs, err := filepath.Glob("../specs/*.arith")
	if err != nil || len(specs) == 0 {
		return fmt.Errorf("no specs: %v", err)
	}
	dir := filepath.Join(env.WorkDir, "specs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, s := range specs {
		data, err := os.ReadFile(s)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(s)), data, 0o644); err != nil {
			return err
		}
	}
	least, err := os.ReadFile("testdata/least.arith")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "least.arith"), least, 0o644); err != nil {
		return err
	}
	values, err := goEnv()
	if err != nil {
		return err
	}
	for name, value := range values {
		env.Setenv(name, value)
	}
	command, err := exec.LookPath("mlc")
	if err != nil {
		return err
	}
	env.Setenv("MLCDIR", filepath.Dir(command))
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	env.Setenv("ROOT", root)
	if _, missing := full.Ptxas.Find(); missing != "" {
		env.Setenv("MLC_PTXAS", "none") // whatever is in PATH
	}
	env.Setenv("GOFLAGS", "-mod=mod")
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOGC", "100") // as users run mlc; package full sets another for tests
	return nil
}

// userModule makes the current folder a module of a user of mlc.
func userModule(ts *testscript.TestScript, neg bool, args []string) {
	repo, err := filepath.Abs("..")
	ts.Check(err)
	text := fmt.Sprintf("module example.com/trial\n\ngo 1.26\n\nrequire github.com/arithlang/mlc v0.0.0\n\nreplace github.com/arithlang/mlc => %s\n", repo)
	ts.Check(os.WriteFile(ts.MkAbs("go.mod"), []byte(text), 0o644))
	sums, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("go.sum"), sums, 0o644))
}

// same compares two folders file by file.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, b := folder(ts, args[0]), folder(ts, args[1])
	if len(a) == 0 {
		ts.Fatalf("%s has no files", args[0])
	}
	equal := len(a) == len(b)
	for name := range a {
		equal = equal && bytes.Equal(a[name], b[name])
	}
	if equal == neg {
		ts.Fatalf("equal: %v", equal)
	}
}

func folder(ts *testscript.TestScript, dir string) map[string][]byte {
	entries, err := os.ReadDir(ts.MkAbs(dir))
	ts.Check(err)
	files := map[string][]byte{}
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(ts.MkAbs(dir), e.Name()))
		ts.Check(err)
	}
	return files
}

// brackets writes a file of brackets with a size in megabytes.
func brackets(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := "arith 2\ntask successor { digits = " + strings.Repeat("[", n<<20)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// exits runs a command and compares its exit code with the first argument.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// tmpfs mounts a file system of a given size at a new folder until the script ends. A third
// argument is a mount option.
func tmpfs(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(mount(dir, strings.Join(append([]string{"size=" + args[1]}, args[2:]...), ",")))
	ts.Defer(func() { ts.Check(exec.Command("umount", dir).Run()) })
}

func mount(dir, options string) error {
	return exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).Run()
}

// canMount reports whether the tests may mount file systems.
func canMount() bool {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	return mount(dir, "size=4k") == nil && exec.Command("umount", dir).Run() == nil
}

// readonly makes a folder that only root can write to.
func readonly(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o555))
}

// awaitLine waits until a file has a line that matches a regular expression.
func awaitLine(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[1])
	for range 100 {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && want.Match(text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s never had %s", args[0], args[1])
}

// startSlurm starts Slurm with a number of processors in its node, until the script ends.
func startSlurm(ts *testscript.TestScript, neg bool, args []string) {
	cpus, err := strconv.Atoi(args[0])
	ts.Check(err)
	cluster, err := slurmtest.Start(cpus)
	ts.Check(err)
	ts.Defer(cluster.Stop)
	ts.Setenv("SLURM_CONF", cluster.Config)
}

// startMLflow starts a fake MLflow server until the script ends. It logs requests to the
// file mlflow.log and names itself in the environment.
func startMLflow(ts *testscript.TestScript, neg bool, args []string) {
	log, err := os.Create(ts.MkAbs("mlflow.log"))
	ts.Check(err)
	runs := 0
	var one sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		one.Lock()
		defer one.Unlock()
		body, _ := io.ReadAll(q.Body)
		fmt.Fprintf(log, "%s %s\n", path.Base(q.URL.Path), body)
		if path.Base(q.URL.Path) == "create" {
			runs++
		}
		fmt.Fprintf(w, `{"experiment": {"experiment_id": "7"}, "run": {"info": {"run_id": "r%d"}}}`, runs)
	}))
	ts.Defer(func() {
		server.Close()
		log.Close()
	})
	ts.Setenv("MLFLOW_TRACKING_URI", server.URL)
}
