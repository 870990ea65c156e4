package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda/sim"
	"github.com/arithlang/mlc/runtime/cuda/sim/ptx"
)

// ptxCmd is the verb ptx: the simulator as a tool for anyone's PTX.
type ptxCmd struct {
	Check ptxCheckCmd `cmd:"" help:"Check that PTX can run, and list its kernels."`
	Run   ptxRunCmd   `cmd:"" help:"Run a kernel without a GPU, and check every access."`
}

// ptxCheckCmd is the verb ptx check.
type ptxCheckCmd struct {
	Files []string `arg:"" name:"FILE.ptx" help:"PTX of any compiler."`
}

// Help is printed below the usage.
func (ptxCheckCmd) Help() string {
	return `Checks everything possible before a kernel runs: syntax, and the operands, types,
version and target of each instruction. An instruction unknown to the simulator is
an error. docs/ptx-sim.md lists the known ones.

Example:
  mlc ptx check kernels.ptx`
}

// Run checks the files and lists their kernels.
func (c *ptxCheckCmd) Run(a *app) error {
	bad := false
	for _, path := range c.Files {
		m, err := await(a, func() (*ptxModule, error) { return loadPTX(path, sim.Options{}) })
		if interrupted(err) {
			return err
		}
		if err != nil {
			bad = true
			if err := a.badPTX(err); err != nil {
				return err
			}
			continue
		}
		if err := m.list(a); err != nil {
			return err
		}
	}
	if bad {
		return errShown
	}
	return nil
}

// badPTX prints why a file cannot be run.
func (a *app) badPTX(err error) error {
	var at *ptxError
	if !a.json || !errors.As(err, &at) {
		fmt.Fprintf(a.err, "mlc: %v\n", err)
		return nil
	}
	return a.printJSON(at)
}

// ptxError is a mistake in a file.
type ptxError struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Msg  string `json:"error"`
}

func (e *ptxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return e.File + ": " + e.Msg
}

// ptxModule is a file that was loaded on a simulated device.
type ptxModule struct {
	path   string
	device *sim.Device
	text   *ptx.Module
	loaded *sim.Module
	lines  []string
}

// devices are the architectures that the simulator takes the place of.
var devices = []int{80, 86, 89, 90}

// deviceFor is the first architecture that runs code for a target.
func deviceFor(target int) int {
	for _, arch := range devices {
		if arch >= target {
			return arch
		}
	}
	return devices[len(devices)-1]
}

// maxPTX is the most bytes of a module.
const maxPTX = 64 << 20

// loadPTX reads a file and loads it on a device of its own.
func loadPTX(path string, o sim.Options) (*ptxModule, error) {
	data, err := readUpTo(path, maxPTX+1)
	if err != nil {
		return nil, err
	}
	if len(data) > maxPTX {
		return nil, &ptxError{File: path, Msg: fmt.Sprintf("the file has more than %d MiB, which no module has", maxPTX>>20)}
	}
	m := &ptxModule{path: path, lines: strings.Split(string(data), "\n")}
	if m.text, err = ptx.Parse(data); err != nil {
		return nil, m.failed(err)
	}
	o.Arch = cmp.Or(o.Arch, deviceFor(m.text.Arch))
	m.device = sim.New(o)
	if m.loaded, err = m.device.Load(data); err != nil {
		return nil, m.failed(err)
	}
	return m, nil
}

func (m *ptxModule) failed(err error) error {
	var at *ptx.Error
	if errors.As(err, &at) {
		return &ptxError{m.path, at.Line, at.Msg}
	}
	return &ptxError{File: m.path, Msg: strings.TrimPrefix(err.Error(), "sim: load: ")}
}

// ptxKernel is what ptx check says of a kernel.
type ptxKernel struct {
	File         string     `json:"file"`
	PTX          string     `json:"ptx"`
	Target       string     `json:"target"`
	Kernel       string     `json:"kernel"`
	Line         int        `json:"line"`
	Params       []ptxParam `json:"params"`
	Shared       int64      `json:"shared"`  // bytes of static shared memory
	Dynamic      bool       `json:"dynamic"` // it has dynamic shared memory, too
	Local        int64      `json:"local"`   // bytes a thread
	Registers    int        `json:"registers"`
	Instructions int        `json:"instructions"`
	MaxThreads   []int      `json:"maxntid,omitempty"`
	Threads      []int      `json:"reqntid,omitempty"`
}

type ptxParam struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Align  int64  `json:"align"`
	Offset int64  `json:"offset"`
	array  int64  // elements of an array, such as a structure; 0 of a scalar
}

// kernels says what the module has.
func (m *ptxModule) kernels() (all []ptxKernel) {
	for _, k := range m.text.Kernels {
		out := ptxKernel{
			File: m.path, PTX: m.text.Version.String(), Target: fmt.Sprintf("sm_%d%s", m.text.Arch, m.text.Suffix),
			Kernel: k.Name, Line: k.Line, Params: []ptxParam{}, Shared: k.StaticSize, Local: k.LocalSize,
			Registers: len(k.Regs), Instructions: len(k.Instrs), MaxThreads: given(k.MaxThreads), Threads: given(k.RequiredThreads),
		}
		for _, v := range k.Params {
			p := ptxParam{Name: v.Name, Type: v.Type.String(), Size: v.Size, Align: v.Align, Offset: v.Offset}
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

// list prints the kernels, one after another.
func (m *ptxModule) list(a *app) error {
	kernels := m.kernels()
	if !a.json {
		fmt.Fprintf(a.out, "%s: PTX %v for sm_%d%s, %s\n", m.path, m.text.Version, m.text.Arch, m.text.Suffix, counted(len(kernels), "kernel"))
	}
	for _, k := range kernels {
		if a.json {
			if err := a.printJSON(k); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(a.out, "  %s(%s)\n      line %d; %s\n", k.Kernel, signature(k.Params), k.Line, strings.Join(k.facts(), "; ")); err != nil {
			return err
		}
	}
	return nil
}

// facts are what a launch must know.
func (k *ptxKernel) facts() []string {
	facts := []string{counted(k.Instructions, "instruction"), fmt.Sprintf("%d bytes of shared memory", k.Shared)}
	if k.Dynamic {
		facts[1] += " and what --smem gives"
	}
	if k.Local > 0 {
		facts = append(facts, fmt.Sprintf("%d bytes of local memory a thread", k.Local))
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

// signature lists parameters as PTX declares them.
func signature(params []ptxParam) string {
	var parts []string
	for _, p := range params {
		parts = append(parts, p.String())
	}
	return strings.Join(parts, ", ")
}

func (p ptxParam) String() string {
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
