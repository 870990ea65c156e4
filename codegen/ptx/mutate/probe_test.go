package mutate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/ptxsim"
)

// A Probe is modules that show whether a mutant's change matters in a launch. If they all pass
// every test, it does not, for the given reason.
type Probe struct {
	Reason  string
	Modules []ptx.Output
	Longer  bool // they have to take more instructions than the kernel, too
}

// Probes lists the probes of a mutant that nothing has found. Probes of a constant replace it, or
// the value computed or read with it, by something absurd. Probes of a branch replace the sums
// that it decides on by absurd sums. Probes of a copy replace zeros by other elements. Probes of
// a load or store let it read or write something absurd where its guard forbids it. If the kernel
// has one size, another probe of a load wants both places to have the same value.
func (m Mutant) Probes(oneSize bool) []Probe {
	in := instruction.FindStringSubmatch(m.Old)
	if in == nil {
		return nil
	}
	switch {
	case m.branches():
		return []Probe{{Reason: "nothing depends on the sums of those rounds", Modules: m.otherSums()}}
	case m.Kind == Full:
		return []Probe{{Reason: "no output depends on what is in the place of zeros", Modules: []ptx.Output{m.elsewhere(0), m.elsewhere(16)}}}
	case m.Kind == Unguard:
		return []Probe{{Reason: "nothing depends on what is read or written in vain", Modules: m.poisoned()}}
	case m.Kind == Index:
		var result, number, constant []ptx.Output
		dst, _, _ := strings.Cut(in[3], ",")
		switch move := map[string]string{"%r": "mov.b32", "%d": "mov.b64"}[dst[:2]]; {
		case move != "":
			for _, absurd := range []int{0, 123456789, -4} {
				result = append(result, m.with(fmt.Sprintf("\t%s %s, %d;", move, dst, absurd)))
			}
		case strings.HasPrefix(in[2], "ld.") && strings.HasPrefix(dst, "%f"):
			for _, absurd := range absurdNumbers {
				number = append(number, m.with(fmt.Sprintf("\t%s mov.f32 %s, %s;", in[1], dst, absurd)))
			}
		}
		at := difference(m.Old, m.New)
		for _, absurd := range []string{"1009", "123456788"} {
			constant = append(constant, m.with(m.Old[:at[0]]+absurd+m.Old[at[1]:]))
		}
		all := []Probe{{Reason: "nothing depends on the value", Modules: result}, {Reason: "nothing depends on the number that is read", Modules: number}, {Reason: "any larger constant does the same", Modules: constant}}
		if o := strings.Split(in[3], ", "); in[2] == "max.s32" && register.MatchString(o[1]) {
			below := fmt.Sprintf("\t{\n\t.reg .pred %%below;\n\tsetp.le.s32 %%below, %s, %s;\n\t@%%below trap;\n\t}\n%s", o[1], o[2], m.Old)
			all = append(all, Probe{Reason: "no launch has a value as low", Modules: []ptx.Output{m.with(below)}})
		}
		if same := m.sameValue(); oneSize && same != "" {
			all = append(all, Probe{Reason: "the kernel has one size, and in it both places hold the same", Modules: []ptx.Output{m.with(same)}})
		}
		return all
	}
	return nil
}

// absurdNumbers are 0, 123456792 and -4.
var absurdNumbers = []string{"0f00000000", "0f4CEB79A3", "0fC0800000"}

// otherSums sets all float registers that the lines between a branch and its label write to
// absurd numbers, after both paths meet. It returns nil if these lines do more, or if another
// register that they write is read elsewhere.
func (m Mutant) otherSums() (all []ptx.Output) {
	right := m.with(m.Old)
	p := parse(string(right.Text))
	in := instruction.FindStringSubmatch(m.Old)
	label, branch := slices.Index(p.lines, in[3]+":"), m.Line-1
	from, to := min(label, branch), max(label, branch) // neither is between
	written := map[string]bool{}
	for i := from + 1; i < to; i++ {
		in, ok := p.instrs[i]
		leaves := in.op == "ret"
		if in.op == "bra" {
			to := slices.Index(p.lines, in.operands[0]+":")
			leaves = to < min(label, branch) || to > max(label, branch)
		}
		if label < 0 || ok && (leaves || effect.MatchString(p.lines[i])) {
			return nil
		}
		for _, reg := range in.writes() {
			written[reg] = true
		}
	}
	for i, in := range p.instrs {
		if from < i && i < to {
			continue
		}
		for _, reg := range in.reads() {
			if written[reg] && !strings.HasPrefix(reg, "%f") && i != branch {
				return nil
			}
		}
	}
	for _, absurd := range absurdNumbers {
		var sums string
		for _, reg := range slices.Sorted(maps.Keys(written)) {
			if strings.HasPrefix(reg, "%f") {
				sums += fmt.Sprintf("\n\tmov.f32 %s, %s;", reg, absurd)
			}
		}
		all = append(all, replaced(right, to, p.lines[to]+sums))
	}
	return all
}

// sameValue traps if a load and its mutant find different values; "" if the values are no words.
func (m Mutant) sameValue() string {
	in, mutant := instruction.FindStringSubmatch(m.Old), instruction.FindStringSubmatch(m.New)
	if in[1] != "" || !strings.HasPrefix(in[2], "ld.") || strings.Contains(in[2], ".v") || !word.MatchString(in[2]) {
		return ""
	}
	op := word.ReplaceAllString(in[2], ".b32")
	_, here, _ := strings.Cut(in[3], ", ")
	_, there, _ := strings.Cut(mutant[3], ", ")
	return fmt.Sprintf("\t{\n\t.reg .b32 %%here, %%there;\n\t.reg .pred %%differ;\n\t%[1]s %%here, %[2]s;\n\t%[1]s %%there, %[3]s;\n"+
		"\tsetp.ne.b32 %%differ, %%here, %%there;\n\t@%%differ trap;\n\t}\n%[4]s", op, here, there, m.Old)
}

// poisoned lets a load or store that its guard forbids read or write NaN, and 1e30. It returns
// nil if the values are no words.
func (m Mutant) poisoned() (all []ptx.Output) {
	in := instruction.FindStringSubmatch(m.Old)
	kind := word.FindString(in[2])
	if kind == "" {
		return nil
	}
	for _, poison := range []string{"0x7fc00000", "0x7149f2ca"} { // NaN and 1e30
		var other string
		if strings.HasPrefix(in[2], "ld.") {
			into, _, _ := strings.Cut(in[3], ", [")
			for _, reg := range register.FindAllString(into, -1) {
				other += fmt.Sprintf("\t%s mov%s %s, %%poison;\n", inverse(in[1]), kind, reg)
			}
		} else {
			to, from, _ := strings.Cut(in[3], "], ")
			other = fmt.Sprintf("\t%s %s %s], %s;\n", inverse(in[1]), in[2], to, register.ReplaceAllString(from, "%poison"))
		}
		all = append(all, m.with(fmt.Sprintf("\t{\n\t.reg %s %%poison;\n\tmov.b32 %%poison, %s;\n%s\n%s\t}", kind, poison, m.Old, other)))
	}
	return all
}

var word = regexp.MustCompile(`\.(f32|b32|u32|s32)$`)

// firstParam matches the name of a kernel's first buffer.
var firstParam = regexp.MustCompile(`\.param \.u64 (\w+)`)

// elsewhere makes copies of zeros take bytes of the first buffer, from an offset on.
func (m Mutant) elsewhere(bytes int) ptx.Output {
	in := instruction.FindStringSubmatch(m.Old)
	to := strings.Split(in[3], ", ")
	param := firstParam.FindStringSubmatch(string(m.Code().Text))[1]
	return m.with(fmt.Sprintf(`	{
	.reg .pred %%some;
	.reg .b64 %%other;
	setp.ne.s32 %%some, %s, 0;
	ld.param.u64 %%other, [%s];
	@%%some %s
	@!%%some %s %s, [%%other+%d], 16, 16;
	}`, to[len(to)-1], param, strings.TrimSpace(m.Old), in[2], to[0], bytes))
}

// difference returns the place of the constant that a mutant changes.
func difference(before, after string) [2]int {
	for _, at := range constant.FindAllStringSubmatchIndex(before, -1) {
		lo, hi := at[2], at[3]
		if strings.HasPrefix(after, before[:lo]) && strings.HasSuffix(after, before[hi:]) {
			return [2]int{lo, hi}
		}
	}
	panic("BUG: " + before + " and " + after + " differ in no constant")
}

// with returns the module with another line in the mutant's place.
func (m Mutant) with(line string) ptx.Output { return replaced(m.Code(), m.Line-1, line) }

// branches reports whether a mutant's line is a branch.
func (m Mutant) branches() bool {
	in := instruction.FindStringSubmatch(m.Old)
	return in != nil && in[2] == "bra"
}

// savesWork reports whether a mutant lacks a branch around pure computation: no stores, copies or
// waits.
func (m Mutant) savesWork() bool {
	in := instruction.FindStringSubmatch(m.Old)
	if m.Kind != Unguard || !m.branches() {
		return false
	}
	lines := strings.Split(string(m.Code().Text), "\n")[m.Line:]
	end := slices.Index(lines, in[3]+":")
	return end >= 0 && !slices.ContainsFunc(lines[:end], effect.MatchString)
}

var effect = regexp.MustCompile(`^\s+(@!?%p\d+ )?(st|cp|bar)\.`)

// TestSavesWork wants only branches forward around computing taken for such.
func TestSavesWork(t *testing.T) {
	tried := 0
	for text, want := range map[string]bool{
		"\t@%p1 bra $L1;\n\tadd.s32 %r1, %r2, 3;\n$L1:\n\tst.b32 [%d1], %r1;": true,
		"\t@%p1 bra $L1;\n\t@%p2 st.b32 [%d1], %r1;\n$L1:":                    false,
		"\t@%p1 bra $L1;\n\tcp.async.wait_group 0;\n$L1:":                     false,
		"$L1:\n\t@%p1 bra $L1;\n\tadd.s32 %r1, %r2, 3;":                       false,
		"\t@%p1 st.b32 [%d1], %r1;":                                           false,
	} {
		for _, m := range Of(ptx.Output{Text: []byte(text), Kernels: make([]ptx.Entry, 1)}) {
			if m.Kind != Unguard || !strings.Contains(m.Old, "%p1") {
				continue
			}
			if tried++; m.savesWork() != want {
				t.Errorf("%v of\n%s", m, text)
			}
		}
	}
	if tried != 5 {
		t.Errorf("%d guards", tried)
	}
}

// TestOtherSums wants absurd numbers only for sums, after the lines that add them up.
func TestOtherSums(t *testing.T) {
	const add = "\tadd.rn.f32 %f1, %f1, %f2;\n"
	tried := 0
	for text, want := range map[string]string{
		"$L1:\n" + add + "\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, %r2;\n\t@%p1 bra $L1;\n\tst.f32 [%d1], %f1;": "\t@%p1 bra $L1;\n\tmov.f32 %f1, 0f00000000;\n\tst",
		"\t@%p1 bra $L1;\n\tld.shared.v2.f32 {%f1, %f2}, [%r1];\n$L1:\n\tst.f32 [%d1], %f1;":                           "$L1:\n\tmov.f32 %f1, 0f00000000;\n\tmov.f32 %f2, 0f00000000;\n\tst",
		"\t@%p1 bra $L1;\n" + add + "\tadd.s32 %r1, %r1, 1;\n$L1:\n\tst.f32 [%r1], %f1;":                               "", // an address
		"\t@%p1 bra $L1;\n" + add + "\tsetp.lt.s32 %p2, %r1, %r2;\n$L1:\n\t@%p2 st.f32 [%d1], %f1;":                    "", // a guard
		"\t@%p1 bra $L1;\n" + add + "\tst.shared.f32 [%r1], %f1;\n$L1:":                                                "", // a store
		"\t@%p1 bra $L1;\n" + add + "\t@%p2 bra $L2;\n$L1:\n\tst.f32 [%d1], %f1;\n$L2:\n\tst.f32 [%d1], %f1;":          "", // another way out
		"\t@%p1 bra $L1;\n" + add + "\tret;\n$L1:":                                                                     "",
	} {
		for _, m := range Of(ptx.Output{Text: []byte(text), Kernels: make([]ptx.Entry, 1)}) {
			if !m.branches() || !strings.Contains(m.Old, "%p1") {
				continue
			}
			tried++
			all := m.otherSums()
			if len(all) > 0 != (want != "") || want != "" && (!strings.Contains(string(all[0].Text), want) || !strings.Contains(string(all[0].Text), m.Old)) {
				t.Errorf("%v of\n%s\nhas %d modules", m, text, len(all))
			}
		}
	}
	if tried != 14 {
		t.Errorf("%d branches", tried)
	}
}

// TestProbesOfALoad wants absurd numbers for a loaded value, under the load's guard.
func TestProbesOfALoad(t *testing.T) {
	for _, m := range Of(ptx.Output{Text: []byte("\t@%p1 ld.global.f32 %f1, [%d1+8];"), Kernels: make([]ptx.Entry, 1)}) {
		if m.Kind != Index {
			continue
		}
		for _, p := range m.Probes(false) {
			if len(p.Modules) == len(absurdNumbers) && string(p.Modules[2].Text) == "\t@%p1 mov.f32 %f1, 0fC0800000;" {
				return
			}
		}
	}
	t.Error("there is none")
}

// TestSameValue wants a probe of a load to trap where the other place has another value.
func TestSameValue(t *testing.T) {
	for other, want := range map[int]string{5: "", 6: string(ptxsim.Trap)} {
		text := fmt.Sprintf(`.version 7.8
.target sm_80
.address_size 64
.visible .entry k() .reqntid 1
{
	.reg .b32 %%r<2>;
	.reg .f32 %%f<2>;
	.shared .align 16 .b8 cells[16];
	mov.u32 %%r1, cells;
	st.shared.b32 [%%r1+4], 5;
	st.shared.b32 [%%r1+8], %d;
	ld.shared.f32 %%f1, [%%r1+4];
	ret;
}
`, other)
		tried := 0
		for _, m := range Of(ptx.Output{Text: []byte(text), Kernels: make([]ptx.Entry, 1)}) {
			if m.Kind != Index || m.sameValue() == "" {
				continue
			}
			tried++
			module, err := ptxsim.New(ptxsim.Options{}).Load(m.with(m.sameValue()).Text)
			if err != nil {
				t.Fatal(err)
			}
			k, err := module.Kernel("k")
			if err != nil {
				t.Fatal(err)
			}
			_, err = k.Launch(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}})
			got := ""
			if report, ok := errors.AsType[*ptxsim.Report](err); ok {
				got = string(report.Kind)
			}
			if got != want || got == "" && err != nil {
				t.Errorf("5 here, %d there: %v, want %q", other, err, want)
			}
		}
		if tried != 1 {
			t.Errorf("%d probes", tried)
		}
	}
}

// TestShows wants a trial to run if it can tell a mutant from its kernel.
func TestShows(t *testing.T) {
	ran, kept, both := ptxsim.Reach{Ran: true}, ptxsim.Reach{Kept: true}, ptxsim.Reach{Ran: true, Kept: true}
	const store, branch = "\t@%p1 st.b32 [%d1], %r1;", "\t@%p1 bra $L1;"
	for _, c := range []struct {
		kind Kind
		line string
		at   ptxsim.Reach
		want bool
	}{
		{Unguard, store, ran, false}, {Unguard, store, kept, true}, {Unguard, store, both, true}, {Unguard, store, ptxsim.Reach{}, false},
		{Unguard, branch, ran, true}, {Unguard, branch, kept, false},
		{Invert, store, ran, true}, {Invert, store, kept, true}, {Invert, store, ptxsim.Reach{}, false},
		{Index, store, ran, true}, {Index, store, kept, false},
		{Barrier, "\tbar.sync 0;", ran, true}, {Barrier, "\tbar.sync 0;", ptxsim.Reach{}, false},
		{Shared, "\t.shared .align 16 .b8 cells[16];", ptxsim.Reach{}, true},
	} {
		x := trial{reached: map[int]ptxsim.Reach{7: c.at}}
		if got := x.shows(Mutant{Kind: c.kind, Line: 7, Old: c.line}); got != c.want {
			t.Errorf("%s of %s, %+v: %t, want %t", c.kind, c.line, c.at, got, c.want)
		}
	}
	if !(&trial{}).shows(Mutant{Kind: Tight}) {
		t.Error("less scratch shows everywhere")
	}
}
