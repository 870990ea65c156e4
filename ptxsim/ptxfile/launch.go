package ptxfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arithlang/mlc/ptxsim"
)

// A Launch is a request to run a kernel. Args are written KIND:VALUE, one per parameter.
type Launch struct {
	Grid, Block [3]int
	Shared      int // bytes of dynamic shared memory
	Args        []string
	Read        Reader // reads the files that arguments name
}

// A Result describes a kernel's run.
type Result struct {
	Kernel   string
	Outputs  []Output
	Stats    ptxsim.Stats
	Took     time.Duration
	Warnings []*Finding

	file *File
	args []*argument
}

// An Output is memory to write to a file.
type Output struct {
	File string
	Arg  string // as given
	Data []byte
}

// Run runs a kernel. If arguments do not fit it, the error is a *UsageError; a report of the
// simulator is a *Finding.
func (f *File) Run(k *Kernel, l Launch) (*Result, error) {
	r := &Result{Kernel: k.Kernel, file: f}
	var err error
	if r.args, err = parseArgs(l.Args, k, l.Read); err != nil {
		return nil, err
	}
	var params []byte
	for i, arg := range r.args {
		p := k.Params[i]
		params = append(params, make([]byte, p.Offset+p.Size-int64(len(params)))...)
		if err := arg.place(f.device, params[p.Offset:]); err != nil {
			return nil, err
		}
	}
	kernel, err := f.loaded.Kernel(k.Kernel)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r.Stats, err = kernel.Launch(ptxsim.Launch{Grid: l.Grid, Block: l.Block, Shared: l.Shared, Args: params})
	r.Took = time.Since(start)
	if report := (*ptxsim.Report)(nil); errors.As(err, &report) {
		return nil, r.finding(report)
	} else if err != nil {
		return nil, err
	}
	for _, w := range r.Stats.Warnings {
		r.Warnings = append(r.Warnings, r.finding(w))
	}
	return r, r.collect()
}

// collect reads back the memory to write.
func (r *Result) collect() error {
	for i, arg := range r.args {
		if arg.file == "" {
			continue
		}
		out := Output{arg.file, arg.text, make([]byte, arg.size)}
		err := r.file.device.Read(out.Data, arg.ptr)
		var unwritten *ptxsim.UninitialisedError
		if errors.As(err, &unwritten) {
			r.Warnings = append(r.Warnings, &Finding{File: r.file.Path, Kind: "unwritten output", Kernel: r.Kernel, Order: r.file.order.String(),
				Argument: i + 1, Offset: &unwritten.Offset, Detail: "the kernel has not written all of the memory", arg: arg.text})
		} else if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, out)
	}
	return nil
}

// Equal fails if another order has left different bits.
func (r *Result) Equal(other *Result) error {
	for i, out := range r.Outputs {
		x, y := out.Data, other.Outputs[i].Data
		if bytes.Equal(x, y) {
			continue
		}
		at := 0
		for x[at] == y[at] {
			at++
		}
		return fmt.Errorf("the result depends on how warps take turns: byte %d of %s is %#02x when %s, %#02x when %s",
			at, out.Arg, x[at], r.file.order, y[at], other.file.order)
	}
	return nil
}

// String writes the executed work and the counts.
func (r *Result) String() string {
	text := fmt.Sprintf("%s: %s, %d instructions of lanes, %d bytes of global memory moved, %s",
		r.Kernel, counted(r.Stats.Blocks, "block"), r.Stats.Steps, r.Stats.Bytes, counted(int(r.Stats.Barriers), "barrier"))
	if r.Stats.Counts != nil {
		text += "\n" + strings.TrimSuffix(countsText(r.Stats.Counts), "\n")
	}
	return text
}
