package probe

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

func open(t *testing.T) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestProbes runs each probe on the simulator, which checks every access. Results are right, all
// memory is freed, and a simulator reports no speed. It has no wgmma.
func TestProbes(t *testing.T) {
	for _, p := range Probes() {
		d := open(t)
		before, _, _ := d.MemInfo()
		figures, err := Run(p.Name, d, true)
		if absent := p.Name == "wgmma-bf16"; errors.Is(err, ErrAbsent) != absent || !absent && (err != nil || len(figures) == 0) {
			t.Errorf("%s: %v, %v", p.Name, figures, err)
		}
		for _, f := range figures {
			if f.Value != 0 || f.Spread != 0 || f.Name == "" || f.Unit == "" {
				t.Errorf("%s: %+v", p.Name, f)
			}
		}
		if after, _, _ := d.MemInfo(); after != before {
			t.Errorf("%s keeps %d bytes", p.Name, before-after)
		}
	}
	if _, err := Run("nothing", open(t), true); err == nil {
		t.Error("an unknown probe runs")
	}
}

// faulty is a device with a fault.
type faulty struct {
	cuda.Driver
	load func(ptx string) string
	host func(dst []byte)
}

func (f faulty) Load(ptx string) (cuda.Module, error) { return f.Driver.Load(f.load(ptx)) }

func (f faulty) ToHost(dst []byte, src cuda.Ptr) error {
	err := errors.Join(f.Driver.ToHost(dst, src), f.Synchronize())
	f.host(dst)
	return err
}

// TestWrong checks that each probe notices wrong results.
func TestWrong(t *testing.T) {
	same, nothing := func(ptx string) string { return ptx }, func([]byte) {}
	instead := func(old, text string) func(string) string {
		return func(ptx string) string { return strings.Replace(ptx, old, text, 1) }
	}
	for _, c := range []struct {
		probe, want string
		faulty      faulty
	}{
		{"mma-bf16", "mma.sync is wrong", faulty{load: instead("{%a0, %a1, %a2, %a3}", "{%a0, %a2, %a1, %a3}"), host: nothing}},
		{"mma-tf32", "mma.sync is wrong", faulty{load: instead("{%b0, %b1}", "{%b1, %b0}"), host: nothing}},
		{"mma-tf32", "element 0, 0 of warp 0 is NaN", faulty{load: same, host: func(dst []byte) { binary.LittleEndian.PutUint32(dst, math.MaxUint32) }}},
		{"copies", "byte 70 of 65536 is", faulty{load: same, host: func(dst []byte) { dst[70]++ }}},
		{"latency", "launches are wrong", faulty{load: instead("add.u32 %n, %n, 1", "add.u32 %n, %n, 2"), host: nothing}},
	} {
		c.faulty.Driver = open(t)
		if figures, err := Run(c.probe, c.faulty, true); err == nil || !strings.Contains(err.Error(), c.want) || figures != nil {
			t.Errorf("%s: %v, %v, want %q", c.probe, figures, err, c.want)
		}
	}
}

// slow is a device with a fixed time for everything.
type slow struct{ cuda.Driver }

type fixed struct{ cuda.Event }

func (s slow) NewEvent() (cuda.Event, error) {
	e, err := s.Driver.NewEvent()
	return fixed{e}, err
}

func (f fixed) Since(start cuda.Event) (time.Duration, error) { return 2 * time.Millisecond, nil }

// TestFigures checks that work is divided by time.
func TestFigures(t *testing.T) {
	b := &bench{Driver: slow{open(t)}}
	b.start, _ = b.NewEvent()
	b.end, _ = b.NewEvent()
	calls := 0
	call := func() error {
		calls++
		return nil
	}
	if err := errors.Join(b.rate("x", "GB/s", 3, b.device, call), b.latency("y", 4, b.device, call)); err != nil {
		t.Fatal(err)
	}
	want := []Figure{{Name: "x", Value: 1500, Unit: "GB/s"}, {Name: "y", Value: 500, Unit: "µs"}}
	if len(b.figures) != 2 || b.figures[0] != want[0] || b.figures[1] != want[1] || calls != 2*(rounds+1) {
		t.Errorf("%+v after %d calls, want %+v", b.figures, calls, want)
	}
}

// TestAssembler checks that NVIDIA's assembler accepts the probes.
func TestAssembler(t *testing.T) {
	full.Needs(t, full.Ptxas)
	for name, text := range map[string]string{"bf16": bf16.source(), "tf32": tf32.source(), "tick": tick} {
		if _, err := ptxas.Assemble([]byte(text), "sm_80"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
