package prove

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
)

// A Verdict says how a part, a phase or the whole run ended.
type Verdict string

// The verdicts, from good to bad. A phase has the worst verdict of its parts, the whole run the
// worst of its phases.
const (
	Pass        Verdict = "pass"        // everything was checked and is right
	Skipped     Verdict = "skipped"     // not applicable or not possible here
	Cut         Verdict = "cut"         // right so far, but time ended
	Unavailable Verdict = "unavailable" // no such device
	Interrupted Verdict = "interrupted" // ended by a signal
	Fail        Verdict = "fail"        // something is wrong
)

var ranks = []Verdict{Pass, Skipped, Cut, Unavailable, Interrupted, Fail}

// worse returns the worse of two verdicts.
func worse(a, b Verdict) Verdict {
	if slices.Index(ranks, a) > slices.Index(ranks, b) {
		return a
	}
	return b
}

// A Result is the outcome of a run, and the content of the run's file.
type Result struct {
	Format  int      `json:"format"`
	Started string   `json:"started"`         // RFC 3339, UTC
	Version string   `json:"version"`         // of mlc
	Host    string   `json:"host"`            // operating system, architecture, cores
	Device  string   `json:"device"`          // cuda, sim or count
	Speed   bool     `json:"speed,omitempty"` // speed was measured, and nothing proven
	Seed    uint64   `json:"seed"`
	Budget  float64  `json:"budget"`  // seconds
	Seconds float64  `json:"seconds"` // duration of the run
	Only    []string `json:"only,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"` // empty while it runs
	Reason  string   `json:"reason,omitempty"`
	Phases  []*Phase `json:"phases"`
}

// A Phase is the result of a row in the table of phases.
type Phase struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // why it was skipped as a whole
	Seconds float64 `json:"seconds"`
	Parts   []*Part `json:"parts,omitempty"`
}

// A Part is the result of one process. Only the field of its phase is set among Machine and the
// fields after it.
type Part struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	Reason  string   `json:"reason,omitempty"` // why it is not a pass, apart from Wrong
	Seconds float64  `json:"seconds"`
	Limit   float64  `json:"limit"`            // seconds that it was given
	Exit    string   `json:"exit,omitempty"`   // how the process ended, if it failed
	Stderr  string   `json:"stderr,omitempty"` // end of its output in that case
	Wrong   []string `json:"wrong,omitempty"`  // everything that is wrong
	whole   bool     // it has done everything, even if its time has ended since

	Machine *Machine `json:"machine,omitempty"`
	Module  *Module  `json:"module,omitempty"`
	Kernels *Kernels `json:"kernels,omitempty"`
	Steps   *Steps   `json:"steps,omitempty"`

	Figures   []probe.Figure `json:"figures,omitempty"`
	Fragments *Fragments     `json:"fragments,omitempty"`
	Timed     *timing.Timing `json:"timed,omitempty"`
	Ranks     *Ranks         `json:"ranks,omitempty"`
	Torch     *Torch         `json:"torch,omitempty"`
	Peer      *beside.Result `json:"peer,omitempty"`
	Tool      *Tool          `json:"tool,omitempty"`
}

// maxWrong is the number of wrong things of a part that are listed.
const maxWrong = 20

// wrong records something wrong.
func (p *Part) wrong(format string, args ...any) {
	switch {
	case len(p.Wrong) < maxWrong:
		p.Wrong = append(p.Wrong, fmt.Sprintf(format, args...))
	case len(p.Wrong) == maxWrong:
		p.Wrong = append(p.Wrong, "and more")
	}
}

// judge gives a phase the verdict of its parts.
func (p *Phase) judge() {
	p.Verdict = Pass
	if len(p.Parts) == 0 {
		p.Verdict = Skipped
	}
	for _, part := range p.Parts {
		p.Verdict = worse(p.Verdict, part.Verdict)
	}
	if slices.ContainsFunc(p.Parts, func(q *Part) bool { return q.Verdict == Pass }) && p.Verdict == Skipped {
		p.Verdict = Pass
	}
}

// judge gives the run the verdict of its phases.
func (r *Result) judge() {
	passed := false
	r.Verdict = Pass
	for _, p := range r.Phases {
		r.Verdict = worse(r.Verdict, p.Verdict)
		passed = passed || p.Verdict == Pass
	}
	switch {
	case r.Verdict == Skipped && passed:
		r.Verdict = Pass
	case r.Verdict == Skipped:
		r.Reason = "nothing could be checked"
	}
}

// Proven reports whether everything that applies was checked and is right.
func (r *Result) Proven() bool { return r.Verdict == Pass }

// format is the version of the file.
const format = 1

// Write writes the result to a file, which is complete at every moment.
func (r *Result) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return ckpt.WriteFile(path, append(text, '\n'))
}

// Create creates the file of a result, and refuses to overwrite one.
func (r *Result) Create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: move it away, or choose another file with -o", path)
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return r.Write(path)
}

// read decodes a result. It puts errors of package json into words; recordings describe their own
// errors.
func read(text []byte, r *Result) error {
	if err := damage.JSON(text, new(json.RawMessage)); err != nil {
		return err
	}
	err := json.Unmarshal(text, r)
	if errors.As(err, new(*json.UnmarshalTypeError)) {
		return damage.JSON(text, new(Result))
	}
	return err
}

// maxResult is the largest file of a result, in bytes.
const maxResult = 1 << 30

// expand decompresses gzip, which it recognises by the first bytes.
func expand(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(z, maxResult+1))
	if err == nil && len(text) > maxResult {
		err = fmt.Errorf("want at most %d bytes", maxResult)
	}
	return text, err
}

// Load reads the file of a result, which may be gzipped.
func Load(path string) (*Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxResult {
		return nil, fmt.Errorf("%s is not a result of mlc prove: want a file of at most %d bytes", path, maxResult)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if text, err = expand(text); err != nil {
		return nil, fmt.Errorf("%s is not a result of mlc prove: %w", path, err)
	}
	var r Result
	if err := read(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not a result of mlc prove: %w", path, err)
	}
	if r.Format != format {
		return nil, fmt.Errorf("%s is not a result that this mlc can read: its format is %d, not %d", path, r.Format, format)
	}
	return &r, nil
}

// Speeds returns the parts that have measured speeds of a card.
func (r *Result) Speeds() (parts []*Part) {
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			timed := part.Timed != nil && part.Timed.Timed > 0
			if r.Device == "cuda" && (timed || len(part.Figures) > 0 || part.Peer != nil && part.Peer.Ratio > 0) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}
