package check

import (
	"os"
	"testing"
)

// largest is the spec that takes longest to resolve: a sweep of 108 trainings.
const largest = "abacus/figure9"

// BenchmarkResolve takes about 10 ms for the largest spec.
func BenchmarkResolve(b *testing.B) {
	for _, name := range []string{"kerple", "bias/addition_abc", largest} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, list := Resolve(Options{Path: "../../specs/" + name + ".arith", Read: os.ReadFile}); list.HasErrors() {
					b.Fatal(list[0].Message)
				}
			}
		})
	}
}
