package train

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flag"
)

// parsed decodes a command line into a struct.
func parsed[T any](t *testing.T, args ...string) T {
	t.Helper()
	var of T
	parser, err := kong.New(&of, flag.Numbers()...)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return of
}

// lineOf decodes a command line of the verb train.
func lineOf(t *testing.T, args string) Line { return parsed[Line](t, strings.Fields(args)...) }

// flagsGiven decodes the flags of a trainer.
func flagsGiven(t *testing.T, args string) Flags { return parsed[Flags](t, strings.Fields(args)...) }

// TestWords passes exactly mlc's own flags to a trainer.
func TestWords(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "",
		"--seed 0 --init-seed=0":                "--seed 0 --init-seed 0",
		"--init-seed 3..7":                      "--init-seed 3..7",
		"--resume=auto --out x":                 "--out x --resume=auto",
		"--go-on --resume --until a":            "--resume --until a --go-on",
		"--resume --resume=false --device auto": "",
		"--flop 1.5e18 --save 0s":               "--flop 1.5e+18 --save 0s",
		"--time 1h30m":                          "--time 1h30m0s",
		"--pause 0.1 --steps 7":                 "--steps 7 --pause 0.1",
		"--threads=-1":                          "--threads=-1",
		"--map a=b,c --map d= --init f --device sim": "--device sim --map a=b,c --map d= --init f",
	} {
		f := flagsGiven(t, args)
		got := words(&f)
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%s: %s, want %s", args, line, want)
		}
		if again := parsed[Flags](t, got...); cmp.Diff(f, again) != "" {
			t.Errorf("%s: read again it is\n%s", args, cmp.Diff(f, again))
		}
	}
	e := parsed[Eval](t, "--grid", "1..20", "--diagonal", "5", "--digits", "6,10", "--digits", "20", "--metric", "first_token", "runs/x")
	if got, want := strings.Join(words(&e), " "), "--grid 1..20,1..20 --diagonal 5..5 --digits 6,10,20 --metric first_token"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLine refuses flags that exclude each other.
func TestLine(t *testing.T) {
	for args, want := range map[string]string{
		"x.arith --jobs 2 --launcher slurm":      "",
		"x.arith --jobs=2 --launcher print":      "as in parallel -j 2",
		"x.arith --sbatch=-tx --launcher=print":  "--sbatch is for --launcher slurm",
		"x.arith --collect --launcher=print":     "--collect trains nothing",
		"x.arith --launcher slurm --sbatch=-t10": "",
		"x.arith --collect":                      "",
		"x.arith --collect --jobs 1":             "--collect trains nothing",
		"x.arith --launcher print --jobs 1":      "as in parallel -j 1",
		"x.arith --dry-run --jobs 1":             "",
		"x.arith --dry-run --collect":            "--dry-run measures on this machine",
		"x.arith --dry-run --launcher print":     "--dry-run measures on this machine",
		"":                                       "which spec?",
		"--resume":                               "which spec?",
		"--resume --out x":                       "",
		"--resume=auto --out x --jobs 2":         "which spec?",
		"--resume --out x --set a=b":             "which spec?",
	} {
		l := lineOf(t, args)
		err := l.check()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !isUsage(err)) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func isUsage(err error) bool { _, is := err.(shell.UsageError); return is }
