// Package fragment asks a GPU what its instructions do, and holds the simulator to
// the answers. A probe is one instruction in a kernel of its own. Record runs
// probes on thousands of inputs, drawn from a seed, and keeps inputs and whole
// outputs; Compare runs what was recorded on the simulator, on a machine without a
// GPU, and names every difference. Some probes are of instructions that the
// simulator does not know: they are compared with a model of their own, or recorded as
// what it has to do one day.
//
// Before it are runtime/cuda, whose Driver is the GPU, and sim/simulated,
// which is the simulator as one; after it is package prove.
package fragment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

// A Claim says how well the simulator knows an instruction.
type Claim string

// The claims.
const (
	Exact    Claim = "exact"    // every bit
	Bounded  Claim = "bounded"  // results of a GPU are as near to the simulator's as PTX promises
	Modelled Claim = "modelled" // it does not run the instruction; a model here has every bit
	Refused  Claim = "refused"  // a GPU ends it as an illegal instruction, and is lost
	Unknown  Claim = "unknown"  // what a GPU does is recorded only
)

// Simulated says whether the simulator runs the instruction.
func (c Claim) Simulated() bool { return c == Exact || c == Bounded }

// A Probe is an instruction, and a kernel that runs it on operands from memory.
type Probe struct {
	Name    string // the instruction, but for .sync.aligned
	Group   string
	Doc     string // one sentence
	Claim   Claim
	Target  string // of the PTX: sm_80, or sm_90a for what only compute capability 9.0 has
	Version string // of the PTX: 7.8
	Threads int    // that work on one case: 1, a warp or a warp group
	In, Out []Type // operands and results of a thread

	image   bool   // the body reads and writes memory itself
	body    string // PTX between loads and stores; "" means just the instruction
	draw    draw
	product *product // what of a matrix product the operands are, if it is one
	box     *Box     // what the inputs are described as to the kernel, if they are
	thin    int      // one of so many cases is enough; 0 means all
	bound   bound    // of a claim that is Bounded
	model   model    // of a claim that is Modelled; nil: the box's
}

// draw fills the inputs of one case: in has the operands thread by thread within
// operand by operand.
type draw struct {
	name string // equal names with equal types and threads draw the same
	fill func(p *Probe, s *source, number int, in [][]uint64)
}

// Probes are all probes, group by group.
func Probes() []*Probe {
	return slices.Concat(floatProbes(), approxProbes(), convertProbes(), integerProbes(), atomicProbes(), warpProbes(),
		matrixProbes(), mmaProbes(), wmmaProbes(), wgmmaProbes(), asyncProbes())
}

// Groups are the names of the groups of probes. Probes that may bring a device
// down take nothing with them but what runs in the same process.
func Groups() []string {
	var names []string
	for _, p := range Probes() {
		if !slices.Contains(names, p.Group) {
			names = append(names, p.Group)
		}
	}
	return names
}

// choose finds the probes that names of probes and of groups mean; none means all.
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
			return nil, fmt.Errorf("there is neither a probe nor a group %q; groups are %s", name, strings.Join(Groups(), ", "))
		}
	}
	return chosen, nil
}

// runsOn says whether a device can run the probe: what a target with a letter has
// is not in any later one. Its driver has to know the version of PTX: 7.8 came with
// CUDA 11.8, 8.4 with 12.4, and so on.
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

// cases is how many cases so many threads take: whole warps of them.
func (p *Probe) cases(threads int) int {
	each := p.Threads * max(1, p.thin)
	n := max(1, (threads+each-1)/each)
	if p.Threads == 1 {
		n = (n + warp - 1) / warp * warp
	}
	return n
}

// warp is how many threads a block of probes of one thread has.
const warp = 32

// inputs names the inputs of so many cases; probes that draw alike share them.
func (p *Probe) inputs(cases int) string {
	var names []string
	for _, t := range p.In {
		names = append(names, t.name)
	}
	return fmt.Sprintf("%s|%dx%d|%s", p.draw.name, cases, p.Threads, strings.Join(names, " "))
}

// expand writes out all alternatives of a pattern: {a,b}.{,c.}d is a.d, a.c.d, b.d
// and b.c.d.
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

// row is a family of probes: instructions that differ in their modifiers only.
type row struct {
	pattern string // alternatives in braces
	in, out string // types
	doc     string
	draw    draw
	bound   bound  // nil: the simulator knows every bit
	model   model  // nil: the simulator, if anything, runs it
	target  string // "" means sm_80
	version string // "" means 7.8
	body    string // "" means the instruction with all operands
	claim   Claim  // "" means Bounded with a bound, Modelled with a model, and else Exact
}

// family makes the probes of rows, of so many threads a case.
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

// complete puts in what most probes have.
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
