package build

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
)

// TestTrainer builds the trainer of a spec, in a module and in the cache, unless it is current. It
// wants the messages that each Telling stands for. Without Go a current trainer is enough.
func TestTrainer(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Chdir(root)
	t.Setenv("MLC_CACHE", filepath.Join(root, "cache"))
	spec, err := filepath.Abs(filepath.Join(root, "least.arith"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec, []byte("arith 2\n\ntask successor { operands = below(100) }\nmodel.width = 8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	where := project.Folders{Root: root, Programs: filepath.Join(root, "generated"), Binaries: filepath.Join(root, "bin")}
	training := project.Training{Source: project.Source{Base: root, Name: "least.arith"}}
	text, builds := "1", 0
	make := func(how Telling) (string, *Product, error) {
		var said strings.Builder
		b := New(&shell.Shell{Context: t.Context(), Out: t.Output(), Err: &said}, os.DirFS(source), Maker{
			Generate: func(*compiler.Program, codegen.Options) ([]codegen.File, error) {
				return []codegen.File{{Path: "main.go", Data: []byte(generatedMark + text)}}, nil
			},
			Build: func(dir, pkg, binary string) error {
				builds++
				return os.WriteFile(binary, []byte(text), 0o755)
			},
		})
		p, err := b.Trainer(where, training, how)
		return regexp.MustCompile(`\d+\.\d+ s`).ReplaceAllString(said.String(), "N s"), p, err
	}
	const building = "building the trainer of least.arith"
	first := building + " (the first one takes longest: it also compiles the shared packages) …\nleast: built in N s\n"
	for _, c := range []struct {
		apart  bool
		text   string
		how    Telling
		want   string
		builds int // so far. In a module the go command always runs: the runtime may have changed
	}{
		{false, "1", Brief, first, 1},
		{false, "1", Brief, "", 2},
		{false, "2", Silent, "", 3},
		{false, "3", Everything, building + " …\ngenerated/least  1 files, 1 changed, N s\nbin/least  N s\n", 4},
		{true, "1", Brief, first, 5},
		{true, "1", Brief, "", 5},
		{true, "2", Silent, "", 6},
	} {
		text, where.Apart = c.text, c.apart
		said, p, err := make(c.how)
		if err != nil || said != c.want || builds != c.builds {
			t.Errorf("%+v: %v, %q, after %d builds", c, err, said, builds)
			continue
		}
		made, err := os.ReadFile(p.Binary)
		if inCache := strings.HasPrefix(p.Binary, filepath.Join(root, "cache")); string(made) != text || err != nil || inCache != c.apart || !c.apart && p.Binary != filepath.Join(root, "bin", "least"+shell.ExeSuffix) {
			t.Errorf("%s has %q, %v", p.Binary, made, err)
		}
	}
	if !HasGo() {
		t.Error("there is no go command")
	}
	times := New(&shell.Shell{Context: t.Context(), Err: t.Output()}, os.DirFS(source), Maker{Build: func(dir, pkg, binary string) error { return os.WriteFile(binary, nil, 0o755) }})
	if p, err := times.Forecast(training); err != nil || !paths.Exists(p.Binary) || !strings.HasSuffix(p.Binary, "-cores"+shell.ExeSuffix) || times.Generate == nil {
		t.Errorf("the program that times a step: %v", err)
	}
	where.Apart, text = false, "3"
	t.Setenv("PATH", "")
	if _, _, err := make(Brief); err != nil {
		t.Errorf("without Go, a trainer that is there: %v", err)
	}
	text = "4"
	if _, _, err := make(Brief); !errors.Is(err, errNoGo) {
		t.Errorf("without Go, another trainer: %v", err)
	}
	if _, err := FindToolchain(&shell.Shell{Context: t.Context()}); HasGo() || err != errNoGo {
		t.Errorf("there is a go command in no folder: %v", err)
	}
}

// TestCommand calls a program by its path from here, or by the name that it is given.
func TestCommand(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for want, p := range map[string]Product{
		"./x":   {Binary: filepath.Join(here, "x")},
		"bin/x": {Binary: filepath.Join(here, "bin", "x")},
		"mlc":   {Binary: filepath.Join(here, "x"), calledBy: "mlc"},
	} {
		if got := p.Command("train", []string{"-q"}); !slices.Equal(got, []string{filepath.FromSlash(want), "train", "-q"}) {
			t.Errorf("%+v is called by %q", p, got)
		}
	}
}

// TestBinaryError adds advice to an error of writing, but not to the end of the context.
func TestBinaryError(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	b := New(&shell.Shell{Context: ctx}, nil, Maker{})
	p := &Product{Binary: "bin/x"}
	if err := b.binaryError(p, nil); err != nil {
		t.Error(err)
	}
	if err := b.binaryError(p, syscall.ENOSPC); err == nil || !strings.HasPrefix(err.Error(), "cannot write the trainer bin/x: ") || !strings.HasSuffix(err.Error(), "with --bin") {
		t.Error(err)
	}
	if end(); b.binaryError(p, context.Canceled) != context.Canceled {
		t.Error(b.binaryError(p, context.Canceled))
	}
}

// TestPrintsToolchain is the process of TestToolchain.
func TestPrintsToolchain(t *testing.T) {
	if os.Getenv("MLC_TEST_TOOLCHAIN") == "" {
		t.Skip("it is started by TestToolchain")
	}
	tool, err := FindToolchain(&shell.Shell{Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	goroot := slices.ContainsFunc(tool.environ(), func(s string) bool { return strings.HasPrefix(s, "GOROOT=") })
	json.NewEncoder(os.Stdout).Encode([]any{tool.Path, tool.From, tool.Version, goroot})
	os.Exit(0)
}

// TestToolchain prefers the go command of the Python environment that mlc is in to the one in PATH.
func TestToolchain(t *testing.T) {
	if shell.ExeSuffix != "" {
		t.Skip("there are no scripts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ours, other, program := filepath.Join(root, "lib/python3.12/site-packages/go/bin/go"), filepath.Join(root, "other", "go"), filepath.Join(root, "bin", "mlc")
	for path, version := range map[string]string{ours: "go9.1", other: "go9.2"} {
		script := "#!/bin/sh\necho go version " + version + " $GOTOOLCHAIN/$1\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(script), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.Link(self, program)); err != nil {
		t.Skip(err)
	}
	for _, want := range []string{`["` + ours + `","Python","go9.1",false]`, `["` + other + `","PATH","go9.2",true]`} {
		cmd := exec.Command(program, "-test.run=^TestPrintsToolchain$")
		cmd.Env = append(os.Environ(), "MLC_TEST_TOOLCHAIN=1", "GOROOT=/nowhere", "PATH="+filepath.Dir(other)+":/bin:/usr/bin")
		text, err := cmd.Output()
		if got := strings.TrimSpace(string(text)); got != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		if err := os.RemoveAll(filepath.Join(root, "lib")); err != nil {
			t.Fatal(err)
		}
	}
}
