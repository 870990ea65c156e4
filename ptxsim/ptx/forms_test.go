package ptx

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sampler writes instructions that a form of the table allows.
type sampler struct {
	r *rand.Rand
	f *Form
}

// mods chooses a word for each slot; in the given slot, the given word.
func (s *sampler) mods(slot, word int) []string {
	var words []string
	for i, m := range s.f.mods {
		switch {
		case i == slot:
			words = append(words, m.words[word])
		case m.optional && s.r.IntN(3) > 0:
		default:
			words = append(words, m.words[s.r.IntN(len(m.words))])
		}
	}
	return words
}

func (s *sampler) text(mods []string) string {
	in := Instr{Mods: mods, Form: s.f}
	for _, m := range mods {
		if t, ok := typeNames[m]; ok {
			in.Types = append(in.Types, t)
		}
	}
	var args []string
	for _, a := range s.f.args {
		if a.optional && s.r.IntN(2) == 0 {
			break
		}
		args = append(args, s.arg(&in, &a))
	}
	text := strings.Join(append(slices.Clone(s.f.words), mods...), ".")
	return text + " " + strings.Join(args, ", ") + ";"
}

func (s *sampler) arg(in *Instr, a *argSpec) string {
	t := in.resolveType(a.typ)
	if a.imm {
		if a.choices != nil {
			return fmt.Sprint(a.choices[s.r.IntN(len(a.choices))])
		}
		return fmt.Sprint(s.r.IntN(8))
	}
	switch a.kind {
	case argMem:
		return fmt.Sprintf("[%%b64_%d+32]", s.r.IntN(4))
	case argVec:
		return s.list(t, a.n)
	case argSplit:
		return s.list(map[int]Type{16: B8, 32: B16, 64: B32, 128: B64}[t.Bits()], 2)
	case argByMods:
		for n, word := range []string{2: "v2", 4: "v4"} {
			if word != "" && in.Has(word) {
				return s.list(t, n)
			}
		}
	case argLabel:
		return "here"
	case argTable:
		return "targets"
	}
	if in.Form.words[0] == "bar" || in.Form.words[0] == "barrier" {
		if t == U32 && !a.dest {
			return "%u32_0"
		}
	}
	text := s.reg(t)
	if a.pair == '|' || a.pair == '?' && s.r.IntN(2) == 0 {
		text += "|" + s.reg(Pred)
	}
	if t == Pred && !a.dest && s.r.IntN(2) == 0 {
		text = "!" + text
	}
	return text
}

func (s *sampler) reg(t Type) string {
	return fmt.Sprintf("%%%s_%d", t, s.r.IntN(4))
}

func (s *sampler) list(t Type, n int) string {
	var regs []string
	for i := range n {
		regs = append(regs, fmt.Sprintf("%%%s_%d", t, i))
	}
	return "{" + strings.Join(regs, ", ") + "}"
}

// tooWide reports whether a vector access has more than 16 bytes, which PTX forbids.
func tooWide(mods []string) bool {
	last := mods[len(mods)-1]
	t := typeNames[last]
	return slices.Contains(mods, "v4") && t.Bits() == 64
}

// samples writes one instruction for every word of every slot of a form.
func samples(r *rand.Rand, f *Form) []string {
	s := sampler{r, f}
	if len(f.mods) == 0 {
		return []string{s.text(nil)}
	}
	var all []string
	for slot, m := range f.mods {
		for word := range m.words {
			if mods := s.mods(slot, word); !tooWide(mods) {
				all = append(all, s.text(mods))
			}
		}
	}
	return all
}

// samplePrologue declares registers %TYPE_0 to %TYPE_7 of every type.
func samplePrologue(v Version, arch int) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".version %v\n.target sm_%d\n.address_size 64\n.visible .entry k()\n{\n", v, arch)
	for t := Pred; t <= B128; t++ {
		if t == TF32 || t == B128 && (v.before(Version{8, 3}) || arch < 70) {
			continue
		}
		fmt.Fprintf(&b, ".reg .%s %%%s_<8>;\n", map[Type]Type{F16: B16, BF16: B16, F16x2: B32, BF16x2: B32}[t].or(t), t)
	}
	b.WriteString("here:\ntargets: .branchtargets here;\n")
	return b.String()
}

func (t Type) or(other Type) Type {
	if t == NoType {
		return other
	}
	return t
}

// TestFormsParse parses samples of the table and checks that each gets the same name and
// modifiers.
func TestFormsParse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range forms() {
		for _, text := range samples(r, &forms()[i]) {
			m, err := Parse([]byte(samplePrologue(Version{8, 4}, 90) + text + "\nret;\n}\n"))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			in := &m.Kernels[0].Instrs[0]
			if want, _, _ := strings.Cut(text, " "); strings.Join(append([]string{in.Op}, in.Mods...), ".") != want {
				t.Errorf("%s became %s with %v", text, in.Op, in.Mods)
			}
		}
	}
}

var ptxasLine = regexp.MustCompile(`line (\d+); error *: (.*)`)

// firstVersions lists the first version of the language for an architecture.
var firstVersions = map[int]Version{
	50: {6, 0}, 53: {6, 0}, 60: {6, 0}, 61: {6, 0}, 70: {6, 0}, 75: {6, 3}, 80: {7, 0}, 86: {7, 1}, 90: {7, 8},
}

// TestFormsAssemble gives the same instructions to NVIDIA's assembler. It uses the first version
// and architecture in the table, as far back as the assembler supports them.
func TestFormsAssemble(t *testing.T) {
	ptxas := os.Getenv("MLC_PTXAS")
	if ptxas == "" {
		t.Skip("MLC_PTXAS names no assembler to compare with")
	}
	type first struct {
		v    Version
		arch int
	}
	r := rand.New(rand.NewPCG(3, 4))
	groups := map[first][]string{}
	for i := range forms() {
		f := &forms()[i]
		if f.Op == "ret" {
			continue
		}
		for _, text := range samples(r, f) {
			name, _, _ := strings.Cut(text, " ")
			v, arch := f.since(strings.Split(name, ".")[len(f.words):])
			at := first{v, max(arch, 50)}
			if v := firstVersions[at.arch]; at.v.before(v) {
				at.v = v
			}
			groups[at] = append(groups[at], text)
		}
	}
	for at, lines := range groups {
		t.Run(fmt.Sprintf("%v/sm_%d", at.v, at.arch), func(t *testing.T) {
			assemble(t, ptxas, fmt.Sprintf("sm_%d", at.arch), samplePrologue(at.v, at.arch), lines)
		})
	}
}

// assemble reports the lines that the assembler rejects.
func assemble(t *testing.T, ptxas, target, prologue string, lines []string) {
	file := filepath.Join(t.TempDir(), "forms.ptx")
	if err := os.WriteFile(file, []byte(prologue+strings.Join(lines, "\n")+"\nret;\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(ptxas, "-arch="+target, "-O0", "-o", os.DevNull, file)
	cmd.Stderr = &out
	if err := cmd.Run(); err == nil {
		return
	}
	for line := range strings.Lines(out.String()) {
		if m := ptxasLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if n -= strings.Count(prologue, "\n") + 1; n >= 0 && n < len(lines) {
				line = lines[n] + ": " + m[2]
			}
		}
		t.Error(strings.TrimSpace(line))
	}
}
