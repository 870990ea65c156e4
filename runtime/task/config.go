package task

import (
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// A Config describes problems. Generated code holds one.
type Config config.Task

// A Pad says to which width numbers are padded.
type Pad = config.Pad

// Hinted reports whether letters stand before digits.
func (c *Config) Hinted() bool { return (*config.Task)(c).Hinted() }

// Parts returns the tasks of a mix, or else the one task.
func (c *Config) Parts() []*Config {
	if c.Kind != "mixed" {
		return []*Config{c}
	}
	var all []*Config
	for _, name := range c.Of {
		p := *c
		p.Kind, p.Of = name, nil
		p.Scratchpad = c.Scratchpad && name == "parity"
		all = append(all, &p)
	}
	return all
}

// Digits returns the fewest and the most digits of operands in training, rounds included.
func (c *Config) Digits() (lo, hi int) {
	if c.Below > 0 {
		return 1, len(c.Operand(c.Highest()))
	}
	return c.DigitsLo, max(c.DigitsHi, c.Rounds.Until)
}

// Operand is a number as text.
func (c *Config) Operand(n int64) []byte { return strconv.AppendInt(nil, n, c.Base) }

// Asked is the most places of an answer that a model may give in rounds.
func (c *Config) Asked(a, b int) int {
	switch c.Kind {
	case "parity":
		if c.Scratchpad {
			return a
		}
		return 1
	case "multiplication":
		return a + b
	case "successor", "copy", "nx1":
		return a + 1
	}
	return max(a, b) + 1
}

// Shape returns the source tokens and target rows of an encoder-decoder's problems that have so
// many operands of width places.
func (c *Config) Shape(k *Kind, width, operands int) (source, target int) {
	answer, op := width-c.Pad.Less+1, len(k.Op)
	switch {
	case k.Arity == 0:
		if c.Scratchpad {
			answer *= operands - 1
		}
		return operands*(width+1) + 1, answer
	case k.Single() && !c.Interleave:
		return op + width + 1 + 2, answer
	}
	return op*(operands-1) + operands*width + 2, answer
}

// Smallest is the smallest number of n digits.
func (c *Config) Smallest(n int) []byte {
	if n == 1 {
		return []byte("0")
	}
	return append([]byte("1"), strings.Repeat("0", n-1)...)
}
