package dsl

import (
	"math"
	"strconv"
	"strings"
)

// A Unit is a suffix of a number.
type Unit struct {
	Name   string
	Factor float64
	Of     string // Budget and Steps: steps, examples, seconds, epochs, FLOP
}

var (
	decimal = []Unit{{"k", 1e3, ""}, {"M", 1e6, ""}, {"G", 1e9, ""}, {"T", 1e12, ""}, {"P", 1e15, ""}, {"E", 1e18, ""}}
	binary2 = []Unit{{"Ki", 1 << 10, ""}, {"Mi", 1 << 20, ""}, {"Gi", 1 << 30, ""}}
)

// Units lists the units that values of a type may have, and reports whether a number must
// have one.
func (t Type) Units() (units []Unit, must bool) {
	switch t {
	case Int, IntRange, IntList, Grid, Recurrences:
		return append(decimal[:3:3], binary2...), false
	case Fraction, ShareList:
		return []Unit{{"%", 0.01, ""}}, true
	case Steps:
		return prefixed("steps", 3), true
	case Budget:
		units = append(units, prefixed("steps", 3)...)
		units = append(units, prefixed("examples", 3)...)
		units = append(units, Unit{"s", 1, "seconds"}, Unit{"m", 60, "seconds"}, Unit{"h", 3600, "seconds"}, Unit{"d", 86400, "seconds"})
		units = append(units, Unit{"epochs", 1, "epochs"})
		return append(units, prefixed("FLOP", 6)...), true
	}
	return nil, false
}

// prefixed returns a unit alone and with the first n decimal prefixes.
func prefixed(of string, n int) []Unit {
	out := []Unit{{of, 1, of}}
	for _, p := range decimal[:n] {
		out = append(out, Unit{p.Name + of, p.Factor, of})
	}
	return out
}

// Value returns the number for digits with the unit. Percentages are divided, not
// multiplied, so that 10% is the float64 nearest to a tenth. Digits that are no number
// give infinity.
func (u Unit) Value(digits string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
	if err != nil {
		return math.Inf(1)
	}
	if u.Name == "%" {
		return v / 100
	}
	return v * u.Factor
}

// Canonical returns the shortest form of digits with the same value. A real number stays
// real.
func Canonical(digits string) string {
	s := strings.ReplaceAll(digits, "_", "")
	if !strings.ContainsAny(s, ".eE") {
		if s = strings.TrimLeft(s, "0"); s == "" {
			return "0"
		}
		return s
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	out := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(out, ".e") {
		return out + ".0"
	}
	return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(out)
}
