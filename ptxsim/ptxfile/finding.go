package ptxfile

import (
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/arithlang/mlc/ptxsim"
)

// A Finding is a mistake in a launch: a report of the simulator, with details from the file and
// the arguments.
type Finding struct {
	File     string  `json:"file"`
	Kind     string  `json:"kind"`
	Kernel   string  `json:"kernel"`
	Line     int     `json:"line,omitempty"`
	Source   string  `json:"source,omitempty"`
	Op       string  `json:"op,omitempty"`
	Block    *[3]int `json:"block,omitempty"`
	Warp     *int    `json:"warp,omitempty"`
	Lanes    []int   `json:"lanes,omitempty"`
	Space    string  `json:"space,omitempty"`
	Address  string  `json:"address,omitempty"`
	Argument int     `json:"argument,omitempty"` // from 1
	Offset   *int64  `json:"offset,omitempty"`   // in the argument's memory
	Detail   string  `json:"detail,omitempty"`
	Other    *Party  `json:"other,omitempty"`
	Order    string  `json:"order"`
	text     string  // of the line
	arg      string
	report   *ptxsim.Report
}

// A Party is the other side of a race.
type Party struct {
	Line  int    `json:"line"`
	Block [3]int `json:"block"`
	Warp  int    `json:"warp"`
	Lane  int    `json:"lane"` // -1: several
	Verb  string `json:"verb"`
	text  string
}

// finding completes a report from the file and the arguments.
func (r *Result) finding(p *ptxsim.Report) *Finding {
	f := &Finding{File: r.file.Path, Kind: string(p.Kind), Kernel: p.Kernel, Line: p.Line, Source: p.Source, Op: p.Op,
		Space: p.Space, Detail: p.Detail, Order: r.file.order.String(), text: r.file.line(p.Line), report: p}
	if p.Lanes != 0 {
		f.Block, f.Warp = &p.Block, &p.Warp
		for m := p.Lanes; m != 0; m &= m - 1 {
			f.Lanes = append(f.Lanes, bits.TrailingZeros32(m))
		}
	}
	if p.Space != "" {
		f.Address = fmt.Sprintf("%#x", p.Addr)
	}
	if o := p.Other; o != nil {
		f.Other = &Party{o.Line, o.Block, o.Warp, o.Lane, o.Verb, r.file.line(o.Line)}
	}
	if p.Space == "global" || p.Space == "generic" {
		f.Argument, f.Offset = r.argumentAt(p.Addr)
	}
	if f.Argument > 0 {
		f.arg = r.args[f.Argument-1].text
	}
	return f
}

// near is how far beyond an argument's memory an address still counts as the argument's.
const near = 4096

// argumentAt returns the argument whose memory contains or nearly contains an address, from 1,
// and the offset.
func (r *Result) argumentAt(addr uint64) (int, *int64) {
	for i, a := range r.args {
		if off := int64(addr - uint64(a.ptr)); a.buffer() && off >= -near && off < a.size+near {
			return i + 1, &off
		}
	}
	return 0, nil
}

// line returns a line of the file, without spaces around it.
func (f *File) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return strings.TrimSpace(f.lines[n-1])
}

// Print writes the finding, at a level such as "warning: ", and quotes the lines involved.
func (f *Finding) Print(w io.Writer, level string) {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	fmt.Fprintf(w, "%s: %s%s\n", where, level, f.Error())
	if f.text != "" {
		fmt.Fprintf(w, "%8d | %s\n", f.Line, f.text)
	}
	if o := f.Other; o != nil && o.Line != f.Line && o.text != "" {
		fmt.Fprintf(w, "%8d | %s\n", o.Line, o.text)
	}
	if f.Argument > 0 {
		fmt.Fprintf(w, "         byte %d of argument %d, %s\n", *f.Offset, f.Argument, f.arg)
	}
}

func (f *Finding) Error() string {
	if f.report != nil {
		return f.report.Error()
	}
	return fmt.Sprintf("%s: kernel %s: %s", f.Kind, f.Kernel, f.Detail)
}
