package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
)

// A Rule maps names of parameters to names of tensors in a file.
type Rule struct {
	Ours      string // a parameter's name; each * matches any text
	Theirs    string // the tensor's name, with the same stars; "": new weights
	Transpose bool
}

// ParseRule reads OURS=THEIRS, OURS=transpose(THEIRS) or, for new weights, OURS=.
func ParseRule(text string) (r Rule, err error) {
	ours, theirs, is := strings.Cut(text, "=")
	r.Ours, r.Theirs = strings.TrimSpace(ours), strings.TrimSpace(theirs)
	if inner, ok := strings.CutPrefix(r.Theirs, "transpose("); ok {
		r.Theirs, r.Transpose = strings.CutSuffix(inner, ")")
		if !r.Transpose {
			return r, fmt.Errorf("%q: transpose( is not closed", text)
		}
		r.Theirs = strings.TrimSpace(r.Theirs)
	}
	switch {
	case !is || r.Ours == "" || r.Transpose && r.Theirs == "":
		return r, fmt.Errorf("%q: want OURS=THEIRS, OURS=transpose(THEIRS), or OURS= for new weights, such as 'decoder.*.self.q.w=transpose(layers.*.q_proj.weight)'", text)
	case strings.Count(r.Theirs, "*") > strings.Count(r.Ours, "*"):
		return r, fmt.Errorf("%q: the name in the file has more stars than ours", text)
	}
	return r, nil
}

// find returns the name of a parameter's tensor; false: the rule does not match the parameter.
func (r Rule) find(param string) (string, bool) {
	stars, ok := match(r.Ours, param)
	if !ok {
		return "", false
	}
	name := r.Theirs
	for _, s := range stars {
		name = strings.Replace(name, "*", s, 1)
	}
	return name, true
}

// match returns the texts that the stars of a pattern match in a name, from the left the
// shortest.
func match(pattern, name string) (stars []string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return nil, pattern == name
	}
	if name, ok = strings.CutPrefix(name, before); !ok {
		return nil, false
	}
	for n := range len(name) + 1 {
		if rest, ok := match(after, name[n:]); ok {
			return append([]string{name[:n]}, rest...), true
		}
	}
	return nil, false
}

// An Imported has the weights of any safetensors file under the names of parameters.
type Imported struct {
	Checkpoint
	New    []string // parameters that get new weights
	Unused []string // tensors of the file that no parameter uses
}

// Import reads the weights of all parameters from a safetensors file. The first rule that
// matches a parameter names its tensor; without a rule the names are equal. Fixed parameters
// without a rule may be missing from the file. The error lists every misfit.
func Import(path string, rules []Rule, params []device.Param) (*Imported, error) {
	asked := map[string]bool{}
	for _, p := range params {
		asked[ruleOf(p.Name, rules).Theirs] = true
	}
	file, err := ckpt.ReadWeights(path, func(name string) bool { return asked[name] })
	if err != nil {
		return nil, err
	}
	theirs, used := map[string]ckpt.Tensor{}, map[string]bool{}
	for _, t := range file.Tensors {
		theirs[t.Name] = t
	}
	in := &Imported{Checkpoint: Checkpoint{Path: path, tensors: map[string]ckpt.Tensor{}}}
	var wrong []string
	for _, p := range params {
		r := ruleOf(p.Name, rules)
		t, there := theirs[r.Theirs]
		switch {
		case r.Theirs == "":
			in.New = append(in.New, p.Name)
			continue
		case !there && p.Fixed && r.Ours == "":
			continue
		case !there:
			wrong = append(wrong, missing(p, r.Theirs, file.Others[r.Theirs]))
			continue
		}
		used[r.Theirs] = true
		if r.Transpose {
			t = transposed(t)
		}
		if !slices.Equal(t.Shape, p.Shape) {
			wrong = append(wrong, misfit(p, r, t.Shape))
			continue
		}
		if err := t.Finite(); err != nil && !p.Fixed {
			wrong = append(wrong, err.Error())
			continue
		}
		t.Name = p.Name
		in.tensors[p.Name] = t
	}
	for _, t := range file.Tensors {
		if !used[t.Name] {
			in.Unused = append(in.Unused, t.Name)
		}
	}
	if wrong != nil {
		return nil, fmt.Errorf("%s does not fit this model:\n  %s%s", path, strings.Join(wrong, "\n  "), unused(in.Unused))
	}
	return in, nil
}

// ruleOf returns the first rule that matches a parameter, or else its own name.
func ruleOf(param string, rules []Rule) Rule {
	for _, rule := range rules {
		if name, ok := rule.find(param); ok {
			return Rule{param, name, rule.Transpose}
		}
	}
	return Rule{Theirs: param}
}

// missing says that a tensor is missing.
func missing(p device.Param, name, kind string) string {
	if kind != "" {
		return fmt.Sprintf("%s %v: %s is %s in the file; F64, F32, BF16 and F16 are read", p.Name, p.Shape, name, kind)
	}
	return fmt.Sprintf("%s %v: the file has no %s; name another by --map '%s=…', or leave it new by --map '%s='", p.Name, p.Shape, name, p.Name, p.Name)
}

// misfit says that a tensor has another shape.
func misfit(p device.Param, r Rule, shape []int) string {
	text := fmt.Sprintf("%s %v: %s has shape %v", p.Name, p.Shape, r.Theirs, shape)
	if len(shape) == 2 && slices.Equal(p.Shape, []int{shape[1], shape[0]}) {
		other := r.Theirs
		if !r.Transpose {
			other = "transpose(" + other + ")"
		}
		text += fmt.Sprintf("; it fits by --map '%s=%s'", p.Name, other)
	}
	return text
}

// unused lists the unused tensors, whose names may be the missing ones.
func unused(names []string) string {
	const most = 20
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return "\nnot used of the file: " + strings.Join(names, ", ") + more
}

// transposed returns the transpose of a matrix, and any other tensor unchanged.
func transposed(t ckpt.Tensor) ckpt.Tensor {
	if len(t.Shape) != 2 {
		return t
	}
	rows, cols := t.Shape[0], t.Shape[1]
	data := make([]float32, len(t.Data))
	for i := range rows {
		for j := range cols {
			data[j*rows+i] = t.Data[i*cols+j]
		}
	}
	return ckpt.Tensor{Name: t.Name, Shape: []int{cols, rows}, Data: data}
}

// Use puts the weights onto a machine for a test. Parameters that the file lacks come from
// given.
func (in *Imported) Use(m device.Machine, params []device.Param, given map[string][]float32) error {
	for _, p := range params {
		data := in.tensors[p.Name].Data
		if data == nil {
			data = given[p.Name]
		}
		if len(data) != p.Elems() {
			return fmt.Errorf("%s has no %s, and a test needs all parameters", in.Path, p.Name)
		}
		m.Root().PutFloats(device.Ref{Space: device.Params, Off: p.Off}, data)
	}
	return m.Err()
}
