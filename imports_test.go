package main

import (
	"cmp"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/arithlang/mlc"

// rooms is the plan of imports, from the ground up. A row is a room. It lists the room's
// packages, each with the packages below it that have no other row, and then the rooms that it
// may import. Imports of those rooms are allowed, too. A row can name only rows above it, so
// imports go one way. Everything else is forbidden.
const rooms = `
	internal:
	ptxsim: # PTX of any compiler

	# What a trainer links.
	runtime/{abi,available,calibrate,comm,damage,disk,elementary,flag,interrupt,pages,philox,tokens}:
	runtime/config: runtime/tokens
	runtime/{ckpt,lock,track}: runtime/damage runtime/disk
	runtime/label: runtime/ckpt
	runtime/flags: runtime/config runtime/label
	runtime/device: runtime/abi runtime/config
	runtime/cpu: runtime/device runtime/philox
	runtime/cuda: runtime/comm runtime/device
	runtime/processor: runtime/comm runtime/cpu
	runtime/task: runtime/config runtime/philox
	runtime/{eval,train}: runtime/ckpt runtime/device runtime/elementary runtime/lock runtime/task runtime/track
	runtime/{continuing,thinking}: runtime/eval
	runtime/record: runtime/eval runtime/train
	runtime/profile: runtime/ckpt runtime/cpu runtime/cuda
	runtime/program: runtime/cpu runtime/cuda runtime/record
	runtime/rundir: runtime/flag runtime/flags runtime/program
	runtime/world: runtime/processor runtime/rundir
	runtime/verbs: runtime/world
	runtime/{bench,several,stages}: runtime/profile runtime/verbs
	runtime/comm/mpitest,runtime/cpu/producttest,runtime/cuda/libcuda/fakecuda: internal
	runtime: runtime
	generated: runtime
	sim: ptxsim runtime/cpu runtime/cuda # a GPU that is none

	# From text to kernels. Of the runtime, a compiler knows values and the problems of tasks.
	dsl:
	compiler/{bundle,peertest}:
	compiler/expr:
	compiler/scalars: runtime/abi
	compiler/ir: compiler/expr compiler/scalars dsl/diag
	compiler/{grad,opt}: compiler/ir
	compiler/kernel: compiler/ir
	compiler/plan: compiler/grad runtime/config
	compiler/lower: compiler/kernel compiler/opt compiler/plan
	compiler/tasks: runtime/task
	compiler/check: compiler/expr compiler/tasks dsl
	compiler/model: compiler/check compiler/plan
	compiler: compiler

	# From kernels to text.
	codegen/gocode: compiler/expr
	codegen/{cost,flat}: compiler/kernel
	codegen/cpu/arm64: codegen/gocode
	codegen/cpu: codegen/cost codegen/cpu/arm64 codegen/flat
	codegen/cpu/cputest: compiler/kernel internal runtime/cpu
	codegen/ptx/{asm,mutate,ptxas}:
	codegen/ptx/emit: codegen/flat codegen/ptx/asm
	codegen/ptx/{attention,product,rows}: codegen/ptx/emit
	codegen/ptx/generic: codegen/ptx/product
	codegen/ptx: codegen/ptx
	codegen/host: codegen/gocode compiler/check compiler/lower runtime/eval
	codegen: codegen compiler
	codegen/live: codegen runtime/train sim # a generated program as values
	codegen/torch: codegen # a folder for Python
	codegen/ptx/{ptxrun,ptxtest}: codegen internal sim

	# What is usable alone, and who calls all of it.
	specs:
	torture: runtime/track
	lsp: compiler/check
	diff: compiler
	export/protobuf:
	{export,insight}: compiler export/protobuf runtime/eval
	bench: compiler/check export runtime/train
	plot: runtime/calibrate runtime/label runtime/record runtime/thinking
	{mlflow,serve}: plot runtime/flag
	board: export/protobuf plot
	prove: bench codegen diff runtime sim specs
	cli/shell: runtime/flag runtime/interrupt
	cli/paths: runtime/ckpt runtime/interrupt runtime/lock
	cli/project: cli/paths cli/shell compiler runtime/flag runtime/record
	cli/build: cli/project codegen export
	cli/look: cli/project codegen diff serve sim
	cli/results: cli/build cli/look export insight plot serve
	cli/train: board cli/results codegen mlflow runtime sim
	cli/{runtest,slurmtest}: compiler internal runtime/record
	cli: cli/train lsp prove specs
	docs: cli # pages of the tables and command lines
	python: cli/shell runtime/ckpt internal # wheels
	.: cli
`

// borders are the folders that a folder may import from, even if the rooms allow more.
var borders = map[string]string{
	"ptxsim": "", "dsl": "", "internal": "", "generated": "runtime",
	"runtime":  "internal", // helpers of tests
	"compiler": "dsl runtime", "sim": "ptxsim runtime",
	"codegen": "compiler dsl internal ptxsim runtime sim",
}

// A room is a row of the plan.
type room struct{ names, may []string }

// readRooms parses the plan.
func readRooms(t *testing.T) (all []room) {
	t.Helper()
	for line := range strings.Lines(rooms) {
		line, _, _ = strings.Cut(line, "#")
		head, may, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		head, names, several := strings.Cut(strings.TrimSuffix(head, "}"), "{")
		if !several {
			head, names = "", head
		}
		var r room
		for n := range strings.SplitSeq(names, ",") {
			r.names = append(r.names, head+n)
		}
		for _, n := range strings.Fields(may) {
			at := roomOf(all, n)
			if at < 0 && !slices.Contains(r.names, n) {
				t.Fatalf("%v may import %s, but no row above covers that", r.names, n)
			}
			r.may = append(r.may, n)
			for i, below := range all {
				if i == at || slices.ContainsFunc(below.names, func(b string) bool { return within(b, n) }) {
					r.may = append(r.may, below.may...)
				}
			}
		}
		r.may = append(r.may, r.names...)
		all = append(all, r)
	}
	return all
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// roomOf returns the row with the longest name that contains a package, or -1.
func roomOf(all []room, pkg string) int {
	best, length := -1, 0
	for i, r := range all {
		for _, n := range r.names {
			if within(pkg, n) && len(n) > length {
				best, length = i, len(n)
			}
		}
	}
	return best
}

// TestImports checks every import within the module against the plan and its borders.
func TestImports(t *testing.T) {
	all := readRooms(t)
	for pkg, imports := range packages(t, `{{join .Imports " "}}`) {
		here, folder := roomOf(all, pkg), top(pkg)
		border, bounded := borders[folder]
		for _, dep := range imports {
			switch inDep := func(name string) bool { return within(dep, name) }; {
			case here < 0:
				t.Errorf("%s is in no room: add what it may import to the plan", pkg)
			case roomOf(all, dep) > here || !slices.ContainsFunc(all[here].may, inDep):
				t.Errorf("%s must not import %s", pkg, dep)
			case strings.Contains(dep, "test") && !strings.Contains(pkg, "test"):
				t.Errorf("%s must not import %s, which is for tests", pkg, dep)
			case bounded && folder != top(dep) && !slices.Contains(strings.Fields(border), top(dep)):
				t.Errorf("%s imports %s, across a border of %s", pkg, dep, folder)
			}
		}
	}
}

// TestSimulatorIsALibrary keeps ptxsim's tests, too, free of the rest of the module.
func TestSimulatorIsALibrary(t *testing.T) {
	for pkg, imports := range packages(t, `{{join .TestImports " "}} {{join .XTestImports " "}}`) {
		for _, dep := range imports {
			if within(pkg, "ptxsim") && !within(dep, "ptxsim") {
				t.Errorf("tests of %s import %s", pkg, dep)
			}
		}
	}
}

func top(pkg string) string {
	folder, _, _ := strings.Cut(pkg, "/")
	return folder
}

// packages lists the module's packages by path, each with the imports from the module that the go
// list format yields.
func packages(t *testing.T, fields string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} "+fields, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		var names []string
		for _, name := range strings.Fields(line) {
			if local, ok := strings.CutPrefix(name+"/", module+"/"); ok {
				names = append(names, cmp.Or(strings.TrimSuffix(local, "/"), "."))
			}
		}
		found[names[0]] = names[1:]
	}
	if len(found) < 100 {
		t.Fatalf("go list found only %d packages", len(found))
	}
	return found
}
