// Package remote runs kernels in another process. Generated code cannot be loaded into the
// compiler, so a program that holds it serves launches over a pipe. Package codegen/cpu/cputest
// is the serving end, package cli the other.
package remote

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/arithlang/mlc/compiler/expr"
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
	Types   []expr.Type // the buffers' element types, which empty buffers lose in gob
}

// typesOf returns element types, BF16 for any 16-bit type.
func typesOf(bufs []kernel.Buffer) []expr.Type {
	types := make([]expr.Type, len(bufs))
	for i, b := range bufs {
		switch {
		case b.I != nil:
			types[i] = expr.I32
		case b.H != nil:
			types[i] = expr.BF16
		}
	}
	return types
}

// restored gives empty buffers their types again.
func restored(bufs []kernel.Buffer, types []expr.Type) []kernel.Buffer {
	for i, b := range bufs {
		if len(b.F)+len(b.I)+len(b.H) == 0 {
			bufs[i] = kernel.NewBuffer(types[i], 0)
		}
	}
	return bufs
}

// An outcome is the reply: the buffers afterwards, or an error.
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
		if len(l.Types) != len(l.Buffers) {
			return errors.New("the other end is of another version")
		}
		l.Buffers = restored(l.Buffers, l.Types)
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
		if err := enc.Encode(launch{name, s, bufs, typesOf(bufs)}); err != nil {
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
