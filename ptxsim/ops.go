package ptxsim

import (
	"strings"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// execs decode the instructions that work in each lane separately. flows decode those that change
// which lanes run where, or that lanes execute together.
var execs, flows = instructions()

func instructions() (map[string]func(*decoder) exec, map[string]func(*decoder, *instr)) {
	execs := map[string]func(*decoder) exec{}
	for f, names := range map[*func(*decoder) exec][]string{
		ref((*decoder).arithmetic): {"add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg", "abs"},
		ref((*decoder).mul24):      {"mul24", "mad24"},
		ref((*decoder).carry):      {"add.cc", "addc", "sub.cc", "subc", "madc"},
		ref((*decoder).logic):      {"and", "or", "xor", "not", "cnot"},
		ref((*decoder).shift):      {"shl", "shr"},
		ref((*decoder).bitwise): {"bfe", "bfi", "bfind", "clz", "popc", "brev", "fns", "prmt", "shf", "bmsk", "szext",
			"sad", "dp4a", "dp2a"},
		ref((*decoder).video): {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset",
			"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2",
			"vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4"},
		ref((*decoder).lop3):       {"lop3"},
		ref((*decoder).function):   {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"},
		ref((*decoder).copysign):   {"copysign"},
		ref((*decoder).testp):      {"testp"},
		ref((*decoder).setp):       {"setp"},
		ref((*decoder).set):        {"set"},
		ref((*decoder).selp):       {"selp"},
		ref((*decoder).slct):       {"slct"},
		ref((*decoder).mov):        {"mov"},
		ref((*decoder).cvt):        {"cvt"},
		ref((*decoder).cvta):       {"cvta"},
		ref((*decoder).isspacep):   {"isspacep"},
		ref((*decoder).load):       {"ld", "ldu"},
		ref((*decoder).store):      {"st"},
		ref((*decoder).atom):       {"atom", "red"},
		ref((*decoder).fence):      {"fence", "membar"},
		ref((*decoder).nothing):    {"prefetch", "nanosleep"},
		ref((*decoder).policy):     {"createpolicy.fractional"},
		ref((*decoder).activeMask): {"activemask"},
		ref((*decoder).copyAsync):  {"cp.async"},
		ref(commitCopies):          {"cp.async.commit_group"},
		ref(waitCopies):            {"cp.async.wait_group", "cp.async.wait_all"},
	} {
		for _, name := range names {
			execs[name] = *f
		}
	}
	flows := map[string]func(*decoder, *instr){
		"bra": (*decoder).branch, "brx.idx": (*decoder).tableBranch,
		"ret": (*decoder).exit, "exit": (*decoder).exit, "trap": (*decoder).trap,
		"shfl.sync": (*decoder).shfl, "vote.sync": (*decoder).vote, "redux.sync": (*decoder).redux,
		"match.any.sync": (*decoder).match, "match.all.sync": (*decoder).match,
		"bar.warp.sync": (*decoder).warpBarrier,
		"ldmatrix.sync": (*decoder).ldmatrix, "movmatrix.sync": (*decoder).movmatrix, "mma.sync": (*decoder).mma,
		"wmma.load.a.sync": (*decoder).wmmaLoad, "wmma.load.b.sync": (*decoder).wmmaLoad, "wmma.load.c.sync": (*decoder).wmmaLoad,
		"wmma.mma.sync": (*decoder).wmma, "wmma.store.d.sync": (*decoder).wmmaStore,
	}
	for _, prefix := range []string{"bar", "barrier", "bar.cta", "barrier.cta"} {
		for _, verb := range []string{".sync", ".arrive", ".red"} {
			flows[prefix+verb] = (*decoder).barrier
		}
	}
	return execs, flows
}

func ref(f func(*decoder) exec) *func(*decoder) exec { return &f }

func (d *decoder) nothing() exec { return func(*warp, uint32) {} }

// policy makes a cache policy, which has no effect here.
func (d *decoder) policy() exec {
	o := d.dst(0)
	return func(w *warp, m uint32) {
		forLanes(m, func(i int) { w.cols[o][i] = 0 })
	}
}

func (d *decoder) fence() exec { return func(w *warp, _ uint32) { w.fence() } }

func (d *decoder) transfer(at int, cols []int, regs []ptx.Operand) *transfer {
	t := &transfer{addr: d.address(&d.in.Args[at]), elem: int(d.typ(0).Bytes()), cols: cols, order: d.order()}
	t.regs = registers(&d.in.Args[1-at])
	d.forget()
	d.notes([...]verb{stores, loads}[at], t.addr, t.size())
	if s := d.typ(0); isSigned(s) {
		for i := range regs {
			if n := d.width(&regs[i]); regs[i].Kind == ptx.RegArg && n > s.Bits() {
				t.sign, t.width = s.Bits(), n
			}
		}
	}
	return t
}

func (d *decoder) load() exec {
	return d.transfer(1, d.writes(&d.in.Args[0]), elems(&d.in.Args[0])).load
}

func (d *decoder) store() exec {
	return d.transfer(0, d.reads(&d.in.Args[1]), nil).store
}

func (d *decoder) branch(out *instr) {
	out.target, out.flow = d.in.Args[0].Targets[0], branch
}

func (d *decoder) tableBranch(out *instr) {
	t := &tableBranch{index: d.src(0), targets: d.in.Args[1].Targets}
	out.flow = t.flow
}

func (d *decoder) exit(out *instr) { out.flow = exit }

func (d *decoder) trap(out *instr) {
	out.flow = func(w *warp, in *instr, _, m uint32) (int, uint32) {
		w.fail(Trap, m, "the kernel stops itself")
		return 0, 0
	}
}

// barrier decodes the barriers of a block. The operands are an id and a number of threads; a
// reducing barrier has a destination before them and a predicate after them.
func (d *decoder) barrier(out *instr) {
	in := d.in
	args := in.Args
	b := &barrierInfo{count: noColumn, dstReg: -1}
	b.reduce = in.Pick("popc", "and", "or")
	if b.reduce != "" {
		switch dst := &args[0]; {
		case b.reduce == "popc":
			b.dst = d.write(dst)
			b.dstReg = int32(dst.Reg)
		default:
			b.dstReg = d.predDst(dst)
		}
		d.defs = nil // written when the barrier is complete
		b.value = d.pred(&args[len(args)-1])
		args = args[1 : len(args)-1]
	}
	b.id = d.read(&args[0])
	if len(args) > 1 {
		b.count = d.read(&args[1])
	}
	verb := lastWord(in.Op)
	b.arrive = verb == "arrive"
	b.aligned = in.Op[:4] == "bar." || in.Has("aligned")
	out.barrier = true
	out.flow = b.flow
}

// lastWord returns the part of a name after its last dot.
func lastWord(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
