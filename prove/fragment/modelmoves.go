package fragment

import (
	"encoding/binary"
	"math"
)

// scriptModel runs a script for a barrier. A phase ends when no arrivals are pending and no bytes
// are missing.
func scriptModel(p *Probe, in [][]uint64) [][]uint64 {
	out := p.results()
	count := int(in[0][0])
	pending, missing, phase := count, 0, 0
	for i := range out {
		op, bytes := int(in[1+i][0]&255), int(in[1+i][0]>>8)
		var r uint64
		if op == arrive || op == arriveExpect {
			r = uint64(pending) << 8
			pending--
		}
		switch op {
		case expect, arriveExpect:
			missing += bytes
		case complete:
			missing -= bytes
		}
		if pending == 0 && missing == 0 {
			pending = count
			phase++
		}
		out[i][0] = r | 2>>(phase%2) // the phase before this one has ended
	}
	return out
}

// bulkModel copies bytes of words over other words.
func bulkModel(in, to [][]uint64) {
	at := func(words [][]uint64, i int) *uint64 { return &words[i/warp][i%warp] }
	size, from, where := int(in[tileWords][0]), int(in[tileWords+1][0]), int(in[tileWords+2][0])
	for i := range size / 4 {
		*at(to, where/4+i) = *at(in, from/4+i)
	}
}

// arrived returns the results of arriving without copied bytes. A barrier is in its first phase
// before the copies, and in its second after them.
func (p *Probe) arrived() [][]uint64 {
	out := p.results()
	for lane := range warp {
		out[0][lane], out[1][lane], out[2][lane] = 2, 1, 1
		for k := range tileWords {
			out[3+k][lane] = 0xa5a5a5a5
		}
	}
	return out
}

func bulkInModel(p *Probe, in [][]uint64) [][]uint64 {
	out := p.arrived()
	bulkModel(in, out[3:])
	return out
}

// model copies a box from the rows of all cases, and zeros for elements outside. Rows of the box
// are consecutive; rows shorter than the swizzle have gaps up to its width, which keep their
// content. A swizzle exchanges chunks by their addresses.
func (b *Box) model(all []byte) model {
	return func(p *Probe, in [][]uint64) [][]uint64 {
		out := p.arrived()
		x, y := int(int32(in[tileWords][0])), int(int32(in[tileWords+1][0]))
		for i := range b.Rows * b.Elements {
			row, col := y+i/b.Elements, x+i%b.Elements
			var element uint64
			if row >= 0 && row < len(all)/rowBytes && col >= 0 && col < rowBytes/2 {
				element = uint64(binary.LittleEndian.Uint16(all[row*rowBytes+2*col:]))
			}
			at := swizzled(b.Swizzle, i/b.Elements*max(2*b.Elements, b.Swizzle)+i%b.Elements*2)
			word, shift := &out[3+at/rowBytes][at%rowBytes/4], at%4*8
			*word = *word&^(0xffff<<shift) | element<<shift
		}
		return out
	}
}

func bulkOutModel(p *Probe, in [][]uint64) [][]uint64 {
	out := p.results()
	bulkModel(in, out)
	return out
}

// storeMatrixModel writes matrices of 8 by 8 halves, held as ldmatrix loads them, to rows.
func storeMatrixModel(trans bool) model {
	return func(p *Probe, in [][]uint64) [][]uint64 {
		out := p.results()
		last := len(in) - 1
		for m := range last {
			for row := range 8 {
				at := in[last][8*m+row]
				for col := range 8 {
					i, j := row, col
					if trans {
						i, j = col, row
					}
					half := in[m][4*i+j/2] >> (16 * (j % 2)) & 0xffff
					out[col/2][at] |= half << (16 * (col % 2))
				}
			}
		}
		return out
	}
}

// bytePairModel rounds two singles to 8 bits each, the first to the high byte. Numbers that are
// too large become the greatest number.
func bytePairModel(t Type, relu bool) model {
	return func(p *Probe, in [][]uint64) [][]uint64 {
		high, low := t.rounded(p.In[0].value(in[0][0]), relu), t.rounded(p.In[1].value(in[1][0]), relu)
		return [][]uint64{{high<<8 | low}}
	}
}

// rounded returns the nearest finite element of an 8-bit type, ties to even.
func (t Type) rounded(v float64, relu bool) uint64 {
	greatest := t.inf() - 1
	if t.isE4M3() { // only all ones are NaN
		greatest = 0x7e
	}
	var sign uint64
	switch {
	case math.IsNaN(v):
		return t.mask() &^ t.sign()
	case relu && math.Signbit(v):
		return 0
	case math.Signbit(v):
		sign, v = t.sign(), -v
	}
	switch {
	case v == 0:
		return sign
	case v >= t.value(greatest):
		return sign | greatest
	}
	_, e := math.Frexp(v)
	e = max(e-1, 1-t.bias())
	return sign | uint64(e+t.bias()-1)<<t.frac + uint64(math.RoundToEven(math.Ldexp(v, t.frac-e)))
}
