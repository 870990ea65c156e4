// Package remote runs kernels in another process: generated code cannot be loaded
// into the compiler, so a program that holds it serves launches over a pipe.
// Package codegen/cpu/cputest is the serving end, package compiler/cli the other.
package remote

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/arithlang/mlc/compiler/kernel"
)

// A Runner runs the kernel of that name on buffers in the order of the kernel's
// parameters, which it overwrites.
type Runner func(name string, s kernel.Scalars, bufs []kernel.Buffer) error

// A launch is a request.
type launch struct {
	Kernel  string
	Scalars kernel.Scalars
	Buffers []kernel.Buffer
}

// An outcome is the reply: the buffers afterwards, or what went wrong.
type outcome struct {
	Buffers []kernel.Buffer
	Err     string
}

// Serve runs launches as they come, until the other end closes the pipe.
func Serve(in io.Reader, out io.Writer, run Runner) error {
	dec, enc := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var l launch
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		reply := outcome{Buffers: l.Buffers}
		if err := attempt(l, run); err != nil {
			reply = outcome{Err: err.Error()}
		}
		if err := enc.Encode(reply); err != nil {
			return err
		}
	}
}

// attempt turns a panic of generated code, such as an index out of range, into an
// error: the other kernels can still be run.
func attempt(l launch, run Runner) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return run(l.Kernel, l.Scalars, l.Buffers)
}

// Dial returns the Runner of a process that serves: out goes to its input, in
// comes from its output. It may be called from several goroutines.
func Dial(in io.Reader, out io.Writer) Runner {
	dec, enc := gob.NewDecoder(in), gob.NewEncoder(out)
	var one sync.Mutex
	return func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
		one.Lock()
		defer one.Unlock()
		if err := enc.Encode(launch{name, s, bufs}); err != nil {
			return err
		}
		var o outcome
		if err := dec.Decode(&o); err != nil {
			return err
		}
		if o.Err != "" {
			return errors.New(o.Err)
		}
		for i, b := range o.Buffers {
			bufs[i].Copy(b)
		}
		return nil
	}
}
