package fragment

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A Recording holds what a device did. As JSON, inputs and outputs are gzipped and in base64, and
// probes with equal inputs refer to the same ones.
type Recording struct {
	Card       string `json:"card"`       // name of the device; a simulated device says so
	Driver     int    `json:"driver"`     // CUDA version of its driver: 12040 for 12.4
	Capability string `json:"capability"` // 9.0
	Seed       uint64 `json:"seed"`

	Inputs map[string][]byte `json:"-"` // keyed by the inputs' names in the probes
	Probes []*Recorded       `json:"-"`
}

// Recorded is one probe that ran. The memory of a case holds one operand of all threads after
// another.
type Recorded struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Doc     string `json:"doc"`
	PTX     string `json:"ptx"`
	Threads int    `json:"threads"` // threads of a case
	Cases   int    `json:"cases"`
	In      []Type `json:"in"` // of a thread
	Out     []Type `json:"out"`
	Inputs  string `json:"inputs"`            // name of its inputs in the recording
	Box     *Box   `json:"box,omitempty"`     // the box as which the kernel sees the inputs
	Error   string `json:"error,omitempty"`   // why it has no outputs
	Refused bool   `json:"refused,omitempty"` // the error is an illegal instruction

	Outputs []byte `json:"-"`
}

// The limits when a recording is read. Recordings with Record's defaults are far below them.
const (
	mostThreads  = 1 << 20   // threads of a probe, over all cases
	mostOperands = 64        // of a thread
	mostBytes    = 256 << 20 // bytes of all inputs and outputs
	mostPTX      = 64 << 10  // bytes of the PTX of a probe
	formatName   = "mlc-fragment-1"
)

// wire is a recording as it is encoded.
type wire struct {
	Format string `json:"format"`
	*header
	Inputs map[string]string `json:"inputs"`
	Probes []*wireProbe      `json:"probes"`
}

type header Recording

type wireProbe struct {
	*Recorded
	Outputs string `json:"outputs,omitempty"`
}

// MarshalText encodes a type as its name; UnmarshalText decodes it.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.name), nil }

func (t *Type) UnmarshalText(text []byte) error {
	known, ok := typeOf(string(text))
	if !ok {
		return fmt.Errorf("unknown type %q", text)
	}
	*t = known
	return nil
}

// MarshalJSON encodes the recording.
func (r *Recording) MarshalJSON() ([]byte, error) {
	w := wire{Format: formatName, header: (*header)(r), Inputs: map[string]string{}}
	for name, data := range r.Inputs {
		w.Inputs[name] = compress(data)
	}
	for _, p := range r.Probes {
		one := &wireProbe{Recorded: p}
		if p.Error == "" {
			one.Outputs = compress(p.Outputs)
		}
		w.Probes = append(w.Probes, one)
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes a recording and checks all of it, so that it can be replayed. The error
// names the damaged probe.
func (r *Recording) UnmarshalJSON(text []byte) error {
	*r = Recording{Inputs: map[string][]byte{}}
	w := wire{header: (*header)(r)}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return fmt.Errorf("a recording of probes: %w", err)
	}
	if w.Format != formatName {
		return fmt.Errorf("a recording of probes has format %q: this program reads %q", w.Format, formatName)
	}
	if _, err := r.arch(); err != nil {
		return err
	}
	return r.unpack(&w)
}

// unpack checks probes and decodes their inputs and outputs.
func (r *Recording) unpack(w *wire) error {
	left := mostBytes
	names := map[string]bool{}
	for i, one := range w.Probes {
		if one == nil || one.Recorded == nil {
			return fmt.Errorf("probe %d of the recording is empty", i)
		}
		if err := one.check(); err != nil {
			return fmt.Errorf("probe %d of the recording, %.80q: %w", i, one.Name, err)
		}
		if names[one.Name] {
			return fmt.Errorf("probe %.80q is in the recording twice", one.Name)
		}
		names[one.Name] = true
		if err := r.unpackProbe(w, one, &left); err != nil {
			return fmt.Errorf("probe %s of the recording: %w", one.Name, err)
		}
		r.Probes = append(r.Probes, one.Recorded)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		if _, used := r.Inputs[name]; !used {
			return fmt.Errorf("the recording has inputs %.80q, which no probe uses", name)
		}
	}
	return nil
}

// check checks the sizes of a probe.
func (one *Recorded) check() error {
	switch {
	case one.Name == "":
		return errors.New("it has no name")
	case len(one.PTX) > mostPTX:
		return fmt.Errorf("%d bytes of PTX: want at most %d", len(one.PTX), mostPTX)
	case one.Threads != 1 && one.Threads != warp && one.Threads != 4*warp:
		return fmt.Errorf("%d threads a case: want 1, %d or %d", one.Threads, warp, 4*warp)
	case one.Cases < 1 || one.Cases > mostThreads/one.Threads:
		return fmt.Errorf("%d cases: want 1 to %d", one.Cases, mostThreads/one.Threads)
	case one.Threads == 1 && one.Cases%warp != 0:
		return fmt.Errorf("%d cases of one thread: want a multiple of %d", one.Cases, warp)
	case min(len(one.In), len(one.Out)) < 1 || max(len(one.In), len(one.Out)) > mostOperands:
		return fmt.Errorf("%d operands and %d results: want 1 to %d", len(one.In), len(one.Out), mostOperands)
	case slices.Contains(one.In, Type{}) || slices.Contains(one.Out, Type{}):
		return errors.New("an operand has no type")
	case one.Refused && one.Error == "":
		return errors.New("it was refused without an error")
	case one.Box != nil && (min(one.Box.Elements, one.Box.Rows) < 1 || one.Box.Elements > rowBytes/2 || one.Box.Rows > 256):
		return fmt.Errorf("a box of %d elements in %d rows", one.Box.Elements, one.Box.Rows)
	}
	return nil
}

func (r *Recording) unpackProbe(w *wire, one *wireProbe, left *int) error {
	want := one.inputBytes()
	if data, there := r.Inputs[one.Inputs]; !there {
		text, there := w.Inputs[one.Inputs]
		if !there {
			return fmt.Errorf("its inputs %.80q are missing", one.Inputs)
		}
		data, err := expandBytes(text, want, left)
		if err != nil {
			return fmt.Errorf("inputs: %w", err)
		}
		r.Inputs[one.Inputs] = data
	} else if len(data) != want {
		return fmt.Errorf("its inputs have %d bytes: want %d", len(data), want)
	}
	if one.Error != "" {
		if one.Outputs != "" {
			return errors.New("it has an error and outputs")
		}
		return nil
	}
	var err error
	if one.Recorded.Outputs, err = expandBytes(one.Outputs, one.outputBytes(), left); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	return nil
}

func (one *Recorded) inputBytes() int  { return one.bytes(one.In) }
func (one *Recorded) outputBytes() int { return one.bytes(one.Out) }

func (one *Recorded) bytes(ts []Type) int {
	_, n := layout(ts, one.Threads)
	return n * one.Cases
}

func compress(data []byte) string {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	z.Write(data) // a buffer accepts everything
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// expandBytes undoes compress. It uses no more memory than want bytes, and only as they are
// decompressed.
func expandBytes(text string, want int, left *int) ([]byte, error) {
	if *left -= want; *left < 0 {
		return nil, fmt.Errorf("all inputs and outputs are more than %d bytes", mostBytes)
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, int64(want)+1))
	if err != nil {
		return nil, err
	}
	if len(data) != want {
		return nil, fmt.Errorf("%d bytes or more: want %d", len(data), want)
	}
	return data, nil
}
