package export

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
)

//go:embed template
var templates embed.FS

// Inside is the largest size of parameters within a Python file by default, in bytes.
// Editors open a file with more base64 slowly.
const Inside = 4 << 20

// A PythonForm chooses the form of a Python export.
type PythonForm struct {
	NumPy bool   // use only NumPy, not PyTorch
	Path  string // the path of the Python file
	Store Store
}

// A Store says where the parameters of a Python file are.
type Store string

const (
	Base64   Store = "inside"   // in the file, as base64
	Beside   Store = "beside"   // in a safetensors file next to it
	Literals Store = "literals" // in the file, as readable numbers
)

// MostLiterals is the largest number of parameters that a file may have as readable
// numbers.
const MostLiterals = 10_000

// besidePath returns the path of the parameters next to a Python file.
func besidePath(file string) string { return strings.TrimSuffix(file, path.Ext(file)) + ".safetensors" }

// Python writes the model as a Python file, with its parameters inside or next to it. Paths
// begin like the form's Path and have forward slashes. It returns an error if the model has
// too many or non-finite parameters for literals, or if Python cannot express it.
func (m *Model) Python(form PythonForm) ([]File, error) {
	f := m.newPyFile(!form.NumPy)
	f.Usage = "python3 " + path.Base(form.Path) + " " + quoteShell(f.Example) + "   prints the model's answer; see build_model, logits and answer."
	files := []File{{Path: form.Path}}
	switch form.Store {
	case Beside:
		f.Beside = path.Base(besidePath(form.Path))
		data, err := m.safetensors(func(name string) string { return name })
		if err != nil {
			return nil, err
		}
		files = append(files, File{besidePath(form.Path), data})
	case Literals:
		var err error
		if f.Literals, err = m.literals(); err != nil {
			return nil, err
		}
		if f.Places == 0 { // otherwise the places of the answer's digits are counted
			f.blind(m.task.Pad().Less)
		}
	default:
		f.Base64 = m.base64()
	}
	parts := []string{"head.py.tmpl", "model.py.tmpl", f.class(), "task.py.tmpl", "answer.py.tmpl", "load.py.tmpl"}
	text, err := f.text(parts...)
	files[0].Data = text
	return files, err
}

// A pyFile is the data of the templates.
type pyFile struct {
	pyTask
	Name, Command, Usage, Spec, Example string
	Parameters, Trained, Vocab, Said    int
	Torch                               bool
	Imports                             []string
	Prelude, Program                    string
	Encoder                             bool // the model has an encoder
	Lengths                             bool // masks or biases depend on the number of rows
	TimesDefault, TimesArg              string
	AnswerTimes, Recurrences            string // parameters for answers; how often a loop by length runs on a problem
	TimesNumber                         int
	SeedNumber                          string
	Addition                            bool
	Architecture, Tricks                string
	Reach                               bool
	Tokens, Places                      int
	Rows, Source                        int
	DigitTokens                         string
	Shapes                              []pyShape
	Beside, Base64                      string
	Literals                            []pyLiteral

	HF                 bool // a folder for transformers
	Class, Auto, Plain string

	err error
}

type pyShape struct{ Name, Shape string }

// A pyLiteral is a parameter with its numbers, several in a line.
type pyLiteral struct {
	Name, Shape string
	Lines       []string
}

func (f *pyFile) class() string {
	if f.Torch {
		return "class_torch.py.tmpl"
	}
	return "class_numpy.py.tmpl"
}

func (m *Model) newPyFile(torch bool) *pyFile {
	c := m.Spec.Task.Task
	f := &pyFile{pyTask: newTask(&c, m.Spec.Eval.Pad, m.task), Name: m.Name, Command: m.Command, Spec: escaped(m.Text),
		Parameters: m.Parameters(), Trained: m.trained, Vocab: m.task.Vocab(), Said: m.said(), Torch: torch,
		Encoder: m.program.memory != "", Lengths: m.program.lengths,
		Addition:     c.Kind == "addition" && c.Base == 10,
		Architecture: architecture(&m.Spec.Model, c.Recurrences), Tricks: list(tricks(&m.Spec.Model, &c)),
		Tokens: m.reach.Tokens, Places: m.reach.Places, Rows: m.reach.Rows, Source: m.reach.Source}
	f.Reach = f.Tokens+f.Places+f.Rows+f.Source > 0
	f.Example = m.example()
	if m.runs > 0 {
		f.TimesNumber, f.TimesDefault, f.TimesArg = m.runs, ", times=TIMES", ", times"
		f.AnswerTimes = f.TimesDefault
	}
	if by := c.Recurrences; by.ByLength() && m.Times == 0 {
		f.Recurrences, f.AnswerTimes = by.String(), ", times=None"
	}
	if m.program.random {
		f.SeedNumber = fmt.Sprint(m.Seed)
	}
	f.digitTokens(m)
	f.print(m)
	for _, t := range m.tensors {
		f.Shapes = append(f.Shapes, pyShape{t.Name, tuple(t.Shape)})
	}
	return f
}

// example returns a problem as people write it.
func (m *Model) example() string {
	p := m.task.Carries(3)
	p.Fillers = nil
	return m.task.Text(p)
}

// digitTokens lists the tokens that count towards places of numbers.
func (f *pyFile) digitTokens(m *Model) {
	var all []string
	for id := range int32(f.Vocab) {
		if m.task.Runs([]int32{id})[0] == 1 {
			all = append(all, fmt.Sprint(id))
		}
	}
	f.DigitTokens = "{" + strings.Join(all, ", ") + "}"
}

func tuple(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + ")"
}

// print prints the functions, the prelude that they need, and the program.
func (f *pyFile) print(m *Model) {
	if v := m.program.handed(); v != "" && f.err == nil {
		f.err = fmt.Errorf("cross attention reads %s of the source, by dj or nj, which files of Python do not hand on: export to onnx", strings.TrimPrefix(v, "source_"))
	}
	prelude := definitions(f.file(map[bool]string{true: "prelude_torch.py", false: "prelude_numpy.py"}[f.Torch]))
	p := newPython(prelude)
	signatures := map[string]pyFunc{}
	for _, fn := range m.program.funcs {
		signatures[fn.Name] = p.print(fn)
	}
	functions := p.out.String()
	f.Prelude = chosen(prelude, functions)
	var b strings.Builder
	b.WriteString(functions)
	m.program.print(&b, signatures)
	f.Program = b.String()
	f.err = cmp.Or(f.err, p.err)
}

// A definition is a function or variable of a prelude.
type definition struct {
	names []string
	text  string
}

var defined = regexp.MustCompile(`^(?:def (\w+)|(\w[\w, ]*) = )`)

// definitions splits a prelude into definitions.
func definitions(source string) []definition {
	var all []definition
	for line := range strings.Lines(source) {
		if m := defined.FindStringSubmatch(line); m != nil {
			all = append(all, definition{names: strings.Split(m[1]+m[2], ", ")})
		}
		all[len(all)-1].text += line
	}
	return all
}

// chosen returns the definitions that a text uses, directly or through other definitions.
func chosen(all []definition, text string) string {
	keep := make([]bool, len(all))
	for again := true; again; {
		again = false
		for i, d := range all {
			if !keep[i] && slices.ContainsFunc(d.names, func(name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) }) {
				keep[i], again = true, true
				text += d.text
			}
		}
	}
	var b strings.Builder
	function := true
	for i, d := range all {
		if !keep[i] {
			continue
		}
		before := function
		if function = strings.HasPrefix(d.text, "def"); function || before {
			b.WriteString("\n\n")
		}
		b.WriteString(strings.TrimRight(d.text, "\n") + "\n")
	}
	return strings.TrimSpace(b.String())
}

// print prints the encoder and the decoder, which call the functions.
func (p *program) print(b *strings.Builder, signatures map[string]pyFunc) {
	times := ""
	if slices.ContainsFunc(p.decode, func(s *step) bool { return s.times }) {
		times = ", times=TIMES"
	}
	if p.memory != "" {
		fmt.Fprintf(b, "\n\ndef encoder(weights, source_tokens):\n    \"\"\"source_tokens [B, S] -> %s [B, S, D]\"\"\"\n", p.memory)
		statements(b, p.encode, signatures, map[string]string{"B": "source_tokens.shape[0]", "S": "source_tokens.shape[1]"})
		fmt.Fprintf(b, "    return %s\n", p.memory)
		times = ""
	}
	inputs := "target_tokens"
	if p.memory != "" {
		inputs = p.memory + ", target_tokens"
	}
	fmt.Fprintf(b, "\n\ndef decoder(weights, %s%s):\n    \"\"\"target_tokens [B, T] -> %s [B, T, vocabulary]\"\"\"\n", inputs, times, logits)
	statements(b, p.decode, signatures, map[string]string{"B": "target_tokens.shape[0]", "T": "target_tokens.shape[1]"})
	fmt.Fprintf(b, "    return %s\n", p.out)
}

// statements prints steps. It takes the sizes that functions need from tokens.
func statements(b *strings.Builder, steps []*step, signatures map[string]pyFunc, sizes map[string]string) {
	for _, s := range steps {
		indent := "    "
		if s.n > 0 {
			n := fmt.Sprint(s.n)
			if s.times {
				n += " * times"
			}
			fmt.Fprintf(b, "    for layer in range(%s):\n", n)
			indent += "    "
		}
		for _, c := range s.calls {
			sig := signatures[c.fn.Name]
			var args []string
			if sig.weights {
				args = append(args, c.part(s))
			}
			args = append(args, c.args...)
			for _, d := range sig.dims {
				args = append(args, sizes[d])
			}
			if sig.layer {
				args = append(args, map[bool]string{true: "layer", false: "0"}[s.n > 0])
			}
			fmt.Fprintf(b, "%s%s = %s(%s)\n", indent, c.result, c.fn.Name, strings.Join(args, ", "))
		}
	}
}

// part prints the parameters of a call.
func (c *call) part(s *step) string {
	text := "part(weights"
	for _, g := range c.groups {
		layer := "layer"
		if g.Span > 1 {
			layer = fmt.Sprintf("%s // %d", layer, g.Span)
		}
		if s.n != g.Layers*max(g.Span, 1) || s.times {
			layer = fmt.Sprintf("%s %% %d", layer, g.Layers)
		}
		if g.Stack {
			text += fmt.Sprintf(", f\"%s.{%s}\"", g.Name, layer)
		} else {
			text += fmt.Sprintf(", %q", g.Name)
		}
	}
	return text + ")"
}

// file returns a template file.
func (f *pyFile) file(name string) string {
	data, err := templates.ReadFile("template/" + name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(data)
}

// text executes templates in order.
func (f *pyFile) text(parts ...string) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	var body bytes.Buffer
	for _, name := range parts {
		if strings.HasPrefix(name, "load") || strings.HasPrefix(name, "head") {
			continue // they follow when the imports are known
		}
		if err := f.fill(&body, name); err != nil {
			return nil, err
		}
	}
	var foot bytes.Buffer
	for _, name := range parts {
		if strings.HasPrefix(name, "load") {
			if err := f.fill(&foot, name); err != nil {
				return nil, err
			}
		}
	}
	f.imports(f.Prelude + body.String() + foot.String())
	var out bytes.Buffer
	for _, name := range parts {
		if strings.HasPrefix(name, "head") {
			if err := f.fill(&out, name); err != nil {
				return nil, err
			}
		}
	}
	out.Write(body.Bytes())
	out.Write(foot.Bytes())
	return spaced(out.Bytes()), nil
}

func (f *pyFile) fill(out *bytes.Buffer, name string) error {
	functions := template.FuncMap{"quote": quote, "truth": func(x bool) string { return map[bool]string{true: "True", false: "False"}[x] }}
	t, err := template.New(name).Funcs(functions).Parse(f.file(name))
	if err == nil {
		err = t.Execute(out, f)
	}
	if err != nil {
		return fmt.Errorf("BUG: %s: %w", name, err)
	}
	if text := bytes.TrimRight(out.Bytes(), "\n"); len(text) < out.Len() {
		out.Truncate(len(text) + 1)
	}
	return nil
}

// imports lists the modules that the text uses.
func (f *pyFile) imports(text string) {
	f.Imports = nil
	for _, name := range []string{"base64", "itertools", "json", "math", "os", "re", "sys"} {
		if regexp.MustCompile(`\b` + name + `\.[a-z]`).MatchString(text) {
			f.Imports = append(f.Imports, name)
		}
	}
	if n := len(f.Imports); n > 0 {
		f.Imports[n-1] += "\n"
	}
	switch {
	case f.HF:
		f.Imports = append(f.Imports, "torch", "transformers")
	case f.Torch:
		f.Imports = append(f.Imports, "torch")
	default:
		f.Imports = append(f.Imports, "numpy as np")
	}
}

// many matches more empty lines than Python has between functions.
var many = regexp.MustCompile(`\n{4,}`)

func spaced(text []byte) []byte { return many.ReplaceAll(text, []byte("\n\n\n")) }

// base64 encodes the parameters, in lines.
func (m *Model) base64() string {
	var data []byte
	for _, t := range m.tensors {
		for _, x := range t.Data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	}
	text := base64.StdEncoding.EncodeToString(data)
	var b strings.Builder
	for line := range slices.Chunk([]byte(text), 100) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// literals writes the parameters as the shortest numbers that Python reads back exactly.
func (m *Model) literals() ([]pyLiteral, error) {
	if n := m.Parameters(); n > MostLiterals {
		return nil, fmt.Errorf("the model has %d parameters, and at most %d are written as numbers: leave --store literals out", n, MostLiterals)
	}
	var all []pyLiteral
	for _, t := range m.tensors {
		p := pyLiteral{Name: t.Name, Shape: tuple(t.Shape)}
		for row := range slices.Chunk(t.Data, 8) {
			line := ""
			for _, x := range row {
				if x != x || math.IsInf(float64(x), 0) {
					return nil, fmt.Errorf("parameter %s has %g, which Python has no number for: leave --store literals out", t.Name, x)
				}
				line += literal(x) + ", "
			}
			p.Lines = append(p.Lines, strings.TrimSuffix(line, " "))
		}
		all = append(all, p)
	}
	return all, nil
}

// literal writes x so that reading it as float64 and rounding, as NumPy and PyTorch do,
// gives x.
func literal(x float32) string {
	text := strconv.FormatFloat(float64(x), 'g', -1, 32)
	if read, err := strconv.ParseFloat(text, 64); err != nil || float32(read) != x {
		text = strconv.FormatFloat(float64(x), 'g', -1, 64)
	}
	if !strings.ContainsAny(text, ".e") { // as an integer, -0 would read as 0
		text += ".0"
	}
	return text
}

// safetensors writes the parameters in that format, under the names that named returns.
func (m *Model) safetensors(named func(string) string) ([]byte, error) {
	f := ckpt.File{Meta: map[string]string{"format": "pt"}}
	for _, t := range m.tensors {
		t.Name = named(t.Name)
		f.Tensors = append(f.Tensors, t)
	}
	var b bytes.Buffer
	err := ckpt.Encode(&b, f)
	return b.Bytes(), err
}

// escaped writes a text for a string in triple quotes.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.TrimRight(text, "\n") + "\n")
}

// quoteShell quotes an argument for a shell.
func quoteShell(s string) string {
	if regexp.MustCompile(`^[\w+,.-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// architecture describes the model in one line.
func architecture(s *check.Model, by config.Recurrences) string {
	if l := s.Loop; l != nil {
		times := fmt.Sprintf("%d times", l.Times)
		if by.ByLength() {
			times = by.String() + " times"
		}
		return fmt.Sprintf("decoder-only, %d layers run %s, width %d, %d heads, %s %d", l.Layers, times, s.Width, s.Heads, s.Act, s.Hidden)
	}
	return fmt.Sprintf("encoder-decoder, %d encoder and %d decoder layers, width %d, %d heads, %s %d",
		s.Encoder.Layers*max(s.Encoder.Times, 1), s.Decoder.Layers*max(s.Decoder.Times, 1), s.Width, s.Heads, s.Act, s.Hidden)
}

// tricks lists the unusual properties of the model.
func tricks(s *check.Model, c *config.Task) []string {
	var all []string
	add := func(is bool, what string) {
		if is {
			all = append(all, what)
		}
	}
	add(s.Position.Kind != "none", s.Position.Kind+" positions")
	add(s.Decoder.Cross != nil && s.Decoder.Cross.Mask != nil, "mask of cross attention")
	add(slices.ContainsFunc(s.Sites(), func(site *check.Site) bool { return site.Bias != nil }), "attention bias")
	add(s.Tied, "tied output")
	add(c.Reversed, "answers lowest digit first")
	add(c.ReversedOperands, "operands lowest digit first")
	add(c.Interleave, "interleaved operands")
	return all
}
