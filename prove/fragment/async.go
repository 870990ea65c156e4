package fragment

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

// asyncProbes are barriers in memory and the copies that arrive at them.
func asyncProbes() []*Probe {
	all := []*Probe{
		scriptProbe("mbarrier.arrive", "sm_80", "7.8", 1, "which phase a barrier is in after each arrival"),
		scriptProbe("mbarrier.tx", "sm_90", "8.0", 4, "which phase a barrier is in after each arrival and each change of its transaction count"),
	}
	sizes := draw{"bulk", bulk}
	in := repeat(typesOf("b32")[0], tileWords, typesOf("u32")[0], 3)
	out := typesOf(fmt.Sprintf("%d*b32", tileWords))
	for _, f := range []struct{ name, doc, body string }{
		{"cp.async.bulk.shared.global", "a bulk copy to shared memory that arrives at a barrier", bulkIn(1)},
		{"cp.async.bulk.shared.global twice", "two bulk copies that arrive at one barrier", bulkIn(2)},
	} {
		p := &Probe{Name: f.name, Group: "tma", Doc: f.doc, model: bulkInModel, Target: "sm_90", Version: "8.0", Threads: warp,
			In: in, Out: append(typesOf("3*u32"), out...), draw: sizes, body: f.body, thin: 2}
		all = append(all, p)
	}
	all = append(all, &Probe{Name: "cp.async.bulk.global.shared", Group: "tma", Doc: "a bulk copy from shared memory",
		model: bulkOutModel, Target: "sm_90", Version: "8.0", Threads: warp, In: in, Out: out, draw: sizes, body: bulkOut(), image: true, thin: 2})
	all = append(all, boxProbes()...)
	for _, p := range all {
		p.complete()
	}
	return all
}

// scriptSteps is the number of operations of a barrier probe.
const scriptSteps = 12

// The operations, in the low byte of a step; the other bytes are a count of bytes.
const (
	arrive = iota
	expect
	complete
	arriveExpect
)

// scriptProbe returns a probe whose inputs are the count of a barrier and a script. The result of
// a step has bits 0 and 1 set if the phases of even and odd parity have ended. After an arrival
// it has, from bit 8 on, the number of arrivals that were pending before it. Every thread has its
// own barrier.
func scriptProbe(name, target, version string, operations int, doc string) *Probe {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(".shared .align 8 .b64 bars[%d];", warp)
	line(".reg .b32 %%bar, %%what, %%bytes;\n.reg .b64 %%state;\n.reg .pred %%p;")
	line("mov.u32 %%what, %%tid.x;\nmov.u32 %%bar, bars;\nmad.lo.u32 %%bar, %%what, 8, %%bar;")
	line("mbarrier.init.shared.b64 [%%bar], %%a0;")
	for i := range scriptSteps {
		line("mov.u32 %%d%d, 0;\nand.b32 %%what, %%a%d, 255;\nshr.u32 %%bytes, %%a%d, 8;", i, i+1, i+1)
		for op, text := range []string{"mbarrier.arrive.shared.b64 %state, [%bar];", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], %bytes;",
			"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bar], %bytes;", "mbarrier.arrive.expect_tx.shared.b64 %state, [%bar], %bytes;"}[:operations] {
			line("setp.ne.u32 %%p, %%what, %d;\n@%%p bra skip%d_%d;\n%s", op, i, op, text)
			if op == arrive || op == arriveExpect {
				line("mbarrier.pending_count.b64 %%d%d, %%state;\nshl.b32 %%d%d, %%d%d, 8;", i, i, i)
			}
			line("skip%d_%d:", i, op)
		}
		for parity := range 2 {
			line("mbarrier.test_wait.parity.shared.b64 %%p, [%%bar], %d;\nselp.u32 %%what, %d, 0, %%p;\nor.b32 %%d%d, %%d%d, %%what;", parity, 1<<parity, i, i)
		}
	}
	return &Probe{Name: name, Group: "mbarrier", Doc: doc, model: scriptModel, Target: target, Version: version, Threads: 1,
		In: repeat(typesOf("u32")[0], 1+scriptSteps), Out: repeat(typesOf("b32")[0], scriptSteps), body: b.String(),
		draw: draw{fmt.Sprintf("script of %d", operations), func(p *Probe, s *source, number int, in [][]uint64) { script(s, operations, in) }}}
}

// script draws operations that are valid in every phase. Pending arrivals and expected bytes
// never fall below zero, and a phase that only waits for bytes gets exactly these.
func script(s *source, operations int, in [][]uint64) {
	count := 1 + s.Intn(4)
	in[0][0] = uint64(count)
	pending, bytes := count, 0
	for i := range scriptSteps {
		op, n := s.Intn(operations), 16*(1+s.Intn(64))
		switch {
		case pending == 0:
			op = complete
		case op == complete && bytes == 0:
			op = arrive
		}
		switch op {
		case expect, arriveExpect:
			bytes += n
		case complete:
			if n = min(n, bytes); pending == 0 && s.chance(2) {
				n = bytes
			}
			bytes -= n
		}
		if op == arrive || op == arriveExpect {
			pending--
		}
		if pending == 0 && bytes == 0 {
			pending = count
		}
		in[1+i][0] = uint64(op | n<<8)
	}
}

// tileWords is the number of words of each lane in the memory of a bulk copy.
const tileWords = 8

// bulk draws the words, the number of bytes, and the offsets of source and destination.
func bulk(p *Probe, s *source, number int, in [][]uint64) {
	const whole = 4 * warp * tileWords / 16
	for k := range tileWords {
		for lane := range in[k] {
			in[k][lane] = s.word() & 0xffffffff
		}
	}
	n := 1 + s.Intn(whole)
	from, to := s.Intn(whole-n+1), s.Intn(whole-n+1)
	for lane := range warp {
		in[tileWords][lane], in[tileWords+1][lane], in[tileWords+2][lane] = uint64(16*n), uint64(16*from), uint64(16*to)
	}
}

// arriving runs copies to shared memory, which holds a pattern, with one barrier that waits for
// so many bytes. The results are the phases that have ended before and after the copies, as bits
// by parity, whether the end was seen within a million polls, and the memory.
func arriving(bytes, copies string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(".shared .align 1024 .b8 tile[%d];\n.shared .align 8 .b64 bar;", 4*warp*tileWords)
	line(".reg .b32 %%tile, %%own, %%bar, %%left, %%x;\n.reg .b64 %%y;\n.reg .pred %%p, %%follower;")
	line("mov.u32 %%tile, tile;\nmov.u32 %%bar, bar;\nmad.lo.u32 %%own, %%thread, 4, %%tile;\nmov.u32 %%x, 0xa5a5a5a5;")
	for i := range tileWords {
		line("st.shared.b32 [%%own+%d], %%x;", 4*warp*i)
	}
	line("setp.ne.u32 %%follower, %%thread, 0;\n@%%follower bra ready;")
	line("mbarrier.init.shared.b64 [%%bar], 1;\nfence.mbarrier_init.release.cluster;\nready:\nfence.proxy.async;\nbar.warp.sync 0xffffffff;")
	parities(line, "d0")
	line("bar.warp.sync 0xffffffff;\n@%%follower bra wait;\nmbarrier.arrive.expect_tx.shared.b64 %%y, [%%bar], %s;\n%s", bytes, copies)
	line("wait:\nmov.u32 %%left, 1000000;\nagain:\nmbarrier.test_wait.parity.shared.b64 %%p, [%%bar], 0;\n@%%p bra seen;")
	line("sub.u32 %%left, %%left, 1;\nsetp.ne.u32 %%p, %%left, 0;\n@%%p bra again;\nseen:")
	line("setp.ne.u32 %%p, %%left, 0;\nselp.u32 %%d2, 1, 0, %%p;\nbar.warp.sync 0xffffffff;")
	parities(line, "d1")
	for i := range tileWords {
		line("ld.shared.b32 %%d%d, [%%own+%d];", 3+i, 4*warp*i)
	}
	return b.String()
}

// bulkIn copies from the case's memory, in one or two pieces.
func bulkIn(pieces int) string {
	const copyText = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%from], %first, [%bar];"
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	size, from, to := tileWords, tileWords+1, tileWords+2
	line(".reg .b32 %%first, %%to;\n.reg .b64 %%from;")
	line("add.u32 %%to, %%tile, %%a%d;\ncvt.u64.u32 %%from, %%a%d;\nadd.u64 %%from, %%in, %%from;\nmov.u32 %%first, %%a%d;", to, from, size)
	if pieces == 2 { // the first piece is half, rounded up to whole 16 bytes
		line("add.u32 %%first, %%a%d, 16;\nshr.u32 %%first, %%first, 5;\nshl.b32 %%first, %%first, 4;\n%s", size, copyText)
		line("add.u32 %%to, %%to, %%first;\ncvt.u64.u32 %%y, %%first;\nadd.u64 %%from, %%from, %%y;\nsub.u32 %%first, %%a%d, %%first;", size)
		line("setp.eq.u32 %%p, %%first, 0;\n@%%p bra wait;")
	}
	line("%s", copyText)
	return arriving(fmt.Sprintf("%%a%d", size), b.String())
}

// A Box is the part of the inputs that a kernel copies, if they are rows of 64 elements of bf16.
type Box struct {
	Elements int `json:"elements"` // of a row
	Rows     int `json:"rows"`
	Swizzle  int `json:"swizzle"` // bytes: 0, 32, 64 or 128
}

// rowBytes is the size of a row of the inputs: one operand of a warp.
const rowBytes = 4 * warp

// tensor describes all inputs to the driver.
func (b *Box) tensor(inputs cuda.Ptr, bytes int) cuda.Tensor {
	return cuda.Tensor{Address: inputs, Element: cuda.TensorBF16, Size: [2]int{rowBytes / 2, bytes / rowBytes}, Stride: rowBytes,
		Box: [2]int{b.Elements, b.Rows}, Swizzle: b.Swizzle}
}

// boxes are the boxes to probe: without a swizzle, and each swizzle with a full row.
var boxes = []Box{{64, 8, 0}, {16, 8, 0}, {16, 8, 32}, {32, 8, 64}, {64, 8, 128}, {32, 5, 128}}

// boxProbes are each a group: if a card fails in one, the others still run. The last begins at no
// multiple of 16 bytes, and loses the device.
func boxProbes() []*Probe {
	var all []*Probe
	for _, box := range boxes {
		all = append(all, box.probe())
	}
	last := boxes[0].probe()
	last.Name += " unaligned"
	last.Group, last.Doc, last.Claim = "box unaligned", "a copy of a box that begins at no multiple of 16 bytes of a row", Refused
	last.draw, last.thin = draw{"unaligned box", corners(4)}, 64 // one refusal is enough
	return append(all, last)
}

func (b Box) probe() *Probe {
	name := fmt.Sprintf("box %d %d swizzle %d", b.Elements, b.Rows, b.Swizzle)
	copies := fmt.Sprintf("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%tile], [%%map, {%%a%d, %%a%d}], [%%bar];",
		tileWords, tileWords+1)
	return &Probe{Name: "cp.async.bulk.tensor.2d.shared.global " + name, Group: name,
		Doc:   "a copy of a box of rows, perhaps beyond the edges of what there is",
		Claim: Modelled, Target: "sm_90", Version: "8.3", Threads: warp,
		In: repeat(typesOf("bf16x2")[0], tileWords, typesOf("s32")[0], 2), Out: repeat(typesOf("u32")[0], 3, typesOf("b32")[0], tileWords),
		draw: draw{"aligned box", corners(0)}, thin: 2, box: &b, body: arriving(fmt.Sprint(2*b.Elements*b.Rows), copies)}
}

// corners draws rows and the corner of a box. Its column is near the first and the last element
// of a row: a multiple of 16 bytes plus more elements. Its row is near the rows of the case: the
// first box begins before all rows, and the last of 32 ends after them.
func corners(more int) func(p *Probe, s *source, number int, in [][]uint64) {
	return func(p *Probe, s *source, number int, in [][]uint64) {
		for k := range tileWords {
			for lane := range in[k] {
				in[k][lane] = s.word() & 0xffffffff
			}
		}
		x, y := 8*(s.Intn(12)-3)+more, number*len(in)+number%8-1
		for lane := range warp {
			in[tileWords][lane], in[tileWords+1][lane] = uint64(uint32(x)), uint64(uint32(y))
		}
	}
}

// parities reads which phases of a barrier have ended.
func parities(line func(string, ...any), reg string) {
	line("mbarrier.test_wait.parity.shared.b64 %%p, [%%bar], 0;\nselp.u32 %%%s, 1, 0, %%p;", reg)
	line("mbarrier.test_wait.parity.shared.b64 %%p, [%%bar], 1;\nselp.u32 %%x, 2, 0, %%p;\nor.b32 %%%s, %%%s, %%x;", reg, reg)
}

// bulkOut copies shared memory, which holds the case's words, to the results.
func bulkOut() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(".shared .align 128 .b8 tile[%d];\n.reg .b32 %%tile, %%own, %%x, %%size, %%from, %%to;", 4*warp*tileWords)
	line(".reg .b64 %%at, %%y;\n.reg .pred %%p;")
	line("mov.u32 %%tile, tile;\nmad.lo.u32 %%own, %%thread, 4, %%tile;\nmul.wide.u32 %%at, %%thread, 4;\nadd.u64 %%at, %%at, %%in;")
	for i := range tileWords {
		line("ld.global.b32 %%x, [%%at+%d];\nst.shared.b32 [%%own+%d], %%x;", 4*warp*i, 4*warp*i)
	}
	for i, reg := range []string{"size", "from", "to"} {
		line("ld.global.b32 %%%s, [%%in+%d];", reg, 4*warp*(tileWords+i))
	}
	line("fence.proxy.async;\nbar.warp.sync 0xffffffff;\nsetp.ne.u32 %%p, %%thread, 0;\n@%%p bra done;")
	line("add.u32 %%from, %%tile, %%from;\ncvt.u64.u32 %%y, %%to;\nadd.u64 %%y, %%out, %%y;")
	line("cp.async.bulk.global.shared::cta.bulk_group [%%y], [%%from], %%size;")
	line("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ndone:\nbar.warp.sync 0xffffffff;")
	return b.String()
}
