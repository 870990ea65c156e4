package cputest

import (
	"fmt"
	"os"

	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/runtime/cpu"
)

// Serve is the main function of programs that mlc diff and tests build around generated
// kernels. It runs launches from standard input and writes their results to standard output.
// Its argument is the instruction set, as cpu.ParseISA takes it. Without an argument it takes
// the best that the processor has.
func Serve(kernels []cpu.Kernel) {
	if err := serve(kernels, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(kernels []cpu.Kernel, args []string) error {
	isa := cpu.Detect()
	if len(args) > 0 {
		var err error
		if isa, err = cpu.ParseISA(args[0]); err != nil {
			return err
		}
	}
	return remote.Serve(os.Stdin, os.Stdout, remote.Runner(Runner(kernels, isa)))
}
