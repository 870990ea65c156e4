package task

import (
	"bytes"
	"cmp"
	"slices"
)

// Digits are the symbols of the places of a number, by value.
const Digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// digit is the value of a symbol.
func digit(symbol byte) byte {
	if symbol >= 'a' {
		return symbol - 'a' + 10
	}
	return symbol - '0'
}

// DigitAt is the value of a number's digit at a place, 0 being the lowest.
func DigitAt(x []byte, place int) int {
	if place >= len(x) {
		return 0
	}
	return int(digit(x[len(x)-1-place]))
}

// Arithmetic is digit by digit, so that numbers may have any length. Each function
// appends its result, without leading zeros.

func Add(dst []byte, base int, a, b []byte) []byte {
	return Places(dst, base, max(len(a), len(b))+1, func(place int) int { return DigitAt(a, place) + DigitAt(b, place) })
}

// sub wants a >= b.
func sub(dst []byte, base int, a, b []byte) []byte {
	return Places(dst, base, len(a), func(place int) int { return DigitAt(a, place) - DigitAt(b, place) })
}

func Mul(dst []byte, base int, a, b []byte) []byte {
	return Places(dst, base, len(a)+len(b), func(place int) int {
		sum := 0
		for i := max(0, place-len(b)+1); i <= min(place, len(a)-1); i++ {
			sum += DigitAt(a, i) * DigitAt(b, place-i)
		}
		return sum
	})
}

// Places appends the number whose n places have these values, carrying as needed. Values may be
// any integers.
func Places(dst []byte, base, n int, value func(place int) int) []byte {
	dst = slices.Grow(dst, n)
	sum := dst[len(dst) : len(dst)+n]
	carry := 0
	for place := range n {
		carry += value(place)
		d := carry % base
		carry /= base
		if d < 0 {
			d += base
			carry--
		}
		sum[n-1-place] = Digits[d]
	}
	return append(dst, Trim(sum)...)
}

// Compare compares numbers without leading zeros.
func Compare(a, b []byte) int { return cmp.Or(cmp.Compare(len(a), len(b)), bytes.Compare(a, b)) }

// text is a number or a row of symbols.
type text interface{ string | []byte }

// Trim removes leading zeros.
func Trim[T text](x T) T {
	if len(x) == 0 {
		return T("0")
	}
	for len(x) > 1 && x[0] == '0' {
		x = x[1:]
	}
	return x
}

// trimRepeated leaves one of the equal digits that a number begins with.
func trimRepeated[T text](x T) T {
	for len(x) > 1 && x[0] == x[1] {
		x = x[1:]
	}
	return x
}
