package task

import (
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// A Config says what problems look like. Generated code holds one.
type Config config.Task

// A Pad is the width that numbers are padded to.
type Pad = config.Pad

// Hinted reports whether letters stand before digits.
func (c *Config) Hinted() bool { return (*config.Task)(c).Hinted() }

// Parts are the tasks that a mix is made of, or the one task that it is.
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

// Digits are the fewest and the most digits of the operands of training, of all its rounds.
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

// Shape is the source tokens and the target rows of an encoder-decoder's problems of a kind,
// whose numbers have all as many places, of so many operands.
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
