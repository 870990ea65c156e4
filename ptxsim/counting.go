package ptxsim

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// With Options.Count, the decoder wraps instructions in closures that count before they run.
// Otherwise none of this code runs.

// verb is the kind of an access.
type verb uint8

const (
	loads verb = iota
	stores
	updates
	copiesFrom // reads by cp.async
)

// classOf returns the class of an instruction.
func classOf(in *ptx.Instr) Class {
	op, _, _ := strings.Cut(in.Op, ".")
	switch {
	case in.Op == "wmma.mma.sync":
		return Product
	case op == "div" && isFloat(in.Types[0]):
		return Special
	}
	if c, ok := classByName[op]; ok {
		return c
	}
	if len(in.Types) == 0 {
		return Integer
	}
	switch t := in.Types[len(in.Types)-1]; {
	case !isFloat(t):
		return Integer
	case t == ptx.F32:
		return FP32
	case t == ptx.F64:
		return FP64
	}
	return FP16
}

// classByName lists the classes that do not depend on types.
var classByName = func() map[string]Class {
	m := map[string]Class{}
	for c, names := range map[Class]string{
		Move:    "mov cvt cvta selp slct prmt isspacep createpolicy",
		Special: "rcp sqrt rsqrt sin cos lg2 ex2 tanh",
		Memory:  "ld ldu st atom red prefetch cp ldmatrix wmma",
		Warp:    "shfl vote match redux activemask movmatrix",
		Barrier: "bar barrier fence membar",
		Control: "bra brx ret exit trap nanosleep",
		Product: "mma",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = c
		}
	}
	return m
}()

// productName returns the name of a product without the fixed modifiers.
func productName(in *ptx.Instr) string {
	mods := slices.DeleteFunc(slices.Clone(in.Mods), func(m string) bool {
		return m == "aligned" || m == "row" || m == "col" || m == "satfinite"
	})
	return strings.Join(append([]string{strings.TrimSuffix(in.Op, ".sync")}, mods...), ".")
}

// counts reports whether instructions are counted.
func (d *decoder) counts() bool { return d.k.m.d.opt.Count }

// counted makes an instruction count itself at each execution.
func (d *decoder) counted(f exec) exec {
	count := d.counter()
	return func(w *warp, m uint32) {
		count(w, m)
		f(w, m)
	}
}

// counter returns the function that counts an instruction.
func (d *decoder) counter() exec {
	class, note, product := classOf(d.in), d.note, ""
	if class == Product {
		product = productName(d.in)
	}
	return func(w *warp, m uint32) {
		w.lock()
		defer w.unlock()
		t := w.b.l.tally
		t.classes[class]++
		if product != "" {
			t.Products[product]++
		}
		if note != nil {
			note(w, m)
		}
	}
}

// count makes a decoded instruction count, unless it already does.
func (d *decoder) count(out *instr) {
	switch {
	case d.done:
	case out.exec != nil:
		out.exec = d.counted(out.exec)
	default:
		count, flow := d.counter(), out.flow
		out.flow = func(w *warp, in *instr, active, m uint32) (int, uint32) {
			count(w, m)
			return flow(w, in, active, m)
		}
	}
}

// notes records that an instruction accesses memory, size bytes per lane.
func (d *decoder) notes(v verb, a address, size int) {
	d.note = func(w *warp, m uint32) { w.noteAccess(v, &a, size, m) }
}

// noteAccess counts the accesses of the lanes of m.
func (w *warp) noteAccess(v verb, a *address, size int, m uint32) {
	t := w.b.l.tally
	t.spans = t.spans[:0]
	forLanes(m, func(lane int) { t.spans = append(t.spans, span{lane, a.of(w, lane), size}) })
	w.noteSpans(v, a.space)
}

// noteSpans counts t.spans, separately for each space if addresses are generic.
func (w *warp) noteSpans(v verb, s ptx.Space) {
	t := w.b.l.tally
	if s != ptx.Generic {
		t.access(w, v, s, t.spans)
		return
	}
	var bySpace [ptx.Local + 1][]span
	for _, x := range t.spans {
		of, base := spaceOf(x.at)
		x.at -= base
		bySpace[of] = append(bySpace[of], x)
	}
	for of, spans := range bySpace {
		t.access(w, v, ptx.Space(of), spans)
	}
}

// access counts a request of a warp to one space.
func (t *tally) access(w *warp, v verb, s ptx.Space, spans []span) {
	if len(spans) == 0 {
		return
	}
	switch s {
	case ptx.Global:
		[...]*Traffic{loads: &t.Loads, stores: &t.Stores, updates: &t.Atomics, copiesFrom: &t.Copies}[v].add(spans, &t.units)
		for _, x := range spans {
			t.touch(w.b.l.d.global.find(x.at), v, x)
		}
	case ptx.Shared:
		[...]*Banks{loads: &t.SharedLoads, stores: &t.SharedStores, updates: &t.SharedAtomics}[v].add(spans, v != updates, &t.units)
	case ptx.Local:
		t.Local.add(interleave(spans), &t.units)
	}
}

// touch marks the bytes of global memory that an access reads or writes. A wrong access is
// reported later.
func (t *tally) touch(b *buffer, v verb, x span) {
	if b == nil || x.at < b.start || x.at+uint64(x.size) > b.start+uint64(len(b.data)) {
		return
	}
	seen := t.touched[b]
	if seen == nil {
		n := int64(len(b.data))
		seen = &touched{newBitmap(n), newBitmap(n)}
		t.touched[b] = seen
	}
	off := int(x.at - b.start)
	if v != stores {
		seen.fetched.words(off, x.size, func(i int, mask uint64) bool {
			seen.fetched[i] |= mask &^ seen.kept[i]
			return true
		})
	}
	if v == stores || v == updates {
		seen.kept.setRange(off, x.size)
	}
}

// noteRows counts the rows that ldmatrix loads.
func noteRows(a address, rows uint32) exec {
	return func(w *warp, _ uint32) { w.noteAccess(loads, &a, 16, rows) }
}

// note counts the source and the destination of a copy.
func (c *copyInfo) note(w *warp, m uint32) {
	t := w.b.l.tally
	t.spans = t.spans[:0]
	forLanes(m, func(lane int) {
		if n := c.bytes(w, lane); n > 0 {
			t.spans = append(t.spans, span{lane, c.src.of(w, lane), n})
		}
	})
	w.noteSpans(copiesFrom, ptx.Global)
	w.noteAccess(stores, &c.dst, c.size, m)
}

// note counts the rows or columns of a tile, each as an access of one lane.
func (x *wmmaMove) note(v verb) exec {
	return func(w *warp, _ uint32) {
		t := w.b.l.tally
		n, size := x.rows, x.cols
		if x.byCol {
			n, size = size, n
		}
		size = size * x.width / 8
		base, step := x.addr.of(w, 0), x.step(w)*uint64(x.width/8)
		t.spans = t.spans[:0]
		for i := range n {
			t.spans = append(t.spans, span{i, base + uint64(i)*step, size})
		}
		w.noteSpans(v, x.addr.space)
	}
}
