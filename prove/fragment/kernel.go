package fragment

import (
	"fmt"
	"strings"
)

// PTX returns the module of the probe. Its entry, probe, takes the addresses of the inputs and
// the outputs, and for a box the address of the descriptor of the inputs. In the body, %a0, %a1..
// are the thread's operands and %d0, %d1.. its results, %in and %out the memory of its case, and
// %thread its number in the case.
func (p *Probe) PTX() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	inAt, inBytes := layout(p.In, p.Threads)
	outAt, outBytes := layout(p.Out, p.Threads)

	line("// %s: %s", p.Name, p.Doc)
	line(".version %s\n.target %s\n.address_size 64\n", p.Version, p.Target)
	parameters := ".param .u64 inputs, .param .u64 outputs"
	if p.box != nil {
		parameters += ", .param .u64 map"
	}
	line(".visible .entry probe(%s)\n{", parameters)
	line("\t.reg .b32 %%thread, %%case;\n\t.reg .b64 %%in, %%out, %%skip;")
	line("\tmov.u32 %%thread, %%tid.x;\n\tmov.u32 %%case, %%ctaid.x;")
	if p.Threads == 1 {
		line("\tmad.lo.u32 %%case, %%case, %d, %%thread;\n\tmov.u32 %%thread, 0;", warp)
	}
	line("\tld.param.u64 %%in, [inputs];\n\tmul.wide.u32 %%skip, %%case, %d;\n\tadd.u64 %%in, %%in, %%skip;", inBytes)
	line("\tld.param.u64 %%out, [outputs];\n\tmul.wide.u32 %%skip, %%case, %d;\n\tadd.u64 %%out, %%out, %%skip;", outBytes)
	if p.box != nil {
		// The host has written the descriptor, so the fence has system scope.
		line("\t.reg .b64 %%map;\n\tld.param.u64 %%map, [map];\n\tfence.proxy.tensormap::generic.acquire.sys [%%map], 128;")
	}
	if !p.image {
		p.move(line, "ld", "a", "in", p.In, inAt)
		for i, t := range p.Out {
			line("\t.reg .%s %%d%d;", t.register(), i)
		}
	}
	body := p.body
	if body == "" {
		body = p.instruction()
	}
	for _, l := range strings.Split(strings.TrimSpace(body), "\n") {
		line("\t%s", strings.TrimSpace(l))
	}
	if !p.image {
		p.move(line, "st", "d", "out", p.Out, outAt)
	}
	line("\tret;\n}")
	return b.String()
}

// move loads or stores the registers of a thread.
func (p *Probe) move(line func(string, ...any), op, reg, from string, ts []Type, at []int) {
	bases := map[int]string{}
	for i, t := range ts {
		base := bases[t.bytes()]
		if base == "" {
			base = fmt.Sprintf("%%%s%d", from, 8*t.bytes())
			bases[t.bytes()] = base
			line("\t.reg .b64 %s;\n\tmul.wide.u32 %s, %%thread, %d;\n\tadd.u64 %s, %s, %%%s;", base, base, t.bytes(), base, base, from)
		}
		if op == "ld" {
			line("\t.reg .%s %%%s%d;\n\tld.global.%s %%%s%d, [%s+%d];", t.register(), reg, i, t.register(), reg, i, base, at[i])
		} else {
			line("\tst.global.%s [%s+%d], %%%s%d;", t.register(), base, at[i], reg, i)
		}
	}
}

// instruction returns the instruction with all results and operands in order.
func (p *Probe) instruction() string {
	var regs []string
	for i := range p.Out {
		regs = append(regs, fmt.Sprintf("%%d%d", i))
	}
	for i := range p.In {
		regs = append(regs, fmt.Sprintf("%%a%d", i))
	}
	return p.Name + " " + strings.Join(regs, ", ") + ";"
}
