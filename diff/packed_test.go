package diff

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/compiler/scalars"
)

// TestPackedAttention compares sequences of several lengths, without padding, with each sequence
// alone, bit by bit: attention, and its gradients.
func TestPackedAttention(t *testing.T) {
	const heads, keyHeads, width = 4, 2, 8
	all, err := ptxtest.Attentions(heads, keyHeads, width, ptxtest.Each)
	if err != nil {
		t.Fatal(err)
	}
	packed := 0
	for _, a := range all {
		for _, p := range []*lower.Program{a.F32, a.BF16} {
			if p.Entry(model.PackedForward) == nil {
				continue
			}
			packed++
			for _, lengths := range []struct{ rows, keys []int }{
				{[]int{7, 1, 5}, []int{9, 4, 11}},
				{[]int{40, 3, 33}, []int{37, 40, 2}},
				{[]int{2, 3, 0, 4}, []int{3, 0, 4, 4}},
			} {
				x := &sequences{Attention: a.Attention, Program: p, rows: lengths.rows, keys: lengths.keys}
				x.machine = lower.NewMachine(p)
				if err := x.compare(heads, keyHeads, width); err != nil {
					t.Errorf("%s: rows %v, keys %v: %v", a.Name, x.rows, x.keys, err)
				}
			}
		}
	}
	if packed == 0 {
		t.Error("no attention has packed programs")
	}
}

// TestLengthsAreNotPacked finds no packed programs where a mask reads the number of keys.
func TestLengthsAreNotPacked(t *testing.T) {
	const text = "arith 2\nattention {\n  heads = 2\n  width = 8\n  mask = j <= i + J - I\n}\n"
	a, found, err := compiler.CompileAttention(check.Options{Read: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	if a.F32.Entry(model.PackedForward) != nil || a.F32.Entry(model.Forward) == nil {
		t.Error("a mask of the lengths has packed programs")
	}
}

// sequences are queries and keys of several lengths.
type sequences struct {
	*compiler.Attention
	*lower.Program
	rows, keys []int
	machine    *lower.Machine
	random     *rand.Rand
}

// tensors are the tensors of all sequences by name.
type tensors map[string]kernel.Buffer

// compare runs the packed programs, and the others for each sequence.
func (x *sequences) compare(heads, keyHeads, width int) error {
	x.random = rand.New(rand.NewPCG(1, 2))
	for i := range x.machine.Params {
		x.machine.Params[i] = x.random.Float32()
	}
	elem := x.Entry(model.Forward).Memory.Buffer("q").Type.Elem
	most, mostKeys := slices.Max(x.rows), slices.Max(x.keys)
	var starts, keyStarts []int32
	var total, totalKeys int
	for b := range x.rows {
		starts, keyStarts = append(starts, int32(total)), append(keyStarts, int32(totalKeys))
		total, totalKeys = total+x.rows[b], totalKeys+x.keys[b]
	}
	in := tensors{
		"q": x.draw(elem, total*heads*width), "k": x.draw(elem, totalKeys*keyHeads*width), "v": x.draw(elem, totalKeys*keyHeads*width),
		"dy": x.draw(elem, total*heads*width),
	}
	table := x.Entry(model.Forward).Memory.Buffer("table")
	lined := table != nil && table.Type.Rank() == 2
	switch {
	case lined:
		in["table"] = x.draw(expr.F32, heads*(most+mostKeys))
	case table != nil:
		in["table"] = x.draw(expr.F32, heads*most*mostKeys)
	}
	launch := kernel.Scalars{"B": float64(len(x.rows)), "T": float64(most), "C": float64(most), "S": float64(mostKeys), "P": 0, "R": float64(total), "RK": float64(totalKeys)}
	locate := map[string][]int32{kernel.ExampleStart: starts, kernel.KeyStart: keyStarts, kernel.ExampleLength: words(x.rows), kernel.KeyLength: words(x.keys)}
	got, err := x.run(model.PackedForward, model.PackedBackward, launch, in, locate)
	if err != nil {
		return err
	}
	sum := make([]float32, heads*most*mostKeys) // of the tables' gradients
	for b, n := range x.rows {
		m := x.keys[b]
		cut := func(of kernel.Buffer, first, rows, each int) kernel.Buffer { return part(of, first*each, rows*each) }
		mine := tensors{}
		for _, name := range []string{"q", "dy"} {
			mine[name] = cut(in[name], int(starts[b]), n, heads*width)
		}
		for _, name := range []string{"k", "v"} {
			mine[name] = cut(in[name], int(keyStarts[b]), m, keyHeads*width)
		}
		if table != nil {
			var own []float32
			for h := range heads {
				if lined { // element j - i + I
					own = append(own, in["table"].F[h*(most+mostKeys)+most-n:][:n+m]...)
					continue
				}
				for i := range n {
					own = append(own, in["table"].F[(h*most+i)*mostKeys:][:m]...)
				}
			}
			mine["table"] = kernel.Buffer{F: own}
		}
		want := tensors{"y": kernel.NewBuffer(elem, n*heads*width), "dq": kernel.NewBuffer(elem, n*heads*width),
			"dk": kernel.NewBuffer(elem, m*keyHeads*width), "dv": kernel.NewBuffer(elem, m*keyHeads*width), "dtable": kernel.NewBuffer(expr.F32, heads*max(n*m, n+m))}
		if n > 0 && m > 0 { // else all is 0
			alone := kernel.Scalars{"B": 1, "T": float64(n), "C": float64(n), "S": float64(m), "P": 0}
			if want, err = x.run(model.Forward, model.Backward, alone, mine, nil); err != nil {
				return err
			}
		}
		for name, of := range map[string]kernel.Buffer{"y": cut(got["y"], int(starts[b]), n, heads*width), "dq": cut(got["dq"], int(starts[b]), n, heads*width),
			"dk": cut(got["dk"], int(keyStarts[b]), m, keyHeads*width), "dv": cut(got["dv"], int(keyStarts[b]), m, keyHeads*width)} {
			if err := same(of, part(want[name], 0, max(len(of.F), len(of.H)))); err != nil {
				return fmt.Errorf("sequence %d: %s: %w", b, name, err)
			}
		}
		if x.Entry(model.Backward).Memory.Buffer("dtable") == nil {
			continue
		}
		for h := range heads {
			if !lined {
				for i := range n * m {
					sum[(h*most+i/m)*mostKeys+i%m] += want["dtable"].F[h*n*m+i]
				}
				continue
			}
			line := make([]float32, most+mostKeys)
			copy(line[most-n:], want["dtable"].F[h*(n+m):][:n+m])
			if err := same(part(got["dtable"], (b*heads+h)*(most+mostKeys), most+mostKeys), kernel.Buffer{F: line}); err != nil {
				return fmt.Errorf("sequence %d: dtable of head %d: %w", b, h, err)
			}
		}
	}
	if table != nil && !lined && x.Entry(model.Backward).Memory.Buffer("dtable") != nil {
		return same(part(got["dtable"], 0, len(sum)), kernel.Buffer{F: sum})
	}
	return nil
}

// run runs attention and its gradient, and returns their results.
func (x *sequences) run(forward, backward string, s kernel.Scalars, in tensors, locate map[string][]int32) (tensors, error) {
	out := tensors{}
	for _, name := range []string{forward, backward} {
		e := x.Entry(name)
		s := maps.Clone(s)
		for _, b := range e.Memory.Buffers {
			if b.Heads == 0 {
				continue
			}
			row := b.Type.Shape[2].N / b.Unit()
			rows := s["T"]
			if b.Type.Shape[1].Sym == "S" {
				rows = s["S"]
			}
			for k, distance := range scalars.Distances(b.Name) {
				s[distance] = []float64{rows * float64(row), float64(row), float64(row / b.Heads)}[k]
			}
		}
		x.machine.Prepare(e, s)
		for _, b := range e.Memory.Buffers {
			to := x.buffer(e, b.Name)
			for _, from := range []kernel.Buffer{in[b.Name], out[b.Name]} {
				copy(to.F, from.F)
				copy(to.H, from.H)
			}
			copy(to.I, locate[b.Name])
		}
		if err := x.machine.Run(e, s); err != nil {
			return nil, err
		}
		for _, b := range e.Memory.Buffers {
			out[b.Name] = x.buffer(e, b.Name)
		}
	}
	return out, nil
}

// buffer returns the memory of a buffer.
func (x *sequences) buffer(e *lower.Entry, name string) kernel.Buffer {
	return x.machine.Buffer(e, lower.Arg{Ref: plan.At(name, 0)}, 0, nil)
}

func (x *sequences) draw(t expr.Type, n int) kernel.Buffer {
	b := kernel.NewBuffer(t, n)
	for i := range b.F {
		b.F[i] = float32(x.random.NormFloat64())
	}
	for i := range b.H {
		b.H[i] = uint16(math.Float32bits(float32(x.random.NormFloat64())) >> 16)
	}
	return b
}

// part returns n elements of a buffer.
func part(b kernel.Buffer, first, n int) kernel.Buffer {
	if b.F != nil {
		return kernel.Buffer{F: b.F[first:][:n]}
	}
	return kernel.Buffer{H: b.H[first:][:n]}
}

// same says where two buffers have other bits.
func same(got, want kernel.Buffer) error {
	for i, x := range got.F {
		if math.Float32bits(x) != math.Float32bits(want.F[i]) {
			return fmt.Errorf("element %d is %v, alone %v", i, x, want.F[i])
		}
	}
	for i, x := range got.H {
		if x != want.H[i] {
			return fmt.Errorf("element %d is %#x, alone %#x", i, x, want.H[i])
		}
	}
	return nil
}

func words(of []int) []int32 {
	var all []int32
	for _, n := range of {
		all = append(all, int32(n))
	}
	return all
}
