// Package fragment records what a GPU's instructions do, and compares the simulator with the
// records. A probe is a kernel with one instruction. Record runs probes on thousands of inputs,
// drawn from a seed, and keeps inputs and whole outputs. Compare runs a recording on the
// simulator, on a machine without a GPU, and names every difference. The simulator does not know
// the instructions of some probes: these are compared with a model, or only recorded.
//
// The GPU is a Driver of runtime/cuda, and sim/simulated is the simulator as one. Package prove
// uses it.
package fragment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/runtime/cuda"
)

// A Claim says how exactly the simulator knows an instruction.
type Claim string

// The claims.
const (
	Exact    Claim = "exact"    // every bit
	Bounded  Claim = "bounded"  // a GPU's results are as near to the simulator's as PTX promises
	Modelled Claim = "modelled" // the simulator does not run the instruction; a model in this package has every bit
	Refused  Claim = "refused"  // a GPU rejects it as an illegal instruction, and the device is lost
	Unknown  Claim = "unknown"  // only recorded
)

// Simulated reports whether the simulator runs the instruction.
func (c Claim) Simulated() bool { return c == Exact || c == Bounded }

// A Probe is an instruction, and a kernel that runs it on operands from memory.
type Probe struct {
	Name    string // the instruction, without .sync.aligned
	Group   string
	Doc     string // one sentence
	Claim   Claim
	Target  string // PTX target: sm_80, or sm_90a for instructions that only compute capability 9.0 has
	Version string // PTX version: 7.8
	Threads int    // threads of a case: 1, a warp or a warp group
	In, Out []Type // operands and results of a thread

	image   bool   // the body reads and writes memory itself
	body    string // PTX between loads and stores; "" means just the instruction
	draw    draw
	product *product // the matrix product of the operands, if it is one
	box     *Box     // the box as which the kernel sees the inputs, if it is one
	thin    int      // one of so many cases is enough; 0 means all
	bound   bound    // if the claim is Bounded
	model   model    // if the claim is Modelled; nil: the box's
}

// draw fills the inputs of one case: in is indexed by operand, then by thread.
type draw struct {
	name string // equal names with equal types and threads draw equal inputs
	fill func(p *Probe, s *source, number int, in [][]uint64)
}

// Probes returns all probes, group by group. They are only read.
func Probes() []*Probe { return slices.Clone(probes()) }

var probes = sync.OnceValue(func() []*Probe {
	return slices.Concat(floatProbes(), approxProbes(), convertProbes(), integerProbes(), atomicProbes(), warpProbes(),
		matrixProbes(), mmaProbes(), wmmaProbes(), wgmmaProbes(), asyncProbes())
})

// Groups returns the names of the groups. A probe that crashes the device only affects probes in
// the same process; groups run in separate processes.
func Groups() []string {
	var names []string
	for _, p := range Probes() {
		if !slices.Contains(names, p.Group) {
			names = append(names, p.Group)
		}
	}
	return names
}

// choose returns the probes with these names or groups; no names means all.
func choose(only []string) ([]*Probe, error) {
	all := Probes()
	if len(only) == 0 {
		return all, nil
	}
	var chosen []*Probe
	for _, p := range all {
		if slices.Contains(only, p.Name) || slices.Contains(only, p.Group) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(p *Probe) bool { return p.Name == name || p.Group == name }) {
			return nil, fmt.Errorf("no probe or group is called %q; groups are %s", name, strings.Join(Groups(), ", "))
		}
	}
	return chosen, nil
}

// runsOn reports whether a device can run the probe. Instructions of a target with a letter are
// in no later architecture. The driver must know the version of PTX: 7.8 came with CUDA 11.8, 8.4
// with 12.4, and so on.
func (p *Probe) runsOn(i cuda.Info) bool {
	var want, major, minor int
	var letter string
	if n, _ := fmt.Sscanf(p.Target, "sm_%d%s", &want, &letter); n == 0 {
		panic("BUG: target " + p.Target)
	}
	if n, _ := fmt.Sscanf(p.Version, "%d.%d", &major, &minor); n != 2 {
		panic("BUG: version " + p.Version)
	}
	has := 10*i.Major + i.Minor
	return i.Version >= 1000*(major+4)+10*minor && (has == want || letter == "" && has > want)
}

// cases returns the number of cases for so many threads, in whole warps.
func (p *Probe) cases(threads int) int {
	each := p.Threads * max(1, p.thin)
	n := max(1, (threads+each-1)/each)
	if p.Threads == 1 {
		n = (n + warp - 1) / warp * warp
	}
	return n
}

// warp is the number of threads in a warp, and in a block of probes of one thread.
const warp = 32

// inputs names the inputs of so many cases. Probes with equal names share their inputs.
func (p *Probe) inputs(cases int) string {
	var names []string
	for _, t := range p.In {
		names = append(names, t.name)
	}
	return fmt.Sprintf("%s|%dx%d|%s", p.draw.name, cases, p.Threads, strings.Join(names, " "))
}

// expand lists all alternatives of a pattern: {a,b}.{,c.}d is a.d, a.c.d, b.d and b.c.d.
func expand(pattern string) []string {
	head, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	alternatives, tail, ok := strings.Cut(rest, "}")
	if !ok {
		panic("BUG: a pattern without its brace: " + pattern)
	}
	var all []string
	for _, a := range strings.Split(alternatives, ",") {
		for _, t := range expand(tail) {
			all = append(all, head+a+t)
		}
	}
	return all
}

// row is a family of probes: instructions that differ only in their modifiers.
type row struct {
	pattern string // alternatives in braces
	in, out string // types
	doc     string
	draw    draw
	bound   bound  // nil: the simulator knows every bit
	model   model  // nil: not modelled
	target  string // "" means sm_80
	version string // "" means 7.8
	body    string // "" means the instruction with all operands
	claim   Claim  // "" means Bounded with a bound, Modelled with a model, and else Exact
}

// family makes the probes of rows, with so many threads a case.
func family(group string, threads int, rows []row) []*Probe {
	var all []*Probe
	for _, r := range rows {
		for _, name := range expand(r.pattern) {
			p := &Probe{Name: name, Group: group, Doc: r.doc, Claim: r.claim, Target: r.target, Version: r.version, Threads: threads,
				In: typesOf(r.in), Out: typesOf(r.out), body: r.body, draw: r.draw, bound: r.bound, model: r.model}
			p.complete()
			all = append(all, p)
		}
	}
	return all
}

// complete sets the defaults of most probes.
func (p *Probe) complete() {
	p.Target = cmp.Or(p.Target, "sm_80")
	p.Version = cmp.Or(p.Version, "7.8")
	switch {
	case p.Claim != "":
	case p.model != nil:
		p.Claim = Modelled
	case p.bound != nil:
		p.Claim = Bounded
	default:
		p.Claim = Exact
	}
	if p.draw.fill == nil {
		p.draw = values
	}
	p.body = strings.ReplaceAll(p.body, "NAME", p.Name)
}
