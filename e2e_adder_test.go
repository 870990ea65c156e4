package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli"
	"github.com/arithlang/mlc/internal/full"
)

// numpy returns a Python that has numpy, or skips the test with a message.
func numpy(t *testing.T) string {
	t.Helper()
	python := full.Needs(t, full.Python)
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("%s has no numpy", python)
	}
	return python
}

// adders are the programs that check an exported file: our checker, and AdderBoard's if it is
// found.
func adders(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"tools/check-adder": {"-B", "tools/check-adder"}}
	verify := os.Getenv("MLC_VERIFY")
	if verify == "" {
		verify = filepath.Join("..", "shared", "adderboard", "verify.py")
	}
	if _, err := os.Stat(verify); err != nil {
		t.Logf("left out: AdderBoard's verify.py (MLC_VERIFY says where it is): %v", err)
		return all
	}
	all["verify.py"] = []string{"-B", verify}
	return all
}

// TestAdder exports a model of addition as one file with its weights as numbers. The file gives
// the trainer's answers and reports the number of trained parameters.
func TestAdder(t *testing.T) {
	full.Only(t)
	python := numpy(t)
	dir := generate(t, "export/testdata/adder.arith", "train.budget=300steps")
	binary := filepath.Join(t.TempDir(), "adder")
	command(t, dir, nil, "go", "build", "-o", binary, ".")
	run := filepath.Join(t.TempDir(), "run")
	command(t, dir, nil, binary, "train", "--device", "cpu", "--quiet", "--out", run)
	file := filepath.Join(t.TempDir(), "adder.py")
	var said bytes.Buffer
	if code := cli.Run(source, []string{"export", run, "--format", "numpy", "--store", "literals", "--out", file}, &said, &said); code != 0 {
		t.Fatalf("exit %d: %s", code, said.String())
	}
	var problems []string
	src := rand.New(rand.NewPCG(1, 2))
	for k := range 50 {
		most := []int64{10, 1e4, 1e10}[k%3]
		problems = append(problems, fmt.Sprintf("%d+%d", src.Int64N(most), src.Int64N(most)))
	}
	want, err := exec.Command(binary, append([]string{"solve", run, "--device", "cpu"}, problems...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(python, append([]string{"-B", file}, problems...)...).CombinedOutput()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: Python answers\n%swant\n%s", err, got, want)
	}
	if n := strings.Count(string(want), "\n"); n != len(problems) {
		t.Errorf("%d answers to %d problems:\n%s", n, len(problems), want)
	}
	text := string(read(t, file))
	for _, right := range []string{"def solution", "def right", "int(operands"} { // other ways to compute an answer
		if strings.Contains(text, right) {
			t.Errorf("%q is in the file", right)
		}
	}
	for name, args := range adders(t) {
		few := map[string]string{"verify.py": "--num-tests=20", "tools/check-adder": "--pairs=20"}[name]
		out, _ := exec.Command(python, append(args, file, few)...).CombinedOutput()
		if !strings.Contains(string(out), "276") || strings.Contains(string(out), "Error") {
			t.Errorf("%s says\n%s", name, out)
		}
	}
}

// TestCheckAdder runs the checker on files with different add functions.
func TestCheckAdder(t *testing.T) {
	python := "python3"
	if err := exec.Command(python, "--version").Run(); err != nil {
		t.Skip("there is no python3")
	}
	const about = "def build_model():\n    return None, {'name': 'a', 'author': 'b', 'params': 7, 'architecture': 'c', 'tricks': []}\n\n"
	for name, c := range map[string]struct {
		text, want string
		fails      bool
	}{
		"right":        {about + "def add(model, a, b):\n    return a + b\n", "10010 of 10010 right (100.00 %), 7 parameters", false},
		"mostly right": {about + "def add(model, a, b):\n    return a + b + (a % 200 == 0)\n", "7 parameters", false},
		"often wrong":  {about + "def add(model, a, b):\n    return a + b + (a % 50 == 0)\n", "less than 99 % are right", true},
		"raises":       {about + "def add(model, a, b):\n    raise KeyError('x')\n", "0 of 10010 right", true},
		"no add":       {about, "has no function add", true},
		"no number":    {strings.Replace(about, "7", "'few'", 1) + "def add(model, a, b):\n    return a + b\n", "not a number of parameters", true},
		"no author":    {strings.Replace(about, "'author': 'b', ", "", 1) + "def add(model, a, b):\n    return a + b\n", "the description of build_model lacks author", true},
	} {
		file := filepath.Join(t.TempDir(), "entry.py")
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "-B", "tools/check-adder", file).CombinedOutput()
		if (err != nil) != c.fails || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "Traceback") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestShippedAdders checks each committed entry against the rules.
func TestShippedAdders(t *testing.T) {
	full.Only(t)
	files, err := filepath.Glob("specs/adders/*.py")
	if err != nil || len(files) == 0 {
		t.Skip("there are no entries")
	}
	python := numpy(t)
	for _, file := range files {
		for name, args := range adders(t) {
			t.Run(filepath.Base(file)+" by "+name, func(t *testing.T) {
				t.Parallel()
				out, err := exec.Command(python, append(args, file)...).CombinedOutput()
				if err != nil || name == "verify.py" && !strings.Contains(string(out), "Status: QUALIFIED") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
