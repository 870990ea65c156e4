package cli

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

// TestWriteError makes sure that each error of writing comes with advice, also on
// machines that cannot provoke it.
func TestWriteError(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC:        "the disk is full",
		syscall.EDQUOT:        "quota",
		syscall.EROFS:         "the disk is read-only",
		syscall.EACCES:        "choose a folder that you may write to with -o",
		syscall.ENOTDIR:       "a part of that path is a file",
		fs.ErrClosed:          "",
		syscall.Errno(0xffff): "",
	} {
		got := writeError("x", &fs.PathError{Op: "write", Path: "x/plan.go", Err: err}).Error()
		before, advice, _ := strings.Cut(got, "; ")
		if before != fmt.Sprintf("cannot write the program to x: write x/plan.go: %v", err) || !strings.Contains(advice, want) || (want == "") != (advice == "") {
			t.Errorf("%v: %q, want advice %q", err, got, want)
		}
	}
}

func TestSplitTrain(t *testing.T) {
	for _, c := range []struct {
		args string
		want trainLine
	}{
		{"x.arith", trainLine{file: "x.arith"}},
		{"x.arith --seed 3 -q", trainLine{file: "x.arith", flags: []string{"--seed", "3", "-q"}}},
		{"--set a=1 x.arith --steps 2 --set=b=2 --out r", trainLine{file: "x.arith", own: ownFlags{Set: []string{"a=1", "b=2"}}, flags: []string{"--steps", "2", "--out", "r"}}},
		{"x.arith --help", trainLine{file: "x.arith", flags: []string{"--help"}}},
		{"-h", trainLine{help: true}},
	} {
		got, err := splitTrain(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(trainLine{})); diff != "" {
			t.Errorf("%s:\n%s", c.args, diff)
		}
	}
}

// TestSummary holds the work of a step to the sum of its parts: equal whole
// micro-batches, a smaller one that is left, and the optimizer once.
func TestSummary(t *testing.T) {
	flops := func(batch, micro int) float64 {
		p, found, err := compiler.Compile(check.Options{Path: "../specs/tiny.arith", Read: os.ReadFile,
			Set: []string{fmt.Sprint("train.batch=", batch), fmt.Sprint("train.microbatch=", micro)}})
		if err != nil || found.HasErrors() {
			t.Fatal(err, found)
		}
		s, err := newSummary(p)
		if err != nil {
			t.Fatal(err)
		}
		params := 0
		for _, g := range s.Groups {
			params += g.Layers * g.PerLayer
		}
		if params != s.Params {
			t.Errorf("the groups have %d parameters of %d", params, s.Params)
		}
		return s.Step.FLOPs
	}
	one, two, four := flops(1, 1), flops(2, 2), flops(4, 2)
	optimizer := 2*two - four
	if optimizer <= 0 {
		t.Errorf("the optimizer takes %v FLOPs", optimizer)
	}
	if got, want := flops(5, 2), four+one-optimizer; got != want {
		t.Errorf("a batch of 5 by 2 takes %v FLOPs, its parts %v", got, want)
	}
}

// TestScaled writes sizes without exponents.
func TestScaled(t *testing.T) {
	for _, c := range []struct {
		x, base float64
		want    string
	}{{12, 1000, "12 FLOP"}, {1.26e9, 1000, "1.26 GFLOP"}, {1536, 1024, "1.5 KiFLOP"}, {1.4e18, 1000, "1.4 EFLOP"}, {3e22, 1000, "30000 EFLOP"},
		{1023, 1024, "1023 FLOP"}, {1020 << 10, 1024, "1020 KiFLOP"}, {1023.7 * 1024, 1024, "1 MiFLOP"}, {999.6, 1000, "1 kFLOP"}} {
		if got := scaled(c.x, c.base, "FLOP"); got != c.want {
			t.Errorf("%v: %s, want %s", c.x, got, c.want)
		}
	}
}

// BenchmarkBuild is mlc build --no-binary without writing: at most half a second.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		where := project{root: b.TempDir()}
		t := training{source: source{name: "../specs/successor.arith"}}
		if _, err := where.product(&app{ctx: b.Context(), err: b.Output()}, t); err != nil {
			b.Fatal(err)
		}
	}
}
