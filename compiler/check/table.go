package check

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// tableBias stands for table(…) as a definition, so that its parameters are named as
// others are.
var tableBias = &definition{kind: "bias", name: "table"}

// tableOption describes the arguments of table(…).
func tableOption() *dsl.Option {
	return &dsl.Option{Name: "table", Args: []dsl.Row{
		{Path: "file", Type: dsl.FilePath, Doc: "a safetensors file"},
		{Path: "tensor", Type: dsl.Text, Default: `""`, Doc: "a tensor of the file; may be left out if there is only one"},
	}, Doc: "a bias by query and key, or by head, query and key, from a file"}
}

// table translates table("x.safetensors"). Cells beyond the table have the values at its
// edge.
func (s *scope) table(e *dsl.Expr) *expr.Expr {
	if s.rows {
		s.report("E0209", e.Head, "table(…) is a bias, and does not belong in %s", s.path).WithHelp("%s", s.sees())
		return nil
	}
	if s.mask {
		s.report("E0209", e.Head, "table is a bias, and %s is a mask", s.path).WithHelp("a mask sees %s", s.indexHelp())
		return nil
	}
	v := s.option(s.lang.table, s.path, e)
	if v == nil {
		return nil
	}
	file, at := v.args["file"].word, v.args["file"].at
	key := file + "\n" + v.args["tensor"].word
	in := s.uses.find(tableBias, key)
	if in == nil {
		t := s.tableTensor(file, v.args["tensor"].word, at)
		if t == nil {
			return nil
		}
		if t.stage != "" && s.alone() {
			s.report("E0332", at, "the lines of %s, which stage %s calibrated, belong to problems of one width", file, t.stage).WithHelp("use them in a model: attention alone has no problems")
			return nil
		}
		in = s.newInstance(tableBias, key, nil)
		s.fixed(in, "values", BiasParam{Shape: t.shape, Init: Init{Kind: "file"}, From: file, Tensor: t.name, Stage: t.stage, Values: t.values()})
	}
	return cell(in.params["values"])
}

// fixed declares a parameter that is not learned.
func (c *checker) fixed(in *instance, name string, param BiasParam) {
	param.Name = in.prefix + "." + name
	in.params[name] = &param
	c.uses.params[param.Name] = &param
}

// cell returns the element of a table of shape [I, J] or [H, I, J] at the query and key.
func cell(param *BiasParam) *expr.Expr {
	n := len(param.Shape)
	clipped := func(name string, size int) *expr.Expr {
		return expr.New(expr.Min, expr.NewVar(name, expr.I32), expr.Int(int64(size-1)))
	}
	idx := []*expr.Expr{clipped("i", param.Shape[n-2]), clipped("j", param.Shape[n-1])}
	if n == 3 {
		idx = append([]*expr.Expr{expr.NewVar("h", expr.I32)}, idx...)
	}
	return expr.NewElem(param.Name, expr.F32, idx...)
}

// tableTensor returns the tensor of a table in a file, or nil after an error.
func (s *scope) tableTensor(file, name string, at diag.Range) *tensor {
	src, err := s.read(file)
	if err != nil {
		s.report("E0107", at, "cannot read %s", file).WithHelp("%v", err)
		return nil
	}
	tensors, err := readTensors(src)
	if err != nil {
		s.report("E0219", at, "%s is no safetensors file: %v", file, err).WithHelp("export the table with safetensors, as one F32 tensor")
		return nil
	}
	names := slices.Sorted(maps.Keys(tensors))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	t := tensors[name]
	if t == nil {
		help := "export the table with safetensors"
		if len(names) > 0 {
			help = "choose one of its tensors by the argument tensor: " + strings.Join(names, ", ")
		}
		s.report("E0219", at, "%s has %d tensors, but %q is not among them", file, len(names), name).WithHelp("%s", help)
		return nil
	}
	heads := s.heads()
	if n := len(t.shape); n < 2 || n > 3 || slices.Min(t.shape) < 1 || n == 3 && t.shape[0] != heads {
		s.report("E0219", at, "the table of %s has the shape %s", file, shapeText(t.shape)).
			WithHelp("its axes are query and key, or head, query and key for the %d heads", heads)
		return nil
	}
	for k, x := range t.values() {
		if x-x != 0 {
			s.report("E0219", at, "the table of %s holds %v, as element %d", file, x, k).
				WithHelp("close cells by a mask, or by a number such as -1e4, which the softmax makes 0")
			return nil
		}
	}
	return t
}

// checkCalibrated reports calibrated matrices that do not fit the problems. Lines counted
// from the right are valid for one width only.
func (c *checker) checkCalibrated(s *Spec) {
	d := &s.Model.Decoder
	if d.Self != nil {
		c.checkMatrices(s, "model.decoder.self.bias", d.Self, func(l lengths, keys int) (int, bool) { return l.Target, l.Target <= keys })
	}
	if d.Cross != nil {
		c.checkMatrices(s, "model.decoder.cross.bias", d.Cross, func(l lengths, keys int) (int, bool) { return l.Source, l.Source == keys })
	}
}

// checkMatrices checks the matrices of one site. columns returns how many columns a shape
// of problems has there, and whether they fit.
func (c *checker) checkMatrices(s *Spec, path string, site *Site, columns func(l lengths, keys int) (n int, fits bool)) {
	for _, param := range site.Params {
		if param.Stage == "" {
			continue
		}
		n := len(param.Shape)
		rows, keys := param.Shape[n-2], param.Shape[n-1]
		for _, l := range slices.Concat(s.trained(), s.evaluated()) {
			if n, fits := columns(l, keys); !fits || l.Target > rows {
				c.report("E0332", c.at(path), "stage %s calibrated %d rows and %d columns, but a problem here has %d and %d", param.Stage, rows, keys, l.Target, n).
					WithHelp("pad all problems to the calibrated width, or calibrate again with extend and pad for this width")
				break
			}
		}
	}
}

// hash identifies a resolved spec with the tables and problems that it reads.
func (c *checker) hash(resolved string) string {
	h := sha256.New()
	h.Write([]byte(resolved))
	readers := []*checker{c}
	for _, name := range c.stages {
		if v := c.stageOf[name]; v != nil {
			readers = append(readers, v)
		}
	}
	for _, r := range readers {
		h.Write([]byte(r.problems.String()))
		if r.tests != nil {
			h.Write([]byte("\n" + r.tests.Text)) // an empty line appears in no file
		}
		for _, in := range r.uses.all {
			if in.definition == tableBias {
				binary.Write(h, binary.LittleEndian, in.params["values"].Values)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A tensor of a safetensors file.
type tensor struct {
	name  string
	stage string // the calibration that wrote it, or ""
	shape []int
	data  []byte // float32, little endian
}

// values returns the elements.
func (t *tensor) values() []float32 {
	out := make([]float32, len(t.data)/4)
	for k := range out {
		out[k] = math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*k:]))
	}
	return out
}

// readTensors reads a safetensors file: eight bytes with the length of the header, the
// header in JSON with type, shape and place of each tensor, and the elements.
func readTensors(src []byte) (map[string]*tensor, error) {
	const most = 1 << 20
	if len(src) < 8 {
		return nil, errors.New("it has no header")
	}
	n := binary.LittleEndian.Uint64(src)
	if n > most || n > uint64(len(src)-8) {
		return nil, fmt.Errorf("its header has %d bytes", n)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(src[8:8+n], &header); err != nil {
		return nil, errors.New("its header is no JSON object")
	}
	var about struct{ Stage string }
	_ = json.Unmarshal(header["__metadata__"], &about) // metadata is optional, and other programs write anything
	delete(header, "__metadata__")
	out := make(map[string]*tensor)
	for name, text := range header {
		t, err := readTensor(name, text, src[8+n:])
		if err != nil {
			return nil, err
		}
		t.stage = about.Stage
		out[name] = t
	}
	return out, nil
}

// readTensor reads one entry of a header and slices its elements out of the data.
func readTensor(name string, text json.RawMessage, data []byte) (*tensor, error) {
	var t struct {
		DType string `json:"dtype"`
		Shape []int  `json:"shape"`
		At    [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &t); err != nil || t.DType != "F32" {
		return nil, fmt.Errorf("the tensor %q is not of type F32", name)
	}
	size := 4
	for _, d := range t.Shape {
		if d < 0 || d > maxElements || size*d > 4*maxElements {
			return nil, fmt.Errorf("the tensor %q has an axis of length %d", name, d)
		}
		size *= d
	}
	lo, hi := t.At[0], t.At[1]
	if lo < 0 || hi > len(data) || hi-lo != size {
		return nil, fmt.Errorf("the tensor %q has %d bytes of elements, from %d to %d, and the file %d", name, size, lo, hi, len(data))
	}
	return &tensor{name: name, shape: t.Shape, data: data[lo:hi]}, nil
}
