package main

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/arithlang/mlc"

// rules say which packages of the module may import which: with a < b, b may
// import a and all that a may import. A comma lists packages of equal rank, a
// rule ends at a semicolon. Everything that no rule allows is forbidden: above
// all, runtime and what is generated know nothing of the compiler, and the
// compiler nothing of the runtime.
const rules = `
	# From a spec to Go.
	dsl/diag < dsl < compiler/check < compiler/model < compiler < codegen < cli < .;
	dsl/diag < compiler/expr < compiler/check;
	compiler/check < lsp < cli;
	compiler/expr < compiler/ir < compiler/grad, compiler/opt, compiler/kernel;
	compiler/ir, compiler/grad < compiler/plan < compiler/model, compiler/lower;
	compiler/kernel, compiler/opt < compiler/lower < compiler;
	compiler/expr < codegen/gocode < codegen/cpu, codegen/cpu/arm64, codegen/cpu/vector, codegen/host < codegen < cli;
	compiler/kernel < compiler/kernel/lanes < compiler, codegen/flat;
	compiler/kernel < compiler/kernel/depend < codegen/flat < codegen/cost < codegen/cpu/vector < codegen/cpu < codegen;
	codegen/flat, codegen/ptx/asm < codegen/ptx < codegen;
	codegen/cpu/arm64 < codegen/cpu/vector, runtime/cpu/asm/arm; # NEON's instructions, for both that print them
	compiler/check, compiler/lower < codegen/host < codegen;
	runtime/device, runtime/task, runtime/train, runtime/eval < codegen/host; # the configuration, as values
	runtime/task < compiler/check; # problems of a task, for what mlc vet counts
	runtime/tokens < runtime/config < compiler/check; # what a spec sets, for both sides; one tokenizer: what is counted is what is read
	compiler/lower < diff < cli;
	codegen, runtime/cpu, runtime/cuda, runtime/cuda/counted < codegen/live < cli; # what a generated program has, as values

	runtime/abi < compiler/kernel, runtime/device; # the contract of a launch, for both sides

	# What generated programs call.
	runtime/device < runtime/cpu, runtime/cuda < runtime;
	runtime/comm < runtime/cuda < runtime/cuda/nccl < runtime; # gradients of many ranks
	runtime/cuda/libraries < runtime/cuda/cublaslt, runtime/cuda/nccl;
	runtime/calibrate, runtime/cores < runtime;
	runtime/available < runtime, prove;
	runtime/pages < runtime;
	runtime/damage < runtime/lock < runtime/eval;
	runtime/interrupt, runtime/lock, runtime/flag < runtime, cli;
	runtime/damage, runtime/disk < runtime/ckpt, runtime/track < runtime/train;
	runtime/disk < cli;
	runtime/damage < runtime/record, runtime/eval, runtime, plot;
	runtime/cuda < runtime/cuda/libcuda, runtime/cuda/cublaslt, runtime/cuda/peak < runtime;
	runtime/cuda/cublaslt, runtime/cuda/nccl < prove; # products to compare with; ranks of one GPU
	runtime/ckpt, runtime/cpu, runtime/cuda/peak < runtime/profile < runtime;
	runtime/cuda, ptxsim < runtime/cuda/simulated < cli; # devices of mlc, and of no trainer
	runtime/cpu, runtime/cuda, ptxsim/count < runtime/cuda/counted;
	runtime/device, runtime/cuda/counted < runtime/cuda/cluster < codegen/live; # many GPUs
	runtime < cli; # what mlc runs itself
	runtime/interrupt, runtime/flag < cli/shell < cli; # a verb's world
	runtime/disk, runtime/lock, runtime/ckpt, runtime/interrupt < cli/paths;
	compiler, runtime/record, runtime/damage, runtime/flag, cli/paths, cli/shell < cli/project;
	compiler/bundle, codegen, cli/project < cli/build;
	codegen/live, diff, codegen/ptx/ptxrun, codegen/ptx/ptxas, ptxsim/count, serve, cli/project < cli/look;
	cli/build, cli/look, export, insight, plot, serve < cli/results;
	cli/results, codegen/live, mlflow, runtime, runtime/cuda/simulated < cli/train < cli;
	runtime/philox < runtime/cpu, runtime/task, runtime/train;
	runtime/elementary < runtime/train;
	runtime/device, runtime/philox < runtime/task, runtime/ckpt, runtime/track;
	runtime/config < runtime/device, compiler/plan;
	runtime/task, runtime/ckpt, runtime/track < runtime/train, runtime/eval < runtime;
	runtime/train < runtime/record < runtime, plot < cli;
	runtime/eval, runtime/lock < runtime/record; # what tells that a checkpoint was not the last
	runtime/ckpt, runtime/eval, runtime/track < runtime/board < runtime; # TensorBoard
	runtime/protobuf < runtime/board, export;
	plot/list < mlflow < cli; # MLflow reads what runs leave
	runtime/comm, runtime/comm/launch < runtime/comm/mpi < runtime;
	runtime/comm/launch < cli; # what ranks must not do
	runtime < generated/*;

	# The simulator of PTX, a library of its own.
	ptxsim/ptx, ptxsim/num < ptxsim < ptxsim/ptxfile < ptxsim/command < ptxsim/cmd/ptxsim, cli; # mlc ptx
	ptxsim/ptx, ptxsim/card < ptxsim/count;

	# What only tests and generators are built from.
	internal/full < runtime/comm/mpitest, cli/slurmtest, runtime/cuda/libcuda/fakecuda, codegen/ptx/ptxtest, codegen/cpu/cputest/served;
	runtime/comm < runtime/comm/commtest;
	compiler/ir < compiler/ir/irtest;
	runtime/comm < runtime/comm/commtest;
		codegen/cpu < codegen/cpu/mathgen;
	compiler/kernel < compiler/kernel/kerneltest < codegen/cpu/cputest;
	runtime/abi, runtime/cpu, runtime/device < codegen/cpu/cputest;
	compiler/kernel < compiler/kernel/remote < codegen/cpu/cputest, diff;
	compiler/kernel/kerneltest, compiler/kernel/remote, runtime/cpu < codegen/cpu/cputest < codegen/cpu/cputest/served;
	compiler/check < docs/docgen;
	compiler/check, codegen/host, runtime/task, runtime/ckpt, bench/rounds < bench/peers < bench;
	runtime/track, export < bench;
	compiler/model, runtime/task, runtime/ckpt < insight < cli; # attention and biases of a run
	compiler/model, compiler/opt, runtime/task, runtime/eval, runtime/ckpt < export < cli; # mlc export
	compiler/bundle < cli; # what trainers are built from
	runtime/philox, runtime/cuda/simulated < prove/fragment;
	runtime/eval, runtime/track, runtime/calibrate < plot < cli; # mlc plot reads what runs leave
	runtime/damage, runtime/eval, runtime/track, runtime/record, runtime/lock < plot/list < cli; # and so does mlc runs
	plot/list < plot; # what differs between runs, for legends
	plot < serve/chart < serve;
	plot, plot/list, runtime/flag < serve < cli; # mlc serve and mlc report show it

	# What checks PTX: tests, mlc diff and mlc explain.
	runtime/abi < codegen/ptx/ptxrun, codegen/ptx/ptxtest;
	codegen/cost, codegen/ptx < codegen/ptx/ptxrun, codegen/ptx/ptxtest;
	compiler, codegen, compiler/kernel/kerneltest, ptxsim < codegen/ptx/ptxtest; # what programs ship
	runtime/cuda/libcuda, runtime/cuda/simulated < codegen/ptx/ptxrun < cli;
	codegen/ptx < codegen/ptx/mutate;
	codegen/ptx/ptxas < codegen/ptx/ptxtest, cli;
	runtime/cuda/peak < prove/probe < prove;
	prove/fragment, prove/timing, runtime/cuda/counted, runtime/damage < prove;
	diff, codegen/live, codegen/ptx/ptxrun, specs, runtime/interrupt < prove < cli; # mlc prove
	codegen/live, runtime/profile < prove/timing < prove;
	codegen/live, bench/peers, specs < prove/beside < prove;
	compiler/check, compiler/model, runtime/record < cli/runtest;
	NONE < cli/slurmtest, runtime/comm/mpitest, compiler/bundle/gen, compiler/peertest, specs, torture, runtime/cpu/asm, codegen/ptx/asm, codegen/ptx/ptxas, runtime/cuda/libcuda/fakecuda, prove/records, internal/full/run, internal/full/mutants;
`

// TestImports holds every import within the module to the rules.
func TestImports(t *testing.T) {
	allowed := parseRules(t, rules)
	for pkg, imports := range packages(t, ".Imports") {
		may, known := allowed[pkg]
		if dir, _ := path.Split(pkg); !known && dir == "generated/" {
			may, known = allowed["generated/*"], true
		}
		if !known {
			t.Errorf("%s is in no rule: say in the table what it may import", pkg)
		}
		for _, dep := range imports {
			if !may[dep] {
				t.Errorf("%s must not import %s", pkg, dep)
			}
		}
	}
}

// trainerLines is how many lines of Go a trainer has of this module at most, besides its own. It
// falls with them, and rises only with a reason here.
const trainerLines = 31_400

// TestTrainerIsSmall holds what a trainer is linked from: nothing that stands for a GPU, nothing
// of the network, and no more lines than there were.
func TestTrainerIsSmall(t *testing.T) {
	format := `{{if .Standard}}{{.ImportPath}}{{end}}{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{$d := .Dir}}{{range .GoFiles}} {{$d}}/{{.}}{{end}}{{end}}{{end}}`
	list := exec.Command("go", "list", "-deps", "-f", format, "./generated/successor")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // of which files are counted
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		pkg := strings.TrimPrefix(words[0], module+"/")
		if pkg == "net/http" || pkg == "crypto/tls" {
			t.Errorf("a trainer has %s, and speaks to no server: go list -deps ./generated/successor", pkg)
		}
		if top, _, _ := strings.Cut(pkg, "/"); top == "ptxsim" || slices.Contains([]string{"runtime/cuda/simulated", "runtime/cuda/counted", "runtime/cuda/cluster"}, pkg) {
			t.Errorf("a trainer has %s, which is mlc's alone: go list -deps ./generated/successor", pkg)
		}
		if strings.HasPrefix(pkg, "generated/") {
			continue
		}
		for _, file := range words[1:] {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
	}
	switch {
	case lines > trainerLines:
		t.Errorf("a trainer is made of %d lines, and was of %d: leave out what it can do without, or raise trainerLines and say why", lines, trainerLines)
	case lines < trainerLines-500:
		t.Errorf("a trainer is made of %d lines, far fewer than %d: set trainerLines to that", lines, trainerLines)
	}
}

// TestRulesAreOneArrow makes sure that the rules themselves allow no cycle.
func TestRulesAreOneArrow(t *testing.T) {
	for pkg, may := range parseRules(t, rules) {
		if may[pkg] {
			t.Errorf("by the rules %s may import itself, through %v", pkg, slices.Sorted(maps.Keys(may)))
		}
	}
}

// TestBorders keeps a library of its own free of the rest of the module, whatever the
// rules allow, its tests included.
func TestBorders(t *testing.T) {
	for _, root := range []string{"ptxsim"} {
		inside := func(pkg string) bool { return pkg == root || strings.HasPrefix(pkg, root+"/") }
		n := 0
		for pkg, imports := range packages(t, ".Imports", ".TestImports", ".XTestImports") {
			if !inside(pkg) {
				continue
			}
			n++
			for _, dep := range imports {
				if !inside(dep) {
					t.Errorf("%s imports %s, which is outside %s", pkg, dep, root)
				}
			}
		}
		if n == 0 {
			t.Errorf("there is nothing in %s", root)
		}
	}
}

// parseRules gives the packages that each package may import.
func parseRules(t *testing.T, text string) map[string]map[string]bool {
	t.Helper()
	may := map[string]map[string]bool{}
	var plain strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "#")
		plain.WriteString(code + " ")
	}
	for rule := range strings.SplitSeq(plain.String(), ";") {
		var below []string
		for ranks := range strings.SplitSeq(rule, "<") {
			var here []string
			for name := range strings.SplitSeq(ranks, ",") {
				if name = strings.TrimSpace(name); name == "" || name == "NONE" {
					continue
				}
				here = append(here, name)
				if may[name] == nil {
					may[name] = map[string]bool{}
				}
				for _, b := range below {
					may[name][b] = true
				}
			}
			below = here
		}
	}
	for changed := true; changed; {
		changed = false
		for _, below := range may {
			n := len(below)
			for b := range maps.Clone(below) {
				maps.Copy(below, may[b])
			}
			changed = changed || len(below) > n
		}
	}
	return may
}

// packages lists the packages of the module and what they import from it, by their
// path in the module. Fields are those of go list with imports.
func packages(t *testing.T, fields ...string) map[string][]string {
	t.Helper()
	format := "{{.ImportPath}}"
	for _, f := range fields {
		format += ` {{join ` + f + ` " "}}`
	}
	out, err := exec.Command("go", "list", "-e", "-f", format, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	within := func(name string) (string, bool) {
		if name == module {
			return ".", true
		}
		return strings.CutPrefix(name, module+"/")
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		pkg, ok := within(names[0])
		if !ok {
			t.Fatalf("go list: package %s is not in %s", names[0], module)
		}
		found[pkg] = nil
		for _, name := range names[1:] {
			if dep, ok := within(name); ok {
				found[pkg] = append(found[pkg], dep)
			}
		}
	}
	if len(found) < 20 {
		t.Fatalf("go list found only %d packages", len(found))
	}
	return found
}
