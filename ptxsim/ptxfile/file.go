// Package ptxfile runs kernels of PTX files on the simulator. Arguments are written as text.
// Package command adds the command line.
package ptxfile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// An Error is a mistake in a file.
type Error struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Msg  string `json:"error"`
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return e.File + ": " + e.Msg
}

// A File is PTX loaded on a simulated device.
type File struct {
	Path   string
	order  ptxsim.Order
	device *ptxsim.Device
	text   *ptx.Module
	loaded *ptxsim.Module
	lines  []string
}

// devices are the architectures that can be simulated.
var devices = []int{80, 86, 89, 90}

// deviceFor returns the first architecture that runs code for a target.
func deviceFor(target int) int {
	for _, arch := range devices {
		if arch >= target {
			return arch
		}
	}
	return devices[len(devices)-1]
}

// Most is the largest size of a file, in bytes.
const Most = 64 << 20

// Load loads a file on a new device. Without Options.Arch, the device has the first architecture
// that runs the file. An error is an *Error.
func Load(path string, text []byte, o ptxsim.Options) (*File, error) {
	f := &File{Path: path, order: o.Order, lines: strings.Split(string(text), "\n")}
	if len(text) > Most {
		return nil, &Error{File: path, Msg: fmt.Sprintf("the file has more than %d MiB, which no module has", Most>>20)}
	}
	var err error
	if f.text, err = ptx.Parse(text); err != nil {
		return nil, f.failed(err)
	}
	o.Arch = cmp.Or(o.Arch, deviceFor(f.text.Arch))
	f.device = ptxsim.New(o)
	if f.loaded, err = f.device.Load(text); err != nil {
		return nil, f.failed(err)
	}
	return f, nil
}

func (f *File) failed(err error) error {
	var at *ptx.Error
	if errors.As(err, &at) {
		return &Error{f.Path, at.Line, at.Msg}
	}
	return &Error{File: f.Path, Msg: strings.TrimPrefix(err.Error(), "sim: load: ")}
}

func (f *File) String() string {
	return fmt.Sprintf("%s: PTX %v for sm_%d%s, %s", f.Path, f.text.Version, f.text.Arch, f.text.Suffix, counted(len(f.text.Kernels), "kernel"))
}

// A Kernel describes a kernel to those who launch it.
type Kernel struct {
	File         string  `json:"file"`
	PTX          string  `json:"ptx"`
	Target       string  `json:"target"`
	Kernel       string  `json:"kernel"`
	Line         int     `json:"line"`
	Params       []Param `json:"params"`
	Shared       int64   `json:"shared"`  // bytes of static shared memory
	Dynamic      bool    `json:"dynamic"` // it also has dynamic shared memory
	Local        int64   `json:"local"`   // bytes per thread
	Registers    int     `json:"registers"`
	Instructions int     `json:"instructions"`
	MaxThreads   []int   `json:"maxntid,omitempty"`
	Threads      []int   `json:"reqntid,omitempty"`
}

// A Param is a parameter of a kernel.
type Param struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Align  int64  `json:"align"`
	Offset int64  `json:"offset"`
	array  int64  // elements of an array, such as a structure; 0 for a scalar
}

// Kernels lists the file's kernels.
func (f *File) Kernels() (all []Kernel) {
	for _, k := range f.text.Kernels {
		out := Kernel{
			File: f.Path, PTX: f.text.Version.String(), Target: fmt.Sprintf("sm_%d%s", f.text.Arch, f.text.Suffix),
			Kernel: k.Name, Line: k.Line, Params: []Param{}, Shared: k.StaticSize, Local: k.LocalSize,
			Registers: len(k.Regs), Instructions: len(k.Instrs), MaxThreads: given(k.MaxThreads), Threads: given(k.RequiredThreads),
		}
		for _, v := range k.Params {
			p := Param{Name: v.Name, Type: v.Type.String(), Size: v.Size, Align: v.Align, Offset: v.Offset}
			if v.Size != v.Type.Bytes() {
				p.array = v.Size / v.Type.Bytes()
			}
			out.Params = append(out.Params, p)
		}
		for _, v := range k.Vars {
			out.Dynamic = out.Dynamic || v.Extern
		}
		all = append(all, out)
	}
	return all
}

func given(n [3]int) []int {
	if n == [3]int{} {
		return nil
	}
	return n[:]
}

func (k *Kernel) String() string {
	return fmt.Sprintf("%s(%s)\n      line %d; %s", k.Kernel, signature(k.Params), k.Line, strings.Join(k.facts(), "; "))
}

// facts returns a kernel's sizes and limits, for its line in the list.
func (k *Kernel) facts() []string {
	facts := []string{counted(k.Instructions, "instruction"), fmt.Sprintf("%d bytes of shared memory", k.Shared)}
	if k.Dynamic {
		facts[1] += " and what --smem gives"
	}
	if k.Local > 0 {
		facts = append(facts, fmt.Sprintf("%d bytes of local memory per thread", k.Local))
	}
	for _, t := range []struct {
		n    []int
		what string
	}{{k.Threads, "blocks of exactly"}, {k.MaxThreads, "blocks of at most"}} {
		if t.n != nil {
			facts = append(facts, fmt.Sprintf("%s %d by %d by %d threads", t.what, t.n[0], t.n[1], t.n[2]))
		}
	}
	return facts
}

// signature writes parameters as PTX declares them.
func signature(params []Param) string {
	var parts []string
	for _, p := range params {
		parts = append(parts, p.String())
	}
	return strings.Join(parts, ", ")
}

func (p Param) String() string {
	if p.array > 0 {
		return fmt.Sprintf("%s %s[%d]", p.Type, p.Name, p.array)
	}
	return p.Type + " " + p.Name
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
