package mutate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/codegen/ptx"
)

// A Probe is modules that show whether what a mutant changes matters in a launch:
// if they all pass every test, it does not, for the reason that it gives.
type Probe struct {
	Reason  string
	Modules []ptx.Output
}

// Probes lists what can be asked about a mutant that nothing has found. That of a
// guard traps where the guard would have kept a thread from something; those of a
// constant put something absurd in the place of it, or of what is computed with it; those
// of a copy put other elements in the place of zeros.
func (m Mutant) Probes() []Probe {
	in := instruction.FindStringSubmatch(m.Old)
	if in == nil {
		return nil
	}
	unreached := Probe{"it is never reached", []ptx.Output{m.with("\ttrap;\n" + m.Old)}}
	switch m.Kind {
	case Invert:
		return []Probe{unreached}
	case Full:
		return []Probe{{"no output depends on what is in the place of zeros", []ptx.Output{m.elsewhere(0), m.elsewhere(16)}}}
	case Unguard:
		closed, line := inverse(in[1]), m.New
		if in[2] == "bra" {
			closed, line = in[1], "" // the branch is the way around
		}
		open := Probe{"the guard never closes", []ptx.Output{m.with(fmt.Sprintf("\t%s trap;\n%s", closed, line))}}
		return []Probe{open, unreached}
	case Index:
		var result, constant []ptx.Output
		dst, _, _ := strings.Cut(in[3], ",")
		if move := map[string]string{"%r": "mov.b32", "%d": "mov.b64"}[dst[:2]]; move != "" {
			for _, absurd := range []int{0, 123456789, -4} {
				result = append(result, m.with(fmt.Sprintf("\t%s %s, %d;", move, dst, absurd)))
			}
		}
		at := difference(m.Old, m.New)
		for _, absurd := range []string{"1009", "123456788"} {
			constant = append(constant, m.with(m.Old[:at[0]]+absurd+m.Old[at[1]:]))
		}
		return []Probe{{"nothing depends on the value", result}, {"any larger constant does the same", constant}}
	}
	return nil
}

// firstParam is what a kernel's first buffer is called.
var firstParam = regexp.MustCompile(`\.param \.u64 (\w+)`)

// elsewhere has copies of zeros take bytes of the first buffer, behind so many.
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

// difference is where the constant lies that a mutant has another of.
func difference(before, after string) [2]int {
	for _, at := range constant.FindAllStringSubmatchIndex(before, -1) {
		lo, hi := at[2], at[3]
		if strings.HasPrefix(after, before[:lo]) && strings.HasSuffix(after, before[hi:]) {
			return [2]int{lo, hi}
		}
	}
	panic("BUG: " + before + " and " + after + " differ in no constant")
}

// with has another line in the mutant's place.
func (m Mutant) with(line string) ptx.Output { return replaced(m.Code(), m.Line-1, line) }
