package arm64

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDisassembly reads our words with Go's disassembler. It must print ARM's text, except for
// names that mean the same.
func TestDisassembly(t *testing.T) {
	all := samples()
	var b strings.Builder
	b.WriteString("TEXT ·f(SB), 4, $0-0\n")
	for _, s := range all {
		fmt.Fprintf(&b, "\t%s\n", s.form.wordText(s.operands))
	}
	b.WriteString("\tRET\n")
	known := 0
	for line, text := range disassemble(t, b.String()) {
		if line -= 2; line < 0 || line >= len(all) {
			continue
		}
		known++
		ours := all[line].form.armText(all[line].operands)
		if want, have := plain(ours), plain(text); want != have && !alias(want, have) {
			t.Errorf("%s is disassembled as %s", ours, text)
		}
	}
	if known < len(all) {
		t.Errorf("%d of %d words are disassembled", known, len(all))
	}
}

// disassemble assembles a text and yields its lines with ARM's text of their words.
func disassemble(t *testing.T, text string) iter.Seq2[int, string] {
	t.Helper()
	dump := goTool(t, "objdump", "-gnu", object(t, text))
	return func(yield func(int, string) bool) {
		for l := range strings.Lines(dump) {
			if m := gnuText.FindStringSubmatch(strings.TrimRight(l, "\n")); m != nil {
				line, _ := strconv.Atoi(m[1])
				if !yield(line, m[2]) {
					return
				}
			}
		}
	}
}

// gnuText is a line of objdump: the line of the file, and ARM's text.
var gnuText = regexp.MustCompile(`^\s+x_arm64\.s:(\d+)\s.*// (.*?)\s*$`)

var (
	number  = regexp.MustCompile(`#[-+.0-9a-fx]+`)
	stretch = regexp.MustCompile(`\{v(\d+)\.(\w+)-v(\d+)\.\w+\}`)
)

// plain makes texts equal that may be written in several ways.
func plain(text string) string {
	mnemonic, operands, _ := strings.Cut(text, " ")
	operands = strings.TrimSuffix(strings.ReplaceAll(operands, " ", ""), ",lsl#0")
	operands = number.ReplaceAllStringFunc(operands, func(s string) string {
		if v, err := strconv.ParseInt(s[1:], 0, 64); err == nil {
			return fmt.Sprintf("#%d", uint64(v))
		}
		if v, err := strconv.ParseUint(s[1:], 0, 64); err == nil {
			return fmt.Sprintf("#%d", v)
		}
		v, _ := strconv.ParseFloat(s[1:], 64)
		return fmt.Sprintf("#%g", v)
	})
	operands = stretch.ReplaceAllStringFunc(operands, func(s string) string {
		m := stretch.FindStringSubmatch(s)
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(m[3])
		var all []string
		for v := first; v <= last; v++ {
			all = append(all, fmt.Sprintf("v%d.%s", v, m[2]))
		}
		return "{" + strings.Join(all, ",") + "}"
	})
	operands = conditionNames.Replace(operands)
	return conditionNames.Replace(mnemonic) + " " + operands
}

var conditionNames = strings.NewReplacer(",cs", ",hs", ",cc", ",lo", "b.cs", "b.hs", "b.cc", "b.lo")

// aliases are other names that the disassembler uses for some operands of an instruction. It
// then prints the operands differently.
var aliases = map[string]string{
	"add": "mov", "and": "tst", "csel": "", "ins": "mov", "umov": "mov", "lsl": "lsr ubfiz ubfx",
	"msub": "mneg", "orr": "mov", "sub": "neg",
}

func alias(ours, theirs string) bool {
	name, _, _ := strings.Cut(ours, " ")
	other, _, _ := strings.Cut(theirs, " ")
	return slices.Contains(strings.Fields(aliases[name]), other)
}
