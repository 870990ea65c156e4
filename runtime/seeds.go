package runtime

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/record"
)

// mostSeeds is how many seeds a range may have.
const mostSeeds = 4096

// seeds is the flag --init-seed: a seed, or a range of them.
type seeds struct {
	First, Last uint64
	Set         bool
}

// Decode reads the flag.
func (s *seeds) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("seed", &text); err != nil {
		return err
	}
	return s.UnmarshalText([]byte(text))
}

const wantSeeds = "a seed, such as 3, or a range of them, such as 0..15"

// UnmarshalText reads N or A..B.
func (s *seeds) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "..")
	if !isRange {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 64)
	b, err2 := strconv.ParseUint(last, 10, 64)
	switch {
	case err != nil || err2 != nil:
		return fmt.Errorf("%.60q: want %s", text, wantSeeds)
	case a > b:
		return fmt.Errorf("%.60q: a range goes from the smaller seed to the larger: want %d..%d", text, b, a)
	case b-a >= mostSeeds:
		return fmt.Errorf("%.60q: want a range of %d seeds at most", text, mostSeeds)
	}
	*s = seeds{a, b, true}
	return nil
}

// String is what the flag says.
func (s seeds) String() string {
	if s.several() {
		return fmt.Sprintf("%d..%d", s.First, s.Last)
	}
	return strconv.FormatUint(s.First, 10)
}

// several reports whether there is more than one.
func (s seeds) several() bool { return s.Last > s.First }

// own is the seed of initial weights that the flag gives a run instead of the spec's.
func (s seeds) own(spec *uint64) *uint64 {
	if !s.Set {
		return spec
	}
	return new(s.First)
}

// are reports whether a run has such initial weights; without the flag any will do.
func (s seeds) are(of *record.Record) bool {
	return !s.Set || config.Initial(of.Seed, of.InitSeed) == s.First
}

// checkInitSeed finds what is wrong with --init-seed beside other flags.
func (c *trainCmd) checkInitSeed(a app) error {
	s := c.InitSeed
	switch {
	case s.Set && c.Init != "":
		return usagef("--init-seed %s: the run begins with other weights, those of --init: leave one of the two out", s)
	case s.several() && a.whole != nil:
		return usagef("--init-seed %s: this spec has stages, whose runs begin one by one: give a single seed", s)
	case s.several() && a.ranks.several():
		return usagef("--init-seed %s: several ranks train one model: give a single seed, or start one rank, with --ranks none", s)
	}
	return nil
}
