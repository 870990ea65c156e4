package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// word returns a random integer, of any size and sign, often an extreme.
func word(r *rand.Rand) uint64 {
	x := r.Uint64() >> r.IntN(64)
	switch r.IntN(5) {
	case 0:
		x = -x
	case 1:
		x = [...]uint64{0, 1, 1<<7 - 1, 1 << 7, 1<<15 - 1, 1 << 15, 1<<31 - 1, 1 << 31, 1<<63 - 1, 1 << 63, math.MaxUint64}[r.IntN(11)]
	}
	return x
}

func bigInt(width int, signed bool, x uint64) *big.Int {
	if signed {
		return big.NewInt(SignExtend(width, x))
	}
	return new(big.Int).SetUint64(x & widthMask(width))
}

// low returns the low bits of an integer.
func low(v *big.Int, width int) uint64 {
	mask := new(big.Int).Lsh(big.NewInt(1), uint(width))
	return new(big.Int).And(v, mask.Sub(mask, big.NewInt(1))).Uint64()
}

func TestIntegerArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for range 30000 {
		a, b, c := word(r), word(r), word(r)
		width, signed := 16<<r.IntN(3), r.IntN(2) == 0
		x, y, z := bigInt(width, signed, a), bigInt(width, signed, b), bigInt(width, signed, c)
		product := new(big.Int).Mul(x, y)
		least, most := x, y
		if x.Cmp(y) > 0 {
			least, most = y, x
		}
		distance := new(big.Int).Sub(most, least)
		a &= widthMask(width)
		b &= widthMask(width)
		check := func(name string, got, want uint64) {
			t.Helper()
			if got != want {
				t.Fatalf("%s of %d bits, signed %v, of %x %x %x = %x, want %x", name, width, signed, a, b, c, got, want)
			}
		}
		check("mul.hi", MulHi(width, signed, a, b), low(new(big.Int).Rsh(product, uint(width)), width))
		if width < 64 {
			check("mul.wide", MulWide(width, signed, a, b), low(product, 2*width))
		}
		check("min", MinInt(width, signed, a, b), low(least, width))
		check("max", MaxInt(width, signed, a, b), low(most, width))
		check("sad", Sad(width, signed, a, b, c), low(distance.Add(distance, z), width))
		q, ok := Div(width, signed, a, b)
		rem, _ := Rem(width, signed, a, b)
		if ok != (y.Sign() != 0) {
			t.Fatalf("division by %v is %v", y, ok)
		}
		if ok {
			check("div", q, low(new(big.Int).Quo(x, y), width))
			check("rem", rem, low(new(big.Int).Rem(x, y), width))
		}
	}
}

func TestSaturation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	for range 20000 {
		a, b, c := uint32(word(r)), uint32(word(r)), uint32(word(r))
		x, y, z := bigInt(32, true, uint64(a)), bigInt(32, true, uint64(b)), bigInt(32, true, uint64(c))
		hi := new(big.Int).Rsh(new(big.Int).Mul(x, y), 32)
		for name, pair := range map[string]struct {
			got  uint32
			want *big.Int
		}{
			"add.sat":    {AddSat(a, b), new(big.Int).Add(x, y)},
			"sub.sat":    {SubSat(a, b), new(big.Int).Sub(x, y)},
			"mad.hi.sat": {MadHiSat(a, b, c), hi.Add(hi, z)},
		} {
			if want := clampInt(pair.want, 32, true); uint64(pair.got) != want {
				t.Fatalf("%s of %x %x %x = %x, want %x", name, a, b, c, pair.got, want)
			}
		}
		for _, signed := range []bool{false, true} {
			product := new(big.Int).Mul(bigInt(24, signed, uint64(a)), bigInt(24, signed, uint64(b)))
			lo, hi := Mul24Lo(signed, a, b), Mul24Hi(signed, a, b)
			if uint64(lo) != low(product, 32) || uint64(hi) != low(product.Rsh(product, 16), 32) {
				t.Fatalf("mul24 of %x %x, signed %v: %x %x", a, b, signed, lo, hi)
			}
		}
	}
}

// bit is the ISA's a[i], for a of some width.
func bit(a uint64, i int) uint64 { return a >> i & 1 }

func TestShifts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 20000 {
		a, b := word(r), word(r)
		n := uint32(r.IntN(80))
		if r.IntN(10) == 0 {
			n = r.Uint32()
		}
		width, signed := 16<<r.IntN(3), r.IntN(2) == 0
		var left, right uint64
		for i := range width {
			if j := int64(i) - int64(n); j >= 0 {
				left |= bit(a, int(j)) << i
			}
			j := int64(i) + int64(n)
			if j < int64(width) {
				right |= bit(a, int(j)) << i
			} else if signed {
				right |= bit(a, width-1) << i
			}
		}
		if got := Shl(width, a, n); got != left {
			t.Fatalf("shl %x %d of %d bits = %x, want %x", a, n, width, got, left)
		}
		if got := Shr(width, signed, a, n); got != right {
			t.Fatalf("shr %x %d of %d bits = %x, want %x", a, n, width, got, right)
		}
		checkFunnel(t, uint32(a), uint32(b), n)
	}
}

func checkFunnel(t *testing.T, a, b, c uint32) {
	t.Helper()
	for _, wrap := range []bool{false, true} {
		n := int(min(c, 32))
		if wrap {
			n = int(c % 32)
		}
		wide := uint64(b)<<32 | uint64(a)
		var left, right uint32
		for i := range 32 {
			left |= uint32(bit(wide, 32+i-n)) << i
			right |= uint32(bit(wide, i+n)) << i
		}
		if got := Shf(false, wrap, a, b, c); got != left {
			t.Fatalf("shf.l %x %x %d, wrap %v = %x, want %x", a, b, c, wrap, got, left)
		}
		if got := Shf(true, wrap, a, b, c); got != right {
			t.Fatalf("shf.r %x %x %d, wrap %v = %x, want %x", a, b, c, wrap, got, right)
		}
	}
}

// TestBitFields follows the ISA, which describes the results bit by bit.
func TestBitFields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	for range 40000 {
		a, b := word(r), word(r)
		pos, n := uint32(r.IntN(70)), uint32(r.IntN(70))
		if r.IntN(10) == 0 {
			pos, n = r.Uint32(), r.Uint32()
		}
		width, signed := 32<<r.IntN(2), r.IntN(2) == 0
		p, l := int(pos), int(n) // beyond the ISA's 255, as recorded on a card
		if width == 32 {
			p, l = int(pos&0xff), int(n&0xff)
		}
		var extract uint64
		insert := b & widthMask(width)
		sign := bit(a, min(p+l-1+b2i(p+l == 0), width-1))
		if !signed || l == 0 {
			sign = 0
		}
		for i := range width {
			if i < l && p+i < width {
				extract |= bit(a, p+i) << i
				insert = insert&^(1<<(p+i)) | bit(a, i)<<(p+i)
			} else {
				extract |= sign << i
			}
		}
		if got := Bfe(width, signed, a, pos, n); got != extract {
			t.Fatalf("bfe of %d bits, signed %v: %x %d %d = %x, want %x", width, signed, a, p, l, got, extract)
		}
		if got := Bfi(width, a, b&widthMask(width), pos, n); got != insert {
			t.Fatalf("bfi of %d bits: %x %x %d %d = %x, want %x", width, a, b, p, l, got, insert)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestBitCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	for range 20000 {
		a := word(r)
		width, signed := 32<<r.IntN(2), r.IntN(2) == 0
		a &= widthMask(width)
		var popc, clz uint32
		var brev uint64
		find := -1
		for i := range width {
			popc += uint32(bit(a, i))
			brev |= bit(a, i) << (width - 1 - i)
			clz++
			if bit(a, i) != 0 {
				clz = 0
			}
			sign := uint64(0)
			if signed {
				sign = bit(a, width-1)
			}
			if bit(a, i) != sign {
				find = i
			}
		}
		shift := find
		if find >= 0 {
			shift = width - 1 - find
		}
		got := []uint64{uint64(Popc(width, a)), uint64(Clz(width, a)), Brev(width, a), uint64(Bfind(width, signed, false, a)), uint64(Bfind(width, signed, true, a))}
		want := []uint64{uint64(popc), uint64(clz), brev, uint64(uint32(find)), uint64(uint32(shift))}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("popc, clz, brev, bfind, bfind.shiftamt of %x, %d bits, signed %v: %x, want %x", a, width, signed, got, want)
			}
		}
	}
}

func TestLop3(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	const a, b, c = 0xf0, 0xcc, 0xaa // the truth tables of the operands themselves
	for lut := range 256 {
		x, y, z := r.Uint32(), r.Uint32(), r.Uint32()
		var want uint32
		for i := range 32 {
			row := x>>i&1<<2 | y>>i&1<<1 | z>>i&1
			want |= uint32(lut) >> row & 1 << i
		}
		if got := Lop3(x, y, z, uint8(lut)); got != want {
			t.Fatalf("lop3 %x %x %x %#x = %x, want %x", x, y, z, lut, got, want)
		}
	}
	x, y, z := r.Uint32(), r.Uint32(), r.Uint32()
	if got, want := Lop3(x, y, z, a&b|^a&c&0xff), x&y|^x&z; got != want {
		t.Errorf("lop3 as a choice: %x, want %x", got, want)
	}
}

func TestPrmt(t *testing.T) {
	const a, b = 0x33221100, 0xf7665544 // byte i is worth i*0x11, but byte 7 has its sign bit set
	tests := []struct {
		mode string
		c    uint32
		want uint32
	}{
		{"", 0x3210, 0x33221100},
		{"", 0x7654, 0xf7665544},
		{"", 0x0123, 0x00112233},
		{"", 0xf8e7, 0xff0000f7},
		{"", 0xffff0000, 0x00000000},
		{"f4e", 0, 0x33221100}, {"f4e", 1, 0x44332211}, {"f4e", 2, 0x55443322}, {"f4e", 3, 0x66554433},
		{"b4e", 0, 0x5566f700}, {"b4e", 1, 0x66f70011}, {"b4e", 2, 0xf7001122}, {"b4e", 3, 0x00112233},
		{"rc8", 0, 0x00000000}, {"rc8", 1, 0x11111111}, {"rc8", 2, 0x22222222}, {"rc8", 7, 0x33333333},
		{"ecl", 0, 0x33221100}, {"ecl", 1, 0x33221111}, {"ecl", 2, 0x33222222}, {"ecl", 3, 0x33333333},
		{"ecr", 0, 0x00000000}, {"ecr", 1, 0x11111100}, {"ecr", 2, 0x22221100}, {"ecr", 3, 0x33221100},
		{"rc16", 0, 0x11001100}, {"rc16", 1, 0x33223322}, {"rc16", 2, 0x11001100}, {"rc16", 3, 0x33223322},
	}
	for _, test := range tests {
		if got := Prmt(test.mode, a, b, test.c); got != test.want {
			t.Errorf("prmt.%s %x = %08x, want %08x", test.mode, test.c, got, test.want)
		}
	}
}

func TestDotProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 13))
	for range 5000 {
		a, b, c := r.Uint32(), r.Uint32(), r.Uint32()
		aSigned, bSigned := r.IntN(2) == 0, r.IntN(2) == 0
		part := func(x uint32, width, i int, signed bool) *big.Int {
			return bigInt(width, signed, uint64(x>>(width*i)))
		}
		four, two, twoHi := big.NewInt(int64(c)), big.NewInt(int64(c)), big.NewInt(int64(c))
		for i := range 4 {
			four.Add(four, new(big.Int).Mul(part(a, 8, i, aSigned), part(b, 8, i, bSigned)))
		}
		for i := range 2 {
			two.Add(two, new(big.Int).Mul(part(a, 16, i, aSigned), part(b, 8, i, bSigned)))
			twoHi.Add(twoHi, new(big.Int).Mul(part(a, 16, i, aSigned), part(b, 8, i+2, bSigned)))
		}
		got := []uint32{Dp4a(aSigned, bSigned, a, b, c), Dp2a(false, aSigned, bSigned, a, b, c), Dp2a(true, aSigned, bSigned, a, b, c)}
		for i, v := range []*big.Int{four, two, twoHi} {
			if want := uint32(low(v, 32)); got[i] != want {
				t.Fatalf("dp4a, dp2a.lo, dp2a.hi of %x %x %x: result %d is %x, want %x", a, b, c, i, got[i], want)
			}
		}
	}
}

// TestFns compares with a search through the positions of all ones.
func TestFns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 14))
	for range 5000 {
		mask, base, n := r.Uint32()&r.Uint32(), r.IntN(32), r.IntN(9)-4
		var up, down []uint32
		for i := range 32 {
			if mask>>i&1 != 0 && i >= base {
				up = append(up, uint32(i))
			}
			if mask>>i&1 != 0 && i <= base {
				down = append([]uint32{uint32(i)}, down...)
			}
		}
		want := ^uint32(0)
		switch {
		case n > 0 && n <= len(up):
			want = up[n-1]
		case n < 0 && -n <= len(down):
			want = down[-n-1]
		case n == 0 && mask>>base&1 != 0:
			want = uint32(base)
		}
		if got := Fns(mask, uint32(base), int32(n)); got != want {
			t.Fatalf("fns %x %d %d = %x, want %x", mask, base, n, got, want)
		}
	}
	tests := []struct {
		mask, base uint32
		n          int32
		want       uint32
	}{
		{0xaaaaaaaa, 0, 1, 1}, {0xaaaaaaaa, 3, 1, 3}, {0xaaaaaaaa, 3, -1, 3}, {0xaaaaaaaa, 3, -2, 1}, {0xaaaaaaaa, 3, -3, ^uint32(0)},
		{0xaaaaaaaa, 31, 1, 31}, {0xaaaaaaaa, 31, 2, ^uint32(0)}, {0xaaaaaaaa, 32, 1, ^uint32(0)}, {0, 5, 0, ^uint32(0)}, {0x20, 5, 0, 5},
		{0xff, 0, -2147483648, 0}, {0xff, 0, -2147483647, ^uint32(0)},
	}
	for _, test := range tests {
		if got := Fns(test.mask, test.base, test.n); got != test.want {
			t.Errorf("fns %x %d %d = %x, want %x", test.mask, test.base, test.n, got, test.want)
		}
	}
}

func TestMasksAndExtensions(t *testing.T) {
	tests := []struct {
		name      string
		got, want uint32
	}{
		{"bmsk.clamp 4 8", Bmsk(true, 4, 8), 0xff0},
		{"bmsk.clamp 0 32", Bmsk(true, 0, 32), 0xffffffff},
		{"bmsk.clamp 0 99", Bmsk(true, 0, 99), 0xffffffff},
		{"bmsk.clamp 40 8", Bmsk(true, 40, 8), 0},
		{"bmsk.clamp 28 8", Bmsk(true, 28, 8), 0xf0000000},
		{"bmsk.wrap 36 40", Bmsk(false, 36, 40), 0xff0},
		{"bmsk.wrap 0 32", Bmsk(false, 0, 32), 0},
		{"szext.u 8", Szext(false, true, 0x12345689, 8), 0x89},
		{"szext.s 8", Szext(true, true, 0x12345689, 8), 0xffffff89},
		{"szext.s 7", Szext(true, true, 0x12345689, 7), 0x9},
		{"szext.s 0", Szext(true, true, 0xffffffff, 0), 0},
		{"szext.s.clamp 40", Szext(true, true, 0x80000001, 40), 0x80000001},
		{"szext.u.clamp 40", Szext(false, true, 0x80000001, 40), 0x80000001},
		{"szext.s.wrap 40", Szext(true, false, 0x12345689, 40), 0xffffff89},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s = %x, want %x", test.name, test.got, test.want)
		}
	}
}
