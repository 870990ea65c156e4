package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli"
	"github.com/arithlang/mlc/runtime/track"
)

// budget is the most lines of Go that each room may have, without tests and generated files. A
// room is a folder with all folders below it that have no row. A row falls with its room, and
// rises only with a reason next to it.
const budget = `
	. 20
	bench 1350
	board 400 # event files, which trainers wrote
	cli 1890 # labels of runs; a verb a file; explain for attention alone, and its stages
	cli/build 1660 # attention for PyTorch; the go command of a Python environment; starters of other programs
	cli/look 3200 # the summary of attention alone; the positions of a model; names of warnings; origins of a decoder-only model
	cli/paths 250 # folders that appear whole, which exports had
	cli/project 650 # specs of attention alone
	cli/results 1830 # runs chosen by tags and words; attention for a problem as plot draws it; losses of texts
	cli/runtest 100
	cli/shell 350
	cli/slurmtest 250
	cli/train 2890 # texts in a search by halves; what would be trained
	codegen 1900 # how large launches of a spec are, with those that go together
	codegen/cpu 10700
	codegen/flat 1970
	codegen/host 900
	codegen/ptx 10810 # columns that warps of their own add; rows of a scatter from 64 tests; sums of an iteration before what it sets; band.go: lines of a bias in shared memory; blocks of queries whose keys begin anywhere; sums over the queries of examples that have none; iterations that take few lanes; the gradient of attention in F32
	codegen/torch 400 # the table of launches; its Python files do not count
	compiler 1415 # attention alone; the scalars of callers, which trainers had
	compiler/check 10440 # specs of attention alone; texts; epochs; windows of each layer
	compiler/expr 2700 # a memo that looks through the first nodes rather than hash them
	compiler/grad 700 # statistics of attention
	compiler/ir 4150 # statistics of attention; a bias by distance
	compiler/kernel 4700
	compiler/lower 4550 # attention at places that a launch gives, and on packed keys; sums of rows
	compiler/model 2690 # attention alone, packed or not; logits of a text; label smoothing, gradient descent; the number of a layer
	compiler/plan 770 # distances of rows and heads
	compiler/tasks 500 # sizes of problems and what is wrong with a task, which trainers had
	diff 700
	docs 760 # the page of command lines; the section on attention alone
	dsl 3300 # version1.go, which turns specs of version 1 of the language into version 2
	export 3050 # attention in operations of PyTorch; protocol buffers, which trainers had
	insight 550
	internal 885 # which tests to ask first about a change; a folder for programs that tests build; golden, which tests wrote out
	lsp 1560 # choices and arguments of one kind of task
	mlflow 400
	plot 3400 # the marks of axes, which serve had again; settings and points of runs, which trainers had; attention for a problem; bars
	prove 8100
	python 500 # wheels
	ptxsim 13550 # Options.Reach: the gate of wrong kernels leaves out launches that a mutant cannot change
	runtime 5645 # labels of runs; runtime/flags: flags of trainers are structs, which the verbs of mlc embed, too; runtime/thinking, which all trainers had; runtime/continuing: models of text
	runtime/bench 650
	runtime/comm 900
	runtime/config 600
	runtime/cpu 2350 # bf16 and split, which all trainers had, are packages; producttest has operands for tests of three
	runtime/cuda 6890 # merge.go: chunks that differ run together, where ops are equal and not their hashes alone; parameters are kept rounded; moved.go: what is moved together
	runtime/device 700 # a queue whose launches join, the space of rounded parameters
	runtime/eval 1850 # losses of texts
	runtime/profile 850
	runtime/rundir 550
	runtime/several 550 # together.go, which all trainers had
	runtime/stages 1050
	runtime/task 4250 # windows of a text
	runtime/track 700
	runtime/train 2450 # room.go: launches have room for the largest of a step; stretches that are alike
	runtime/verbs 1550
	runtime/world 1600
	serve 3750 # losses of texts
	sim 2115 # reading a launch back from its parameters, which trainers had; a library of PTX, so that devices do not each read the same text
	sim/libcuda 900 # the driver's functions for Python
	specs 20
	torture 1650
`

// trainerLines is the most lines that a trainer may link from this module, besides its own.
const trainerLines = 26_000

// trainerBytes is the largest size of a trainer, as README.md says.
const trainerBytes = 10_000_000

// TestTrainerFits builds the trainer of the quick start as mlc does.
func TestTrainerFits(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	if code := cli.Run(os.DirFS("."), []string{"build", "-q", "--bin", dir, "specs/successor.arith"}, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	trainer, err := os.Stat(filepath.Join(dir, "successor"))
	if err != nil {
		t.Fatal(err)
	}
	if trainer.Size() > trainerBytes {
		t.Errorf("a trainer has %d bytes, at most %d are allowed: see what it links by go list -deps ./generated/successor", trainer.Size(), trainerBytes)
	}
	text, err := os.ReadFile("README.md")
	if err != nil || !strings.Contains(string(text), fmt.Sprintf("below %d MB", trainerBytes/1_000_000)) {
		t.Errorf("README.md does not say that a trainer is below %d MB: %v", trainerBytes/1_000_000, err)
	}
}

// TestBudget checks the lines of each room.
func TestBudget(t *testing.T) {
	most := map[string]int{}
	for line := range strings.Lines(budget) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) == 2 {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			most[words[0]] = n
		}
	}
	have := map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || path == "generated"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		room := filepath.ToSlash(filepath.Dir(path))
		for most[room] == 0 && strings.Contains(room, "/") {
			room = room[:strings.LastIndex(room, "/")]
		}
		have[room] += lines(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room, n := range have {
		held(t, room, n, most[room], max(most[room]/20, 60))
	}
	for room := range most {
		if have[room] == 0 {
			t.Errorf("%s has a row, and no lines", room)
		}
	}
}

// mostMethods is the most methods that a type of the command line may have. A type with more has
// become the way to reach everything.
const mostMethods = 25

// TestMethods counts the methods of each type of the command line.
func TestMethods(t *testing.T) {
	method := regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)`)
	have := map[string]int{}
	err := filepath.WalkDir("cli", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range method.FindAllSubmatch(text, -1) {
			have[filepath.ToSlash(filepath.Dir(path))+"."+string(m[1])]++
		}
		return err
	})
	if err != nil || len(have) < 50 {
		t.Fatalf("%d types: %v", len(have), err)
	}
	for name, n := range have {
		if n > mostMethods {
			t.Errorf("%s has %d methods: move some to smaller types", name, n)
		}
	}
}

// TestTrainerIsSmall checks what a trainer links: no imitation of a GPU, no network, and no more
// lines than before.
func TestTrainerIsSmall(t *testing.T) {
	format := `{{if .Standard}}{{.ImportPath}}{{end}}{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{$d := .Dir}}{{range .GoFiles}} {{$d}}/{{.}}{{end}}{{end}}{{end}}`
	list := exec.Command("go", "list", "-deps", "-f", format, "./generated/successor")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // so the files of this system are counted
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch pkg := strings.TrimPrefix(words[0], module+"/"); top(pkg) {
		case "generated":
			continue
		case "net", "crypto":
			if pkg == "net/http" || pkg == "crypto/tls" {
				t.Errorf("a trainer links %s, but talks to no server: go list -deps ./generated/successor", pkg)
			}
		case "ptxsim", "sim":
			t.Errorf("a trainer links %s, which only mlc may use: go list -deps ./generated/successor", pkg)
		}
		for _, file := range words[1:] {
			n += lines(t, file)
		}
	}
	held(t, "a trainer", n, trainerLines, 500)
	text, err := os.ReadFile("ARCHITECTURE.md")
	if says := track.Thousands(trainerLines) + " lines"; err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), says) {
		t.Errorf("ARCHITECTURE.md does not say that a trainer links %s: %v", says, err)
	}
}

// held compares a number of lines with its row.
func held(t *testing.T, what string, n, most, slack int) {
	t.Helper()
	switch {
	case n > most:
		t.Errorf("%s has %d lines, and its row says %d: remove lines, or raise the row and say why", what, n, most)
	case n < most-slack:
		t.Errorf("%s has %d lines, far fewer than %d: lower its row to that", what, n, most)
	}
}

var generatedFile = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// lines counts the lines of a Go file, 0 if it is generated.
func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "\npackage ")
	if generatedFile.MatchString(head) {
		return 0
	}
	return strings.Count(string(text), "\n")
}
