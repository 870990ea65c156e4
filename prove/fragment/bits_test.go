package fragment

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// signed reads a word as a signed integer.
func signed(x uint64) int64 { return int64(int32(x)) }

// bit returns one bit of a word.
func bit(x uint64, i int) uint64 { return x >> i & 1 }

// field computes bfe and bfi, bit by bit as in the manual.
func field(words []string, width int, in []uint64) uint64 {
	last := len(in) - 1
	pos, length := int(in[last-1]), int(in[last])
	if width == 32 {
		pos, length = pos&255, length&255
	}
	if words[0] == "bfi" {
		r := in[1]
		for i := 0; i < length && pos+i < width; i++ {
			r = r&^(1<<(pos+i)) | bit(in[0], i)<<(pos+i)
		}
		return r
	}
	var sign, r uint64
	if words[1][0] == 's' && length > 0 {
		sign = bit(in[0], min(pos+length-1, width-1))
	}
	for i := range width {
		b := sign
		if i < length && pos+i < width {
			b = bit(in[0], pos+i)
		}
		r |= b << i
	}
	return r
}

// permuteModes are the bytes that the modes of prmt choose, the highest first.
var permuteModes = map[string][4]string{
	"f4e": {"3210", "4321", "5432", "6543"}, "b4e": {"5670", "6701", "7012", "0123"}, "rc8": {"0000", "1111", "2222", "3333"},
	"ecl": {"3210", "3211", "3222", "3333"}, "ecr": {"0000", "1110", "2210", "3210"}, "rc16": {"1010", "3232", "1010", "3232"},
}

func permute(words []string, in []uint64) uint64 {
	bytes := in[1]<<32 | in[0]
	var r uint64
	for i := range 4 {
		choice := in[2] >> (4 * i) & 15
		if len(words) > 2 {
			choice = uint64(permuteModes[words[2]][in[2]&3][3-i] - '0')
		}
		b := bytes >> (8 * (choice & 7)) & 255
		if choice&8 != 0 {
			b = 255 * (b >> 7)
		}
		r |= b << (8 * i)
	}
	return r
}

// find computes bfind.
func find(words []string, x uint64) uint64 {
	if words[len(words)-1] == "s32" && bit(x, 31) == 1 {
		x ^= 0xffffffff
	}
	at := bits.Len64(x) - 1
	if words[1] == "shiftamt" && at >= 0 {
		at = 31 - at
	}
	return uint64(uint32(at))
}

func findNth(mask uint64, base, n int) uint64 {
	if n == 0 {
		if bit(mask, base) == 1 {
			return uint64(base)
		}
		return 0xffffffff
	}
	if n == -1<<31 {
		return 0
	}
	step, left := 1, n
	if n < 0 {
		step, left = -1, -n
	}
	for at := base; at >= 0 && at < 32; at += step {
		if bit(mask, at) == 1 {
			if left--; left == 0 {
				return uint64(at)
			}
		}
	}
	return 0xffffffff
}

// masks computes bmsk and szext.
func masks(words []string, in []uint64) uint64 {
	clamp := words[1] == "clamp"
	if words[0] == "bmsk" {
		var r uint64
		from, length := in[0]&31, in[1]&31
		if clamp {
			from, length = in[0], min(in[1], 32)
		}
		for i := from; i < min(from+length, 32); i++ {
			r |= 1 << i
		}
		return r
	}
	n := in[1] & 31
	if clamp && in[1] >= 32 {
		return in[0]
	}
	if n == 0 {
		return 0
	}
	return uint64(uint32(int64(in[0]<<(64-n)) >> (64 - n)))
}

// wide returns the value of an operand by the letter of its type.
func wide(letter byte, width int, x uint64) *big.Int {
	if letter == 's' {
		return big.NewInt(int64(x<<(64-width)) >> (64 - width))
	}
	return new(big.Int).SetUint64(x << (64 - width) >> (64 - width))
}

// upper computes mul.hi.
func upper(letter byte, width int, a, b uint64) uint64 {
	p := new(big.Int).Mul(wide(letter, width, a), wide(letter, width, b))
	p.Rsh(p, uint(width))
	return p.And(p, new(big.Int).SetUint64(^uint64(0)>>(64-width))).Uint64()
}

func clampWord(x int64) uint64 { return uint64(uint32(max(-1<<31, min(1<<31-1, x)))) }

// dots computes dp4a and dp2a.
func dots(words []string, in []uint64) uint64 {
	ta, tb := words[len(words)-2][0], words[len(words)-1][0]
	sum := new(big.Int).SetUint64(in[2])
	width, n, from := 8, 4, 0
	if words[0] == "dp2a" {
		width, n = 16, 2
		if words[1] == "hi" {
			from = 2
		}
	}
	for i := range n {
		sum.Add(sum, new(big.Int).Mul(wide(ta, width, in[0]>>(width*i)), wide(tb, 8, in[1]>>(8*(i+from)))))
	}
	return sum.And(sum, big.NewInt(0xffffffff)).Uint64()
}

func integerResult(name string, width int, in []uint64) uint64 {
	name, table, _ := strings.Cut(name, " ")
	words := strings.Split(name, ".")
	last := words[len(words)-1]
	switch words[0] {
	case "prmt":
		return permute(words, in)
	case "bfe", "bfi":
		return field(words, width, in)
	case "shf":
		n := in[2] & 31
		if words[2] == "clamp" {
			n = min(in[2], 32)
		}
		if both := in[1]<<32 | in[0]; words[1] == "l" {
			return both << n >> 32
		} else {
			return both >> n & 0xffffffff
		}
	case "shl":
		return in[0] << in[1] & (^uint64(0) >> (64 - width))
	case "shr":
		x := wide(last[0], width, in[0])
		x.Rsh(x, uint(in[1]))
		return x.And(x, new(big.Int).SetUint64(^uint64(0)>>(64-width))).Uint64()
	case "popc":
		return uint64(bits.OnesCount64(in[0]))
	case "clz":
		return uint64(width - bits.Len64(in[0]))
	case "brev":
		return uint64(bits.Reverse32(uint32(in[0])))
	case "bfind":
		return find(words, in[0])
	case "fns":
		return findNth(in[0], int(in[1]&31), int(int32(in[2])))
	case "bmsk", "szext":
		return masks(words, in)
	case "add":
		return clampWord(signed(in[0]) + signed(in[1]))
	case "sub":
		return clampWord(signed(in[0]) - signed(in[1]))
	case "mul":
		return upper(last[0], width, in[0], in[1])
	case "mad":
		return clampWord(signed(upper('s', 32, in[0], in[1])) + signed(in[2]))
	case "mul24":
		p := new(big.Int).Mul(wide(last[0], 24, in[0]), wide(last[0], 24, in[1]))
		if words[1] == "hi" {
			p.Rsh(p, 16)
		}
		return p.And(p, big.NewInt(0xffffffff)).Uint64()
	case "dp4a", "dp2a":
		return dots(words, in)
	case "lop3":
		var lut, r uint64
		fmt.Sscanf(table, "0x%x", &lut)
		for i := range 32 {
			r |= bit(lut, int(bit(in[0], i)<<2|bit(in[1], i)<<1|bit(in[2], i))) << i
		}
		return r
	case "sad":
		d := new(big.Int).Sub(wide(last[0], 32, in[0]), wide(last[0], 32, in[1]))
		return (d.Abs(d).Uint64() + in[2]) & 0xffffffff
	}
	panic("no oracle for " + name)
}

// TestIntegers compares every probe of integers with the manual's pseudocode.
func TestIntegers(t *testing.T) {
	eachCase(t, "integer", func(p *Probe, in [][]uint64, thread int) []uint64 {
		var operands []uint64
		for k := range in {
			operands = append(operands, in[k][thread])
		}
		return []uint64{integerResult(p.Name, p.In[0].width, operands)}
	})
}

// changed returns the result of an atomic operation.
func changed(name string, t Type, in []uint64) uint64 {
	words := strings.Split(name, ".")
	old, x := in[0], in[1]
	if t.kind == 'f' {
		m := "add.rn"
		if t.width == 32 && words[1] == "global" {
			m = "add.rn.ftz"
		}
		for _, nan := range []uint64{x, old} { // it stays as it is
			if t.width == 64 && words[1] == "global" && t.isNaN(nan) {
				return nan
			}
		}
		var elements []uint64
		for e := range t.count {
			elements = append(elements, arithmetic(m, t, []uint64{t.element(old, e), t.element(x, e)}))
		}
		return t.pack(elements)
	}
	less := wide(words[3][0], t.width, x).Cmp(wide(words[3][0], t.width, old)) < 0
	switch words[2] {
	case "add":
		return (old + x) & t.mask()
	case "and":
		return old & x
	case "or":
		return old | x
	case "xor":
		return old ^ x
	case "exch":
		return x
	case "inc":
		if old >= x {
			return 0
		}
		return old + 1
	case "dec":
		if old == 0 || old > x {
			return x
		}
		return old - 1
	case "cas":
		if old == x {
			return in[2]
		}
		return old
	}
	if less == (words[2] == "min") {
		return x
	}
	return old
}

// TestAtomics checks the results of atomic operations.
func TestAtomics(t *testing.T) {
	eachCase(t, "atomic", func(p *Probe, in [][]uint64, thread int) []uint64 {
		operands := []uint64{in[0][thread], in[1][thread], in[len(in)-1][thread]}
		return []uint64{operands[0], changed(p.Name, p.In[0], operands)}
	})
}

// TestWarps compares exchanges between lanes with loops over the lanes.
func TestWarps(t *testing.T) {
	eachCase(t, "warp", func(p *Probe, in [][]uint64, lane int) []uint64 {
		words := strings.Split(p.Name, ".")
		x := in[0]
		switch words[0] {
		case "shfl":
			return shuffled(words[2], in, lane)
		case "match":
			return matched(words[1], x, lane)
		case "redux":
			return []uint64{reduced(words[2], words[3][0], x)}
		}
		var votes uint64
		for i := range x {
			if x[i] != 0 {
				votes |= 1 << i
			}
		}
		is := map[string]bool{"all": votes == 0xffffffff, "any": votes != 0, "uni": votes == 0 || votes == 0xffffffff}
		if words[2] == "ballot" {
			return []uint64{votes}
		} else if is[words[2]] {
			return []uint64{1}
		}
		return []uint64{0}
	})
}

func shuffled(mode string, in [][]uint64, lane int) []uint64 {
	b, clamp, segment := int(in[1][lane]&31), int(in[2][lane]&31), int(in[2][lane]>>8&31)
	most := lane&segment | clamp&^segment
	least := lane & segment
	from, inside := 0, false
	switch mode {
	case "up":
		from = lane - b
		inside = from >= most
	case "down":
		from = lane + b
		inside = from <= most
	case "bfly":
		from = lane ^ b
		inside = from <= most
	case "idx":
		from = least | b&^segment
		inside = from <= most
	}
	if inside {
		return []uint64{in[0][from], 1}
	}
	return []uint64{in[0][lane], 0}
}

func matched(mode string, x []uint64, lane int) []uint64 {
	var same uint64
	for i := range x {
		if x[i] == x[lane] {
			same |= 1 << i
		}
	}
	switch {
	case mode == "any":
		return []uint64{same}
	case same == 0xffffffff:
		return []uint64{same, 1}
	}
	return []uint64{0, 0}
}

func reduced(op string, letter byte, x []uint64) uint64 {
	r := new(big.Int)
	for i, v := range x {
		w := wide(letter, 32, v)
		switch {
		case i == 0:
			r = w
		case op == "add":
			r.Add(r, w)
		case op == "and":
			r.And(r, w)
		case op == "or":
			r.Or(r, w)
		case op == "xor":
			r.Xor(r, w)
		case (op == "min") == (w.Cmp(r) < 0):
			r = w
		}
	}
	return new(big.Int).And(r, big.NewInt(0xffffffff)).Uint64()
}

// copied returns the 16 bytes of a lane in shared memory after a copy of some bytes of the case's
// memory. They are ones before.
func copied(name string, in [][]uint64, lane int) []uint64 {
	var size int
	fmt.Sscan(name[strings.LastIndex(name, " "):], &size)
	r := []uint64{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}
	for i := range size {
		at := 16*lane + i // words are stored operand by operand
		b := in[at/4/warp][at/4%warp] >> (8 * (at % 4)) & 255
		if i >= int(in[4][lane]) {
			b = 0
		}
		r[i/4] = r[i/4]&^(255<<(8*(i%4))) | b<<(8*(i%4))
	}
	return r
}

// TestMatrixMoves compares copies with bytes counted one by one, and ldmatrix and movmatrix with
// the layout in the manual: lane 4g+t has two neighbours of row g, or of column g of a transposed
// matrix.
func TestMatrixMoves(t *testing.T) {
	eachCase(t, "matrix", func(p *Probe, in [][]uint64, lane int) []uint64 {
		words := strings.Split(p.Name, ".")
		g, c := lane/4, lane%4
		half := func(x uint64, i int) uint64 { return x >> (16 * i) & 0xffff }
		if words[0] == "cp" {
			return copied(p.Name, in, lane)
		}
		if words[0] == "movmatrix" {
			at := func(row, col int) uint64 { return half(in[0][4*row+col/2], col%2) }
			return []uint64{at(2*c, g) | at(2*c+1, g)<<16}
		}
		var r []uint64
		for m := range p.Out {
			at := func(row, col int) uint64 { return half(in[col/2][in[4][8*m+row]], col%2) }
			if slices.Contains(words, "trans") {
				r = append(r, at(2*c, g)|at(2*c+1, g)<<16)
			} else {
				r = append(r, at(g, 2*c)|at(g, 2*c+1)<<16)
			}
		}
		return r
	})
}
