package look

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/diff"
	"github.com/arithlang/mlc/runtime/cpu"
)

// TestDiffReports compares with a fake device on which one kernel differs in a bit, one
// differs widely, and one does not run.
func TestDiffReports(t *testing.T) {
	p, found, err := compiler.Compile(check.Options{Path: "../../specs/tiny.arith", Read: os.ReadFile})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	cases, err := diff.Cases(p.Lowered)
	if err != nil {
		t.Fatal(err)
	}
	var ks []*kernel.Kernel
	for _, c := range cases {
		if c.Kernel.Family() == "matmul" {
			ks = append(ks, c.Kernel)
		}
	}
	run := func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
		for _, k := range ks {
			if k.Name == name {
				if err := kernel.Run(k, s, bufs); err != nil {
					return err
				}
			}
		}
		out := bufs[len(bufs)-1].F
		switch name {
		case ks[0].Name:
			out[0] *= 1 + 0x1p-22
		case ks[1].Name:
			out[5]++
		case ks[2].Name:
			return errors.New("no such device")
		}
		return nil
	}
	for _, c := range []struct {
		exact bool
		out   []*kernel.Kernel
	}{{false, ks[1:3]}, {true, ks[:3]}} {
		var text bytes.Buffer
		cmd := Differences{Lengths: []int{2, 3}, Exact: c.exact}
		for _, k := range ks[:4] {
			cmd.Kernel = append(cmd.Kernel, k.Name)
		}
		chosen, err := cmd.chosen(append([]*diff.Case{}, cases...))
		if err != nil || len(chosen) != 4 {
			t.Fatal(err, len(chosen))
		}
		err = cmd.print(&shell.Shell{Context: t.Context(), Out: &text}, chosen, run)
		var names []string
		for _, k := range c.out {
			names = append(names, k.Name)
		}
		if !errors.Is(err, shell.ErrShown) || !strings.HasSuffix(text.String(), " of 4 kernels differ too much: "+strings.Join(names, ", ")+"\n") {
			t.Errorf("exact %v: %v\n%s", c.exact, err, text.String())
		}
		for _, want := range []string{"1.0e+00", "2 of ", "differ", "failed at length 2: " + ks[2].Name + ": no such device"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%q is missing in\n%s", want, text.String())
			}
		}
	}
}

// TestLengths accepts lengths from 1 to 4096.
func TestLengths(t *testing.T) {
	for length, ok := range map[int]bool{-1: false, 0: false, 1: true, 4096: true, 4097: false} {
		cmd := Differences{Lengths: []int{7, length}}
		if err := cmd.Check(); (err == nil) != ok || err != nil && !errors.As(err, new(shell.UsageError)) {
			t.Errorf("length %d: %v", length, err)
		}
	}
	if got := sumsOf(cpu.AVX512BF16); got == nil || !got.Flushed {
		t.Errorf("VDPBF16PS adds as %+v", got)
	}
	if got := sumsOf(cpu.AVX512); got != nil {
		t.Errorf("AVX-512 without it adds as %+v", got)
	}
}

// TestCompareKernels leaves out the kernels of earlier trainings.
func TestCompareKernels(t *testing.T) {
	training := project.Training{Source: project.Source{Base: "../..", Name: "cli/testdata/least.arith"}, Point: check.Point{Name: "seed=1"}}
	var out, said bytes.Buffer
	sh := &shell.Shell{Context: t.Context(), Out: &out, Err: &said}
	cmd := Differences{Device: "ref", Lengths: []int{2}, Kernel: []string{"argmax"}}
	done := map[string]bool{}
	for _, want := range []string{"1", "0"} {
		out.Reset()
		said.Reset()
		if err := cmd.CompareKernels(sh, nil, project.Folders{}, training, done); err != nil {
			t.Fatal(err)
		}
		if (out.Len() > 0) != (want == "1") || said.String() != "seed=1: "+want+" new kernels\n" {
			t.Errorf("%s new kernels: %q, %q", want, out.String(), said.String())
		}
	}
	cmd.Kernel = []string{"argmix"}
	if err := cmd.CompareKernels(sh, nil, project.Folders{}, training, done); err == nil || !strings.HasPrefix(err.Error(), `the program has no kernel "argmix": did you mean "argmax"?`) {
		t.Error(err)
	}
}
