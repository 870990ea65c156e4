// Package kerneltest compares back ends with the kernel interpreter, bit for bit.
package kerneltest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Runner runs the named kernel in the back end under test, on buffers in parameter order.
type Runner func(name string, s kernel.Scalars, bufs []kernel.Buffer) error

// A Backend is compared with the interpreter.
type Backend struct {
	Name string
	Run  Runner
	BF16 *kernel.Sums // how it adds products of BF16; nil: as defined
}

// Compare checks every kernel of a text (see kernel.Format) in every launch, by default
// Launches, with one subtest per back end. Back ends with equal sums share the interpreter's
// answers.
func Compare(t *testing.T, text string, ends []Backend, launches ...kernel.Scalars) {
	t.Helper()
	ks, err := kernel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(launches) == 0 {
		launches = Launches()
	}
	for _, k := range ks {
		t.Run(k.Name, func(t *testing.T) {
			rounds := strings.Contains(k.String(), "bf16")
			var known *Answers
			for _, end := range ends {
				if known == nil || rounds && end.BF16 != known.add {
					known = Answer(k, end.BF16, launches...)
				}
				t.Run(end.Name, func(t *testing.T) {
					if err := known.Check(end.Run); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// Answers holds the interpreter's results of a kernel.
type Answers struct {
	k   *kernel.Kernel
	add *kernel.Sums
	all []interpreted
}

// interpreted is a launch and the interpreter's result.
type interpreted struct {
	scalars     kernel.Scalars
	inputs      Kind
	start, want []kernel.Buffer
	err         error
}

// Answer interprets the launches of a kernel, with two kinds of inputs. add says how products
// of 16-bit factors are added; nil: as defined.
func Answer(k *kernel.Kernel, add *kernel.Sums, launches ...kernel.Scalars) *Answers {
	a := &Answers{k: k, add: add}
	r, err := kernel.NewRunner(k, add)
	for seed, s := range launches {
		for _, inputs := range []Kind{Signed, Positive} {
			i := interpreted{err: err}
			if err == nil {
				i = interpret(k, r, s, inputs, uint64(seed))
			}
			a.all = append(a.all, i)
		}
	}
	return a
}

// Check compares a back end with the answers, like the function Check.
func (a *Answers) Check(run Runner) error {
	var errs []error
	for _, i := range a.all {
		if err := i.check(a.k, run); err != nil {
			errs = append(errs, fmt.Errorf("%v inputs, launch %v: %w", i.inputs, i.scalars, err))
		}
	}
	return errors.Join(errs...)
}

func interpret(k *kernel.Kernel, r *kernel.Runner, s kernel.Scalars, inputs Kind, seed uint64) interpreted {
	i := interpreted{scalars: k.Suited(s), inputs: inputs}
	i.start, i.want, i.err = InterpretBy(r, k, i.scalars, inputs, seed)
	return i
}

// Launches returns scalars for small launches: single elements, odd sizes, decoding into a
// cache, and more rows than a tile holds.
func Launches() []kernel.Scalars {
	var all []kernel.Scalars
	for _, n := range []struct{ b, t, s, c, p, n float64 }{
		{1, 1, 1, 1, 0, 1},
		{2, 7, 5, 7, 0, 37},
		{3, 2, 9, 11, 4, 130},
		{5, 33, 29, 33, 0, 4099},
	} {
		s := kernel.Samples()
		maps.Copy(s, kernel.Scalars{
			"B": n.b, "T": n.t, "S": n.s, "C": n.c, "P": n.p, "N": n.n,
			"layer": 3, "step": 7, "example": 11 * n.b, "seed0": 0x9e3779b9, "seed1": 0x243f6a88,
		})
		all = append(all, s)
	}
	return all
}

// Kind is a distribution of F32 inputs.
type Kind int

// The kinds. Signed values are normally distributed, with some zeros of both signs and a few
// subnormal numbers. Positive values are their magnitudes, above zero. Large values are 32
// times larger, so that a softmax overflows without its maximum. Spread values are signed, with
// magnitudes so far apart that any term of a sum may decide its sign.
const (
	Signed Kind = iota
	Positive
	Large
	Spread
)

func (k Kind) String() string { return [...]string{"signed", "positive", "large", "spread"}[k] }

func (k Kind) draw(r *rand.Rand) float32 {
	v := float32(r.NormFloat64())
	switch r.IntN(40) {
	case 0:
		v = 0
	case 1:
		v = float32(math.Copysign(0, -1))
	case 2:
		v *= 0x1p-130
	}
	switch k {
	case Positive:
		v = max(float32(math.Abs(float64(v))), 0x1p-20)
	case Large:
		v *= 32
	case Spread:
		v = float32(math.Ldexp(float64(v), 2-r.IntN(10)))
	}
	return v
}

// Check runs a kernel on equal inputs in the interpreter and in a back end. The interpreter
// adds products of 16-bit factors by add. Check requires the same bits in all buffers, except
// that all NaNs are equal, and no writes beyond their ends.
//
// Integer inputs are drawn from [-1, n) or else [0, n). n is the largest buffer extent that keeps
// all indices in range: ids lie in their tables, and labels may be -1. Check skips a launch with
// ErrNotFor.
func Check(k *kernel.Kernel, s kernel.Scalars, inputs Kind, seed uint64, run Runner, add *kernel.Sums) error {
	r, err := kernel.NewRunner(k, add)
	if err != nil {
		return fmt.Errorf("interpreter: %w", err)
	}
	i := interpret(k, r, s, inputs, seed)
	return i.check(k, run)
}

func (i *interpreted) check(k *kernel.Kernel, run Runner) error {
	if errors.Is(i.err, ErrNotFor) {
		return nil
	}
	if i.err != nil {
		return fmt.Errorf("interpreter: %w", i.err)
	}
	s, start, want := i.scalars, i.start, i.want
	padded := make([]kernel.Buffer, len(start))
	got := make([]kernel.Buffer, len(start))
	for i, b := range start {
		padded[i] = kernel.Buffer{F: pad(b.F, markF), I: pad(b.I, markI), H: pad(b.H, markH)}
		got[i] = kernel.Buffer{F: cut(padded[i].F), I: cut(padded[i].I), H: cut(padded[i].H)}
	}
	if err := run(k.Name, s, got); err != nil {
		return fmt.Errorf("back end: %w", err)
	}
	var errs []error
	for i, p := range padded {
		errs = append(errs, Differ(k.Params[i].Name, got[i], want[i]))
		if !intact(p.F, markF) || !intact(p.I, markI) || !intact(p.H, markH) {
			errs = append(errs, fmt.Errorf("%s: written beyond its end", k.Params[i].Name))
		}
	}
	return errors.Join(errs...)
}

// ErrNotFor reports a launch after P rows of a kernel that decoding never calls. An index P + t
// is outside an array of T rows, but inside if P is 0.
var ErrNotFor = errors.New("the kernel is not for rows behind others")

// Interpret returns valid inputs of the kernel and its results. add says how products of
// 16-bit factors are added; nil: as defined.
func Interpret(k *kernel.Kernel, s kernel.Scalars, inputs Kind, seed uint64, add *kernel.Sums) (start, end []kernel.Buffer, err error) {
	r, err := kernel.NewRunner(k, add)
	if err != nil {
		return nil, nil, err
	}
	return InterpretBy(r, k, s, inputs, seed)
}

// InterpretBy is Interpret with a given Runner.
func InterpretBy(r *kernel.Runner, k *kernel.Kernel, s kernel.Scalars, inputs Kind, seed uint64) (start, end []kernel.Buffer, err error) {
	shapes, err := r.Extents(s)
	if err != nil {
		return nil, nil, err
	}
	for _, ids := range idRanges(shapes) {
		start = draw(k, shapes, inputs, ids, seed, s)
		end = make([]kernel.Buffer, len(start))
		for i, b := range start {
			end[i] = b.Clone()
		}
		if err = r.Run(s, end); err == nil {
			return start, end, nil
		}
	}
	decodes := slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Name == "C" }) // the rows of a cache
	if s["P"] > 0 && errors.Is(err, kernel.ErrOutside) && !decodes {
		first := maps.Clone(s)
		first["P"] = 0
		if _, _, wrong := InterpretBy(r, k, first, inputs, seed); wrong == nil {
			err = fmt.Errorf("%w: %w", ErrNotFor, err)
		}
	}
	return nil, nil, err
}

// idRange holds the integers from lo to hi-1.
type idRange struct{ lo, hi int }

// idRanges lists the possible ranges of a kernel's ids, the widest first.
func idRanges(shapes [][]int) []idRange {
	extents := []int{1, 2}
	for _, shape := range shapes {
		extents = append(extents, shape...)
	}
	slices.Sort(extents)
	extents = slices.Compact(extents)
	slices.Reverse(extents)
	var all []idRange
	for _, n := range extents {
		if n > 0 {
			all = append(all, idRange{-1, n}, idRange{0, n})
		}
	}
	return all
}

// counts are the buffers of token places and numbers that an attention's masks compare. Wide
// ranges would leave hardly any cell open.
var counts = []string{"di_", "dj_", "ni_", "nj_"}

// draw returns the buffers of a launch. Packed rows have examples of the launch's lengths. Buffers
// that are only written start as NaN or as an integer that no kernel computes.
func draw(k *kernel.Kernel, shapes [][]int, inputs Kind, ids idRange, seed uint64, s kernel.Scalars) []kernel.Buffer {
	rows, keys := kernel.Lengths(s)
	r := rand.New(rand.NewPCG(seed, uint64(inputs)))
	bufs := make([]kernel.Buffer, len(shapes))
	for i, shape := range shapes {
		p, n := k.Params[i], 1
		for _, extent := range shape {
			n *= extent
		}
		bufs[i] = kernel.NewBuffer(p.Type, n)
		own := ids
		if slices.Contains(counts, p.Name) {
			own = idRange{0, 5}
		}
		read := p.Mode != kernel.Out
		begin(bufs[i].I, read, unwrittenI, func() int32 { return int32(own.lo + r.IntN(own.hi-own.lo)) })
		kernel.Pack(p.Name, bufs[i].I, rows, keys)
		begin(bufs[i].F, read, float32(math.NaN()), func() float32 { return inputs.draw(r) })
		begin(bufs[i].H, read, unwrittenH, func() uint16 { return cropped(p.Type, inputs.draw(r)) })
	}
	return bufs
}

// begin fills a buffer with what is drawn if it is read, else with one value.
func begin[T any](buf []T, read bool, unwritten T, draw func() T) {
	for i := range buf {
		if buf[i] = unwritten; read {
			buf[i] = draw()
		}
	}
}

// cropped returns the bits of a 16-bit number near v: the F32 bits that fit.
func cropped(t expr.Type, v float32) uint16 {
	bits := math.Float32bits(v)
	if t == expr.BF16 {
		return uint16(bits >> 16)
	}
	exponent := max(int(bits>>23&0xff)-(127-15), 0)
	return uint16(bits>>16&0x8000 | uint32(exponent)<<10 | bits>>13&0x3ff)
}

const (
	unwrittenI = -0x5a5a5a5b
	unwrittenH = 0x7fa5 // NaN, which nothing computes
	markI      = int32(0x5a5a5a5a)
	markH      = uint16(0x5a5a)
	markF      = float32(0x1.b4b4b4p+70)
	marks      = 32
)

// pad copies a slice and appends marks. nil stays nil.
func pad[T int32 | float32 | uint16](from []T, mark T) []T {
	if from == nil {
		return nil
	}
	return append(slices.Clone(from), slices.Repeat([]T{mark}, marks)...)
}

// cut returns a padded slice without its marks, which only a stray store can change.
func cut[T any](padded []T) []T {
	n := max(0, len(padded)-marks)
	return padded[:n:n]
}

// intact reports whether the marks of a padded slice are unchanged.
func intact[T int32 | float32 | uint16](padded []T, mark T) bool {
	return !slices.ContainsFunc(padded[len(cut(padded)):], func(v T) bool { return v != mark })
}

// Differ returns an error that shows the first differing element.
func Differ(name string, got, want kernel.Buffer) error {
	all := slices.Concat(
		differing(got.F, want.F, func(g, w float32) bool {
			return math.Float32bits(g) == math.Float32bits(w) || g != g && w != w
		}),
		differing(got.I, want.I, func(g, w int32) bool { return g == w }),
		differing(got.H, want.H, func(g, w uint16) bool { return g == w }))
	if len(all) == 0 {
		return nil
	}
	at := all[0]
	where := fmt.Sprintf("%s: %d of %d elements differ; element %d is", name, len(all), len(want.F)+len(want.I)+len(want.H), at)
	switch {
	case want.F != nil:
		g, w := got.F[at], want.F[at]
		return fmt.Errorf("%s %v (%08x), want %v (%08x)", where, g, math.Float32bits(g), w, math.Float32bits(w))
	case want.H != nil:
		return fmt.Errorf("%s %04x, want %04x", where, got.H[at], want.H[at])
	}
	return fmt.Errorf("%s %d, want %d", where, got.I[at], want.I[at])
}

// differing lists the indices of elements that differ.
func differing[T any](got, want []T, same func(g, w T) bool) []int {
	var all []int
	for i, w := range want {
		if !same(got[i], w) {
			all = append(all, i)
		}
	}
	return all
}
