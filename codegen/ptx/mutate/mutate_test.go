// Package mutate makes wrong kernels of right ones. Each mutant of a printed module lacks a wait
// or a guard, or has another index, or less memory. The test wants the simulator to find mutants
// on the inputs of kernel tests.
package mutate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/expr"
)

// Kind is the change to a kernel.
type Kind string

// The kinds.
const (
	Barrier   Kind = "a barrier is deleted"
	Weaken    Kind = "a barrier of a block is one of a warp"
	Unguard   Kind = "a guard is deleted"
	Invert    Kind = "a guard is inverted"
	Index     Kind = "a constant of an address is one more"
	Shared    Kind = "static shared memory is half"
	Scratch   Kind = "scratch is half"
	Tight     Kind = "scratch is 16 bytes less"
	Wait      Kind = "copies are not waited for"
	Late      Kind = "one group of copies fewer is waited for" // one more costs only time
	Commit    Kind = "a group of copies is not ended"
	Full      Kind = "a copy is never of zeros"
	Zeros     Kind = "a copy is always of zeros"
	Transpose Kind = "matrices are loaded the other way around"
)

// A Mutant is a kernel with one mistake. Its module is made on demand: the modules of all mutants
// of a long kernel take gigabytes.
type Mutant struct {
	Kind Kind
	Line int    // line of the text, from 1; 0 for the scratch
	Old  string // the line
	New  string
	Code func() ptx.Output
}

func (m Mutant) String() string {
	if m.Line == 0 {
		return string(m.Kind)
	}
	return fmt.Sprintf("%s, line %d: %s -> %s", m.Kind, m.Line, strings.TrimSpace(m.Old), strings.TrimSpace(m.New))
}

// Of lists the mutants of a module with one kernel.
func Of(code ptx.Output) []Mutant {
	p := parse(string(code.Text))
	var all []Mutant
	edit := func(kind Kind, i int, line string) {
		all = append(all, Mutant{kind, i + 1, p.lines[i], line, func() ptx.Output { return replaced(code, i, line) }})
	}
	for i, in := range p.instrs {
		line := p.lines[i]
		switch {
		case in.op == "bar.sync":
			edit(Barrier, i, "")
			edit(Weaken, i, "\tbar.warp.sync -1;")
		case in.op == "bar.warp.sync":
			edit(Barrier, i, "")
		case in.op == "cp.async.wait_group":
			n, _ := strconv.Atoi(in.operands[0])
			edit(Wait, i, "")
			edit(Late, i, fmt.Sprintf("\t%s %d;", in.op, n+1))
		case in.op == "cp.async.commit_group":
			edit(Commit, i, "")
		case in.copies():
			n := in.operands[len(in.operands)-1]
			edit(Full, i, strings.Replace(line, n+";", "16;", 1))
			edit(Zeros, i, strings.Replace(line, n+";", "0;", 1))
		case strings.Contains(in.op, ".trans."):
			edit(Transpose, i, strings.Replace(line, ".trans.", ".", 1))
		case strings.HasPrefix(in.op, "ldmatrix."):
			edit(Transpose, i, strings.Replace(line, ".shared.", ".trans.shared.", 1))
		case in.guard != "" && (in.memory() || in.op == "bra"):
			edit(Invert, i, strings.Replace(line, in.guard, inverse(in.guard), 1))
			if in.memory() {
				edit(Unguard, i, strings.Replace(line, in.guard, "", 1))
			} else {
				edit(Unguard, i, "")
			}
		}
		if p.address[i] {
			for _, next := range larger(line, in) {
				edit(Index, i, next)
			}
		}
	}
	all = append(all, arrays(code, p.lines)...)
	if scratch := code.Kernels[0].Scratch; scratch != nil {
		all = append(all, scratchMutant(code, Scratch, expr.New(expr.Div, scratch, expr.Int(2))))
		all = append(all, scratchMutant(code, Tight, expr.New(expr.Max, expr.New(expr.Sub, scratch, expr.Int(16)), expr.Int(0))))
	}
	return all
}

// replaced returns a module with line i replaced.
func replaced(code ptx.Output, i int, line string) ptx.Output {
	lines := strings.Split(string(code.Text), "\n")
	lines[i] = line
	code.Text = []byte(strings.Join(lines, "\n"))
	return code
}

// arrays halves each array of shared memory, and puts it after the others, so that no array
// follows it.
func arrays(code ptx.Output, lines []string) []Mutant {
	var all []Mutant
	last := -1
	for i, line := range lines {
		if sharedArray.MatchString(line) {
			last = i
		}
	}
	for i, line := range lines {
		m := sharedArray.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(line[m[2]:m[3]])
		half := fmt.Sprintf("%s%d%s", line[:m[2]], n/2, line[m[3]:])
		all = append(all, Mutant{Shared, i + 1, line, half, func() ptx.Output {
			text := slices.Insert(slices.Clone(lines), last+1, half)
			return ptx.Output{Text: []byte(strings.Join(slices.Delete(text, i, i+1), "\n")), Kernels: code.Kernels}
		}})
	}
	return all
}

func scratchMutant(code ptx.Output, kind Kind, scratch *expr.Expr) Mutant {
	e := code.Kernels[0]
	e.Scratch = scratch
	return Mutant{Kind: kind, Code: func() ptx.Output { return ptx.Output{Text: code.Text, Kernels: []ptx.Entry{e}} }}
}

var sharedArray = regexp.MustCompile(`^\s*\.shared .*\[(\d+)\];`)

// inverse returns the other guard on a predicate.
func inverse(guard string) string {
	if rest, ok := strings.CutPrefix(guard, "@!"); ok {
		return "@" + rest
	}
	return "@!" + guard[1:]
}

// larger lists a line once for each of its constants, with this constant increased. It adds 1, or
// 4 for the offset of an address, or 16 for a copy or a matrix.
func larger(line string, in instr) []string {
	var out []string
	for _, m := range constant.FindAllStringSubmatchIndex(line, -1) {
		lo, hi := m[2], m[3]
		n, err := strconv.ParseInt(line[lo:hi], 10, 64)
		if err != nil || in.copies() && line[hi] != ']' {
			continue
		}
		by := int64(1)
		switch {
		case in.copies() || strings.HasPrefix(in.op, "ldmatrix."):
			by = 16
		case in.memory():
			by = 4
		}
		out = append(out, fmt.Sprintf("%s%d%s", line[:lo], n+by, line[hi:]))
	}
	return out
}

// constant is an integer operand.
var constant = regexp.MustCompile(`[ +](-?\d+)(?:[\],;])`)
