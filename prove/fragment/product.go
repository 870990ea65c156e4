package fragment

// product is a matrix product D = A B + C whose operands are in a case: A is m by k, B k by n, C
// and D m by n.
type product struct {
	m, n, k    int
	a, b, c, d Type
	// place returns the operand, thread and element that store an element of a matrix.
	// Matrix d is in the results.
	place func(p *product, matrix byte, row, col int) (operand, thread, element int)
}

// matrices are A and C by rows and B by columns.
type matrices struct{ a, b, c []uint64 }

// fill draws a product and stores it in the operands.
func (p *product) fill(s *source, number int, in [][]uint64) {
	m := p.draw(s, number)
	for i := range p.m {
		for l := range p.k {
			p.put(in, 'a', i, l, p.a, m.a[i*p.k+l])
		}
		for j := range p.n {
			p.put(in, 'c', i, j, p.c, m.c[i*p.n+j])
		}
	}
	for j := range p.n {
		for l := range p.k {
			p.put(in, 'b', l, j, p.b, m.b[j*p.k+l])
		}
	}
}

// put stores an element of a matrix.
func (p *product) put(in [][]uint64, matrix byte, row, col int, t Type, x uint64) {
	operand, thread, e := p.place(p, matrix, row, col)
	in[operand][thread] |= x & t.mask() << (e * t.width)
}

// get reads an element of a matrix from operands, or of D from results.
func (p *product) get(from [][]uint64, matrix byte, row, col int) uint64 {
	t := map[byte]Type{'a': p.a, 'b': p.b, 'c': p.c, 'd': p.d}[matrix]
	operand, thread, e := p.place(p, matrix, row, col)
	return t.element(from[operand][thread], e)
}

// style is a way to draw the numbers of a product.
type style int

const (
	near      style = iota // all of similar size
	integral               // small integers, whose sums are exact in any order
	spread                 // sizes far apart
	cancel                 // large numbers that cancel, and small ones that remain
	ladder                 // one, and powers of two below it: shows which bits are kept
	anyFinite              // any numbers
	odd                    // infinities, NaN, zeros, the greatest and the least numbers among ordinary ones
	tiny                   // subnormal numbers, and zeros times the greatest
	styles    = iota
)

// draw draws the matrices of a product.
func (p *product) draw(s *source, number int) matrices {
	m := matrices{make([]uint64, p.m*p.k), make([]uint64, p.n*p.k), make([]uint64, p.m*p.n)}
	if p.a.kind != 'f' {
		for _, x := range []struct {
			t  Type
			to []uint64
		}{{p.a, m.a}, {p.b, m.b}, {p.c, m.c}} {
			p.integers(s, number, x.t, x.to)
		}
		return m
	}
	kind := style(number % styles)
	for i := range p.m {
		p.vector(s, kind, i, p.a, m.a[i*p.k:i*p.k+p.k])
	}
	for j := range p.n {
		p.partner(s, kind, p.b, m.b[j*p.k:j*p.k+p.k])
	}
	for i := range m.c {
		m.c[i] = p.addend(s, kind, p.c)
	}
	return m
}

// integers draws any integers, or integers that make sums large.
func (p *product) integers(s *source, number int, t Type, to []uint64) {
	extreme := []uint64{t.sign(), t.sign() - 1, t.mask(), 0, 1}
	for i := range to {
		if to[i] = s.word() & t.mask(); number%2 == 1 && !s.chance(3) {
			to[i] = pick(s, extreme)
		}
	}
}

// vector draws the i-th row of A.
func (p *product) vector(s *source, kind style, i int, t Type, to []uint64) {
	high := min(20, t.bias()/2)
	for l := range to {
		switch kind {
		case near:
			to[l] = s.number(t, -2, 2)
		case integral:
			to[l] = t.nearest(float64(s.Intn(17) - 8))
		case spread:
			to[l] = s.number(t, -high, high)
		case cancel:
			to[l] = s.number(t, -high/2-s.Intn(4), 0)
		case ladder:
			to[l] = s.number(t, -i-s.Intn(6), -i)
		case anyFinite:
			to[l] = s.number(t, -t.bias(), t.bias())
		case odd:
			if to[l] = s.number(t, -4, 4); s.chance(3 * p.k) {
				to[l] = pick(s, special(t))
			}
		case tiny:
			to[l] = s.word() & (t.sign() | 1<<t.frac - 1)
			if s.chance(4) {
				to[l] = pick(s, []uint64{0, t.sign(), t.inf() - 1, 1 << t.frac})
			}
		}
	}
	one := uint64(t.bias()) << t.frac
	switch q := s.Intn(len(to)); kind {
	case cancel:
		r := (q + 1 + s.Intn(len(to)-1)) % len(to)
		to[q] = s.number(t, high-4, high)
		to[r] = to[q] ^ t.sign()
	case ladder:
		to[q] = one | s.word()&t.sign()
	}
}

// partner draws a column of B.
func (p *product) partner(s *source, kind style, t Type, to []uint64) {
	power := s.number(t, -3, 3) &^ (1<<t.frac - 1)
	for l := range to {
		switch kind {
		case cancel:
			to[l] = power
		case ladder:
			to[l] = s.number(t, 0, 0) &^ (1<<t.frac - 1)
		case tiny:
			to[l] = s.number(t, -2, 8)
		default:
			p.vector(s, kind, s.Intn(4), t, to[l:l+1])
		}
	}
}

// addend draws an element of C.
func (p *product) addend(s *source, kind style, t Type) uint64 {
	high := min(40, t.bias()/2)
	switch kind {
	case near, odd:
		if kind == odd && s.chance(12) {
			return pick(s, special(t))
		}
		return s.number(t, -3, 3)
	case integral:
		return t.nearest(float64(s.Intn(201) - 100))
	case spread, cancel:
		return s.number(t, -high, high)
	case ladder:
		if s.chance(2) {
			return s.number(t, -high, 2)
		}
		return s.word() & t.sign()
	case tiny:
		return s.word() & (t.sign() | 1<<t.frac - 1)
	}
	return s.number(t, -t.bias(), t.bias())
}

// terms returns the operands of an element of D as text.
func (p *product) terms(in [][]uint64, row, col int) (a, b []string, c string) {
	for l := range p.k {
		a = append(a, p.a.elementText(p.get(in, 'a', row, l)))
		b = append(b, p.b.elementText(p.get(in, 'b', l, col)))
	}
	return a, b, p.c.elementText(p.get(in, 'c', row, col))
}

// find returns the element of D stored in a result; ok is false for a result without one.
func (p *product) find(result, thread, element int) (row, col int, ok bool) {
	for row := range p.m {
		for col := range p.n {
			if r, t, e := p.place(p, 'd', row, col); r == result && t == thread && e == element {
				return row, col, true
			}
		}
	}
	return 0, 0, false
}
