package flag

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// TestNumbers reads numbers, and describes other text in words.
func TestNumbers(t *testing.T) {
	var line struct {
		Steps    int
		Examples int64
		Seed     *uint64
		FLOP     float64 `name:"flop"`
		Time     time.Duration
		Digits   []int
	}
	parser, err := kong.New(&line, Numbers()...)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--steps abc":                          `--steps: "abc": want a whole number`,
		"--steps 1e3":                          `--steps: "1e3": want a whole number`,
		"--examples 9223372036854775808":       `--examples: "9223372036854775808": want a whole number`,
		"--seed=-1":                            `--seed: "-1": want a whole number from 0 on`,
		"--flop x":                             `--flop: "x": want a number, such as 8e18`,
		"--time 5":                             `--time: "5": want a time, such as 90s, 5m or 2h`,
		"--time 99999999999h":                  `--time: "99999999999h": want a time`,
		"--digits 6,x":                         `--digits: "x": want a whole number`,
		"--steps " + strings.Repeat("x", 1000): `--steps: "` + strings.Repeat("x", 60) + `": want a whole number`,
	} {
		if _, err := parser.Parse(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", args, err, want)
		}
	}
	if _, err := parser.Parse(strings.Fields("--steps 7 --examples=-8 --seed 18446744073709551615 --flop 1.5e18 --time 1h30m --digits 6,10 --digits 20")); err != nil {
		t.Fatal(err)
	}
	if line.Steps != 7 || line.Examples != -8 || *line.Seed != 1<<64-1 || line.FLOP != 1.5e18 || line.Time != 90*time.Minute || len(line.Digits) != 3 || line.Digits[2] != 20 {
		t.Errorf("%+v", line)
	}
}

// TestWords quotes exactly the words that shells would take apart.
func TestWords(t *testing.T) {
	for _, c := range []struct{ system, word, want string }{
		{"linux", "runs/x", "runs/x"},
		{"linux", "my runs/x", "'my runs/x'"},
		{"linux", "it's", `'it'\''s'`},
		{"linux", `a\b`, `'a\b'`},
		{"darwin", "", "''"},
		{"windows", `C:\runs\x-1`, `C:\runs\x-1`},
		{"windows", `C:\my runs\x`, `"C:\my runs\x"`},
		{"windows", "", `""`},
		{"windows", "train.seed=1..3", "train.seed=1..3"},
		{"windows", "eval.grid=[1..2]", `"eval.grid=[1..2]"`},
	} {
		if got := wordFor(c.system, c.word); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.system, c.word, got, c.want)
		}
	}
}
