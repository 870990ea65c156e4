package ptxsim

import (
	"math/bits"

	"github.com/arithlang/mlc/ptxsim/num"
)

// The instructions by which the lanes of a warp exchange values. Each one runs when all lanes of
// its membermask have arrived.

// together returns a flow that runs f for all lanes of a membermask at once.
func (d *decoder) together(out *instr, member int, f exec) {
	if f == nil {
		return
	}
	if d.counts() {
		f, d.done = d.counted(f), true // once, however many groups wait for each other first
	}
	c := &collective{member: noColumn, exec: f}
	if member >= 0 {
		c.member = d.src(member)
	}
	out.flow = c.flow
}

func (d *decoder) shfl(out *instr) {
	args := d.in.Args
	dst, pred := d.pairDst(&args[0])
	o, a := d.write(dst), d.src(1)
	ro, ra := register(dst), register(&args[1])
	d.forget()
	b, c := d.src(2), d.src(3)
	source := shuffles[d.in.Pick("up", "down", "bfly", "idx")]
	d.together(out, 4, func(w *warp, m uint32) {
		from := w.cols[a]
		var inside, known uint32
		defined := w.defined(ra)
		for rest := m; rest != 0; rest &= rest - 1 {
			lane := bits.TrailingZeros32(rest)
			cv := uint32(w.cols[c][lane])
			clamp, seg := int(cv&31), int(cv>>8&31)
			j, ok := source(lane, int(w.cols[b][lane]&31), lane&seg|clamp&^seg, lane&seg, seg)
			if !ok {
				j = lane
			} else {
				inside |= 1 << lane
			}
			if m>>j&1 == 0 {
				w.fail(InactiveLane, 1<<lane, "it reads lane %d, which does not take part", j)
				return
			}
			w.cols[o][lane] = from[j]
			known |= defined >> j & 1 << lane
		}
		w.define(ro, m, known)
		w.setPred(pred, m, inside)
		w.define(pred, m, m)
	})
}

// shuffles return the lane to read from, and whether it is within the segment from least to most.
var shuffles = map[string]func(lane, b, most, least, seg int) (int, bool){
	"up":   func(lane, b, most, _, _ int) (int, bool) { return lane - b, lane-b >= most },
	"down": func(lane, b, most, _, _ int) (int, bool) { return lane + b, lane+b <= most },
	"bfly": func(lane, b, most, _, _ int) (int, bool) { return lane ^ b, lane^b <= most },
	"idx":  func(_, b, most, least, seg int) (int, bool) { j := least | b&^seg; return j, j <= most },
}

func (d *decoder) vote(out *instr) {
	p := d.pred(&d.in.Args[1])
	if d.in.Has("ballot") {
		o := d.dst(0)
		d.together(out, 2, func(w *warp, m uint32) {
			v := uint64(p.of(w) & m)
			forLanes(m, func(i int) { w.cols[o][i] = v })
		})
		return
	}
	o, kind := d.predDst(&d.in.Args[0]), d.in.Pick("all", "any", "uni")
	d.together(out, 2, func(w *warp, m uint32) {
		v := p.of(w) & m
		yes := v == m && kind != "any" || v != 0 && kind == "any" || v == 0 && kind == "uni"
		w.setPred(o, m, spread(yes))
	})
}

func (d *decoder) match(out *instr) {
	args := d.in.Args
	keep := mask(d.typ(0).Bits())
	if d.in.Op == "match.any.sync" || d.in.Has("any") {
		o, a := d.dst(0), d.src(1)
		d.together(out, 2, func(w *warp, m uint32) {
			from := w.cols[a]
			forLanes(m, func(i int) {
				var v uint64
				forLanes(m, func(j int) { v |= uint64(bit(from[i]&keep == from[j]&keep)) << j })
				w.cols[o][i] = v
			})
		})
		return
	}
	dst, pred := d.pairDst(&args[0])
	o, a := d.write(dst), d.src(1)
	d.together(out, 2, func(w *warp, m uint32) {
		first := w.cols[a][bits.TrailingZeros32(m)] & keep
		equal := lanesOf(m, func(i int) bool { return w.cols[a][i]&keep == first })
		v := uint64(m & spread(equal == m))
		forLanes(m, func(i int) { w.cols[o][i] = v })
		w.setPred(pred, m, spread(v != 0))
	})
}

func (d *decoder) redux(out *instr) {
	t := d.typ(0)
	n, signed := t.Bits(), isSigned(t)
	f := map[string]func(a, b uint64) uint64{
		"add": func(a, b uint64) uint64 { return (a + b) & mask(n) },
		"and": func(a, b uint64) uint64 { return a & b },
		"or":  func(a, b uint64) uint64 { return a | b },
		"xor": func(a, b uint64) uint64 { return a ^ b },
		"min": func(a, b uint64) uint64 { return num.MinInt(n, signed, a, b) },
		"max": func(a, b uint64) uint64 { return num.MaxInt(n, signed, a, b) },
	}[d.in.Pick("add", "and", "or", "xor", "min", "max")]
	o, a := d.dst(0), d.src(1)
	d.together(out, 2, func(w *warp, m uint32) {
		first := bits.TrailingZeros32(m)
		v := w.cols[a][first]
		forLanes(m&(m-1), func(i int) { v = f(v, w.cols[a][i]) })
		forLanes(m, func(i int) { w.cols[o][i] = v })
	})
}

func (d *decoder) warpBarrier(out *instr) {
	d.together(out, 0, func(*warp, uint32) {})
}

func (d *decoder) activeMask() exec {
	o := d.dst(0)
	return func(w *warp, m uint32) {
		forLanes(m, func(i int) { w.cols[o][i] = uint64(m) })
	}
}
