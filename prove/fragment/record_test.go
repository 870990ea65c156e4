package fragment

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
)

// another is a device that gets other PTX than it is given.
type another struct {
	cuda.Driver
	load func(ptx string) (string, error)
}

func (a another) Load(ptx string) (cuda.Module, error) {
	changed, err := a.load(ptx)
	if err != nil {
		return nil, err
	}
	return a.Driver.Load(changed)
}

// differences returns the differences that Compare finds.
func differences(r *Recording) ([]Difference, error) {
	report, err := Compare(r)
	if err != nil {
		return nil, err
	}
	return report.Differences, nil
}

// TestReplay wants no difference from a recording of the simulator.
func TestReplay(t *testing.T) {
	for _, arch := range []int{80, 86, 90} {
		r := record(t, arch, Options{Cases: 256})
		report, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range report.Differences {
			t.Error(d)
		}
		for _, row := range report.Rows {
			if row.Claim.Simulated() && row.Results == 0 {
				t.Errorf("sm_%d: nothing was compared of %s", arch, row.Probe)
			}
		}
		if len(report.Rows) != len(r.Probes) || len(r.Probes) < 300 {
			t.Errorf("sm_%d: %d rows, %d probes", arch, len(report.Rows), len(r.Probes))
		}
	}
}

// TestFlippedBit changes one bit of a recording, in one probe after another.
func TestFlippedBit(t *testing.T) {
	r := record(t, 90, Options{Cases: 64, Only: []string{"fma.rn.f32", "cvt.rn.bf16x2.f32", "mma.m16n8k16.row.col.f32.bf16.bf16.f32", "ldmatrix.m8n8.x4.trans.shared.b16", "prmt.b32"}})
	for _, one := range r.Probes {
		_, size := layout(one.Out, one.Threads)
		number := one.Cases - 1
		at := number*size + size/2 // in some thread's result
		one.Outputs[at] ^= 1 << 3
		found, err := differences(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].Probe != one.Name || found[0].Case != number || len(found[0].Inputs) == 0 || found[0].Card == found[0].Simulator {
			t.Errorf("%s, case %d has a wrong bit: %v", one.Name, number, found)
		}
		one.Outputs[at] ^= 1 << 3
	}
	mma := r.Probes[slices.IndexFunc(r.Probes, func(p *Recorded) bool { return p.Group == "mma" })]
	mma.Outputs[0] ^= 1
	if found, _ := differences(r); len(found) != 1 || found[0].ULPs != 1 || !strings.Contains(found[0].String(), "row 0 of A: ") || !strings.Contains(found[0].String(), "column 0 of B: ") {
		t.Errorf("the first element of a product is one ulp off: %v", found)
	}
}

// TestWrongCard records on a device whose fma truncates instead of rounding. Exactly the cases in
// which that makes a difference must be named.
func TestWrongCard(t *testing.T) {
	card := another{open(t, 80), func(ptx string) (string, error) { return strings.ReplaceAll(ptx, "fma.rn.f32", "fma.rz.f32"), nil }}
	r, err := Record(context.Background(), card, Options{Cases: 512, Only: []string{"fma.rn.f32", "fma.rz.f32", "ex2.approx.f32"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Probes { // the file has the intended instruction
		one.PTX = strings.ReplaceAll(one.PTX, "fma.rz.f32", one.Name)
	}
	found, err := differences(r)
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	p, _ := choose([]string{"fma.rn.f32"})
	for number := range 512 {
		in := read(r.Inputs[p[0].inputs(512)][12*number:], p[0].In, 1)
		operands := []uint64{in[0][0], in[1][0], in[2][0]}
		if arithmetic("fma.rn.f32", p[0].In[0], slices.Clone(operands)) != arithmetic("fma.rz.f32", p[0].In[0], operands) {
			want = append(want, number)
		}
	}
	var got []int
	for _, d := range found {
		if d.Probe != "fma.rn.f32" || d.ULPs != 1 && !strings.Contains(d.Simulator, "Inf") {
			t.Error(d)
		}
		got = append(got, d.Case)
	}
	if len(want) < 50 || !slices.Equal(got, want) {
		t.Errorf("%d cases are named, want %d", len(got), len(want))
	}
}

// TestBounds perturbs the results of an approximate instruction within its bound and beyond.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		probe string
		ulps  int
		wrong bool
	}{
		{"ex2.approx.f32", 2, false}, {"ex2.approx.f32", 3, true}, {"rcp.approx.f32", 1, false}, {"rcp.approx.f32", 2, true},
		{"tanh.approx.f32", 1 << 11, false}, {"tanh.approx.f32", 1 << 13, true}, {"div.full.f32", 2, false}, {"div.full.f32", 3, true},
	} {
		r := record(t, 80, Options{Cases: 256, Only: []string{c.probe}})
		one := r.Probes[0]
		shaken := 0
		for i := range one.Cases {
			f := one.Out[0]
			in, out := read(r.Inputs[one.Inputs][i*one.inputBytes()/one.Cases:], one.In, 1), read(one.Outputs[4*i:], one.Out, 1)
			v := f.value(out[0][0])
			if a := math.Abs(v); a < 1e-30 || a > 1e30 || math.IsNaN(a) || f.value(in[0][0]) == v || (out[0][0]+uint64(c.ulps))>>f.frac != out[0][0]>>f.frac {
				continue
			}
			shaken++
			write(one.Outputs[4*i:], one.Out, 1, [][]uint64{{out[0][0] + uint64(c.ulps)}})
		}
		report, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(report.Differences); shaken < 30 || (n != 0) != c.wrong || c.wrong && n != shaken {
			t.Errorf("%s, %d results shaken by %d ulp: %d differences", c.probe, shaken, c.ulps, n)
		}
		if report.Rows[0].ULPs != uint64(c.ulps) {
			t.Errorf("%s: %d ulp are reported, want %d", c.probe, report.Rows[0].ULPs, c.ulps)
		}
	}
}

// TestSpecialOfBounds checks that NaN, infinities and the sign of a zero matter within bounds,
// too.
func TestSpecialOfBounds(t *testing.T) {
	f, _ := typeOf("f32")
	allowed := tolerance{ulps: 2, abs: 1}
	for _, c := range []struct {
		got, rounded uint64
		ok           bool
	}{
		{0x7fffffff, 0x7fc00000, true}, {0x7fffffff, 0x3f800000, false}, {0x3f800000, 0x7fffffff, false}, {0x7f7fffff, 0x7f800000, true},
		{0xff800000, 0x7f800000, false}, {0x80000000, 0, false}, {0, 0x80000000, false}, {1, 0, true}, {0x7f000000, 0x7f800000, false},
	} {
		if got := allowed.allows(f, c.got, c.rounded); got != c.ok {
			t.Errorf("%#x for %#x: %v", c.got, c.rounded, got)
		}
	}
}

// TestFailingProbe checks that the other probes are recorded if one cannot be loaded, and that
// recording ends if the device is lost.
func TestFailingProbe(t *testing.T) {
	only := []string{"neg.f32", "abs.f32", "popc.b32"}
	failing := func(err error) (*Recording, error) {
		card := another{open(t, 80), func(ptx string) (string, error) {
			if strings.Contains(ptx, "abs.f32") {
				return "", err
			}
			return ptx, nil
		}}
		return Record(context.Background(), card, Options{Cases: 32, Only: only})
	}
	r, err := failing(&cuda.Error{Code: cuda.InvalidPTX, Name: "CUDA_ERROR_INVALID_PTX", Doing: "load PTX"})
	if err != nil || len(r.Probes) != 3 || r.Probes[0].Error != "" || r.Probes[2].Error != "" || !strings.Contains(r.Probes[1].Error, "INVALID_PTX") || r.Probes[1].Outputs != nil {
		t.Fatalf("%+v, %v", r.Probes, err)
	}
	if found, err := differences(r); err != nil || len(found) != 1 || found[0].Probe != "abs.f32" || !strings.Contains(found[0].Problem, "INVALID_PTX") {
		t.Errorf("%v, %v", found, err)
	}
	lost := &cuda.Error{Code: cuda.LaunchFailed, Name: "CUDA_ERROR_LAUNCH_FAILED", Doing: "load PTX"}
	r, err = failing(lost)
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "probe abs.f32") || len(r.Probes) != 2 {
		t.Errorf("%d probes, %v", len(r.Probes), err)
	}
}

// TestBadKernel checks the error if the simulator cannot run a recorded kernel.
func TestBadKernel(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"neg.f32", "nag.f32", "nag.f32"},
		{"\tret;", "again: bra again;\n\tret;", "endless"},
		{"ld.global.b32 %a0, [%in32+0]", "ld.global.b32 %a0, [%in32+4096]", "bounds"},
	} {
		r := record(t, 80, Options{Cases: 32, Only: []string{"neg.f32"}})
		r.Probes[0].PTX = strings.ReplaceAll(r.Probes[0].PTX, c.from, c.to)
		found, err := differences(r)
		if err != nil || len(found) != 1 || found[0].Case != -1 || !strings.Contains(found[0].Problem, c.want) {
			t.Errorf("%s: %v, %v", c.to, found, err)
		}
	}
}

// TestOptions checks names, and that work ends with its context.
func TestOptions(t *testing.T) {
	d := open(t, 80)
	if _, err := Record(context.Background(), d, Options{Only: []string{"flaot"}}); err == nil || !strings.Contains(err.Error(), `"flaot"`) || !strings.Contains(err.Error(), "float") {
		t.Error(err)
	}
	if _, err := Record(context.Background(), d, Options{Cases: -1}); err == nil {
		t.Error("-1 cases are taken")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Record(ctx, d, Options{}); !errors.Is(err, context.Canceled) || len(r.Probes) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// TestGroups checks that groups cover all probes, and that names are unique. Probes that may lose
// the device are last, each in its own group: boxes, and after them the only probe that is to be
// refused.
func TestGroups(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Probes() {
		if names[p.Name] || slices.Contains(Groups(), p.Name) {
			t.Errorf("%s is there twice", p.Name)
		}
		names[p.Name] = true
		if p.Doc == "" || !slices.Contains([]Claim{Exact, Bounded, Modelled, Refused, Unknown}, p.Claim) {
			t.Errorf("%s: %q, %q", p.Name, p.Doc, p.Claim)
		}
	}
	n := 0
	for i, g := range Groups() {
		chosen, err := choose([]string{g})
		if err != nil {
			t.Fatal(err)
		}
		n += len(chosen)
		left := len(Groups()) - i
		for _, p := range chosen {
			if (p.box != nil) != (left <= len(boxes)+1) || p.box != nil && len(chosen) != 1 || (p.Claim == Refused) != (left == 1) {
				t.Errorf("group %s, %d from the end, has %d probes, one of them %s", g, left, len(chosen), p.Name)
			}
		}
	}
	if n != len(names) {
		t.Errorf("groups have %d probes of %d", n, len(names))
	}
}

// TestTargets checks that targets with a letter run only on their architecture, and that the
// driver knows the version of PTX.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target, version      string
		major, minor, driver int
		runs                 bool
	}{
		{"sm_80", "7.8", 8, 0, 12040, true}, {"sm_80", "7.8", 9, 0, 12040, true}, {"sm_80", "7.8", 7, 5, 12040, false}, {"sm_86", "7.8", 8, 0, 12040, false},
		{"sm_90", "8.0", 9, 0, 12040, true}, {"sm_90", "8.0", 12, 0, 12080, true},
		{"sm_90a", "8.0", 9, 0, 12040, true}, {"sm_90a", "8.0", 10, 0, 12080, false}, {"sm_90a", "8.0", 8, 9, 12040, false},
		{"sm_80", "7.8", 8, 0, 11080, true}, {"sm_80", "7.8", 8, 0, 11070, false}, {"sm_80", "8.1", 8, 0, 12000, false}, {"sm_80", "8.1", 8, 0, 13000, true},
	} {
		p := Probe{Target: c.target, Version: c.version}
		if got := p.runsOn(cuda.Info{Major: c.major, Minor: c.minor, Version: c.driver}); got != c.runs {
			t.Errorf("%s, PTX %s on %d.%d with driver %d: %v", c.target, c.version, c.major, c.minor, c.driver, got)
		}
	}
}
