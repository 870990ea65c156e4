package kerneltest

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/arithlang/mlc/compiler/kernel"
)

// interpreter returns the back end that is right by definition.
func interpreter(ks ...*kernel.Kernel) Runner {
	return func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
		i := slices.IndexFunc(ks, func(k *kernel.Kernel) bool { return k.Name == name })
		return kernel.Run(ks[i], s, bufs)
	}
}

// TestCompareKernels runs the example kernels of package kernel in the default launches. The
// interpreter finds no error, in particular no id out of range, and agrees with itself.
func TestCompareKernels(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "kernels", "*.kir"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no kernels:", err)
	}
	var all []*kernel.Kernel
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ks, err := kernel.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ks...)
	}
	Compare(t, kernel.Format(all), []Backend{{Name: "interpreter", Run: interpreter(all...)}})
}

const mixed = `kernel mixed map
	in x f32[N]
	in ids i32[N]
	out y f32[N]
	out z i32[N]
	inout w f32[N]
	scalar N
	grid n < N
	let a = x[n]
	let b = w[n]
	let id = ids[n]
	set y[n] = where(n == 2, nan, a + b)
	set z[n] = id + 1
	set w[n] = where(n == 3, 0.0, b * 2.0)
	end`

// TestCheckFinds has back ends that are right except for one fault.
func TestCheckFinds(t *testing.T) {
	ks, err := kernel.Parse(mixed)
	if err != nil {
		t.Fatal(err)
	}
	s := kernel.Scalars{"N": 9}
	for _, c := range []struct {
		name string
		want string // "" when nothing is wrong
		edit func(bufs []kernel.Buffer) error
	}{
		{"right", "", func(b []kernel.Buffer) error { return nil }},
		{"another NaN", "", func(b []kernel.Buffer) error {
			b[2].F[2] = math.Float32frombits(0xffc12345)
			return nil
		}},
		{"one bit", "y: 1 of 9 elements differ; element 4 is", func(b []kernel.Buffer) error {
			b[2].F[4] = math.Nextafter32(b[2].F[4], 9)
			return nil
		}},
		{"a number for NaN", "y: 1 of 9 elements differ; element 2 is 1 (3f800000), want NaN", func(b []kernel.Buffer) error {
			b[2].F[2] = 1
			return nil
		}},
		{"NaN for a number", "w: 2 of 9 elements differ; element 5 is NaN", func(b []kernel.Buffer) error {
			b[4].F[5], b[4].F[6] = float32(math.NaN()), float32(math.NaN())
			return nil
		}},
		{"the sign of zero", "w: 1 of 9 elements differ; element 3 is -0 (80000000), want 0 (00000000)", func(b []kernel.Buffer) error {
			b[4].F[3] = float32(math.Copysign(0, -1))
			return nil
		}},
		{"an integer", "z: 1 of 9 elements differ; element 8 is 1000, want", func(b []kernel.Buffer) error {
			b[3].I[8] = 1000
			return nil
		}},
		{"an input", "x: 1 of 9 elements differ", func(b []kernel.Buffer) error {
			b[0].F[0]++
			return nil
		}},
		{"beyond a float buffer", "y: written beyond its end", func(b []kernel.Buffer) error {
			beyond(b[2].F)[0] = 0
			return nil
		}},
		{"beyond an integer buffer", "ids: written beyond its end", func(b []kernel.Buffer) error {
			beyond(b[1].I)[3]++
			return nil
		}},
		{"an error", "back end: no such kernel", func(b []kernel.Buffer) error { return errors.New("no such kernel") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(ks[0], s, Signed, 1, func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
				if err := kernel.Run(ks[0], s, bufs); err != nil {
					return err
				}
				return c.edit(bufs)
			}, nil)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// beyond returns the marks after a buffer, as a back end that runs over its end sees them.
func beyond[T any](s []T) []T { return unsafe.Slice(unsafe.SliceData(s), len(s)+marks)[len(s):] }

// TestIDs looks at the integers that kernels get. An unguarded table gets ids of all its rows and
// no others. Guarded labels get -1 as well.
func TestIDs(t *testing.T) {
	for _, c := range []struct {
		index  string
		lo, hi int32
	}{
		{"id", 0, 6},
		{"max(id, 0)", -1, 6},
		{"id / 7", -1, 40},
		{"id % 7", 0, 40},
		{"min(id + 1, 6)", -1, 40},
		{"id * 2", 0, 1},
	} {
		ks, err := kernel.Parse(`kernel ids gather
			in ids i32[N]
			in table f32[7]
			in other f32[2, 41]
			out y f32[N]
			scalar N
			grid n < N
			let id = ids[n]
			let e = table[` + c.index + `]
			set y[n] = e
			end`)
		if err != nil {
			t.Fatal(err)
		}
		var seen []int32
		for seed := range uint64(10) {
			err := Check(ks[0], kernel.Scalars{"N": 40}, Signed, seed, func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
				seen = append(seen, bufs[0].I...)
				return kernel.Run(ks[0], s, bufs)
			}, nil)
			if err != nil {
				t.Errorf("%s: %v", c.index, err)
			}
		}
		lo, hi := slices.Min(seen), slices.Max(seen)
		if lo != c.lo || hi != c.hi {
			t.Errorf("%s: ids from %d to %d, want from %d to %d", c.index, lo, hi, c.lo, c.hi)
		}
	}
}

// TestInputs looks at the values of Signed and Positive inputs.
func TestInputs(t *testing.T) {
	ks, err := kernel.Parse("kernel floats map\nin x f32[N]\nout y f32[]\nscalar N\nset y[] = 0.0\nend")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Signed, Positive} {
		count := map[string]int{}
		err := Check(ks[0], kernel.Scalars{"N": 4000}, kind, 5, func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
			for _, v := range bufs[0].F {
				switch bits := math.Float32bits(v); {
				case bits == 0:
					count["zero"]++
				case bits == 1<<31:
					count["-zero"]++
				case bits<<1 < 1<<24:
					count["subnormal"]++
				case v < 0:
					count["negative"]++
				case v > 0:
					count["positive"]++
				}
			}
			return kernel.Run(ks[0], s, bufs)
		}, nil)
		if err != nil {
			t.Error(err)
		}
		if kind == Positive && count["positive"] != 4000 {
			t.Errorf("%v: %v", kind, count)
		}
		for _, what := range []string{"zero", "-zero", "subnormal", "negative", "positive"} {
			if kind == Signed && count[what] < 30 {
				t.Errorf("%v: %v", kind, count)
			}
		}
	}
}

// TestLaunches wants every scalar bound.
func TestLaunches(t *testing.T) {
	for i, s := range Launches() {
		for _, name := range kernel.ScalarNames() {
			if _, ok := s[name]; !ok {
				t.Errorf("launch %d does not bind %s", i, name)
			}
		}
	}
}

// TestNotFor wants a launch after P rows skipped if an index is out of range only because of P,
// and the kernel has no cache.
func TestNotFor(t *testing.T) {
	behind := Launches()[2]
	for _, c := range []struct {
		extent, index string
		want          bool
	}{
		{"T", "P + t", true},
		{"T", "t + 1", false},
		{"C", "P + t + C", false},
		{"P + T", "P + t", false},
	} {
		ks, err := kernel.Parse("kernel rows map\nin x f32[" + c.extent + "]\nout y f32[T]\nscalar T, P" +
			map[bool]string{true: ", C"}[c.extent == "C"] + "\ngrid t < T\nset y[t] = x[" + c.index + "]\nend")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Interpret(ks[0], behind, Signed, 1, nil); errors.Is(err, ErrNotFor) != c.want {
			t.Errorf("%s of x[%s]: %v", c.index, c.extent, err)
		}
		if err := Check(ks[0], behind, Signed, 1, interpreter(ks...), nil); (err == nil) != (c.want || c.extent == "P + T") {
			t.Errorf("%s of x[%s]: %v", c.index, c.extent, err)
		}
	}
}
