package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// MostSeeds is the most seeds of a range.
const MostSeeds = 4096

// Seeds is the flag --init-seed: a seed, or a range of seeds.
type Seeds struct {
	First, Last uint64
	Set         bool
}

// Decode reads the flag.
func (s *Seeds) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("seed", &text); err != nil {
		return err
	}
	return s.UnmarshalText([]byte(text))
}

const wantSeeds = "a seed, such as 3, or a range of them, such as 0..15"

// UnmarshalText parses N or A..B.
func (s *Seeds) UnmarshalText(text []byte) error {
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
	case b-a >= MostSeeds:
		return fmt.Errorf("%.60q: want a range of %d seeds at most", text, MostSeeds)
	}
	*s = Seeds{a, b, true}
	return nil
}

// String is the value of the flag.
func (s Seeds) String() string {
	if s.Several() {
		return fmt.Sprintf("%d..%d", s.First, s.Last)
	}
	return strconv.FormatUint(s.First, 10)
}

// Several reports whether there is more than one seed.
func (s Seeds) Several() bool { return s.Last > s.First }

// Own returns the seed of a run's initial weights: the flag's, or else the spec's.
func (s Seeds) Own(spec *uint64) *uint64 {
	if !s.Set {
		return spec
	}
	return new(s.First)
}

// Resumption is the flag --resume: whether a run begins or continues.
type Resumption uint8

const (
	Begins  Resumption = iota // a new run, in a directory that has none
	Resumes                   // an existing run
	Either                    // --resume=auto: the run, if it exists, else a new one
)

// Decode reads the flag, which needs no value.
func (r *Resumption) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		*r = Resumes
		return nil
	}
	switch text := fmt.Sprint(ctx.Scan.Pop().Value); text {
	case "auto":
		*r = Either
	case "true":
		*r = Resumes
	case "false":
		*r = Begins
	default:
		return fmt.Errorf("%.60q: want --resume, or --resume=auto", text)
	}
	return nil
}

// IsBool says that the flag needs no value.
func (r *Resumption) IsBool() bool { return true }

// String is the value of the flag.
func (r Resumption) String() string { return [...]string{"false", "true", "auto"}[r] }
