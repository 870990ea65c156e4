package arm64

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestGo compares our words with Go's assembler, for all instructions that are printed in Go's
// mnemonics. Go's text must give one word, and the same.
func TestGo(t *testing.T) {
	var lines []string
	var have []sample
	for _, s := range samples() {
		if s.form.golang != "" {
			lines = append(lines, s.form.goText(s.operands))
			have = append(have, s)
		}
	}
	words := goWords(t, lines)
	for i, s := range have {
		if want := s.form.word(s.operands); len(words[i]) != 1 || words[i][0] != want {
			t.Errorf("%s: %08x, of Go's %s come %08x", s.form.armText(s.operands), want, lines[i], words[i])
		}
	}
	if len(have) < 1500 {
		t.Errorf("only %d instructions are printed in Go's mnemonics", len(have))
	}
}

// goWords assembles each line and returns its words.
func goWords(t *testing.T, lines []string) [][]uint32 {
	t.Helper()
	var b strings.Builder
	b.WriteString("TEXT ·f(SB), 4, $0-0\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "\t%s\n", l)
	}
	b.WriteString("\tRET\n") // padding counts as part of it
	words := make([][]uint32, len(lines))
	for line, all := range assemble(t, b.String()) {
		if line -= 2; line >= 0 && line < len(lines) {
			words[line] = all
		}
	}
	return words
}

// dumped matches a line of objdump: the line of the file, and the word.
var dumped = regexp.MustCompile(`^\s+x_arm64\.s:(\d+)\s+0x[0-9a-f]+\s+([0-9a-f]{8})\s`)

// assemble returns the words of each line of the text.
func assemble(t *testing.T, text string) map[int][]uint32 {
	t.Helper()
	words := map[int][]uint32{}
	for _, l := range strings.Split(goTool(t, "objdump", object(t, text)), "\n") {
		if m := dumped.FindStringSubmatch(l); m != nil {
			line, _ := strconv.Atoi(m[1])
			word, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			words[line] = append(words[line], uint32(word))
		}
	}
	return words
}

// object runs Go's assembler and returns the path of the object file.
func object(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	source, object := filepath.Join(dir, "x_arm64.s"), filepath.Join(dir, "x.o")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	goTool(t, "asm", "-p", "x", "-I", filepath.Join(goRoot(t), "pkg", "include"), "-o", object, source)
	return object
}

func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool"}, args...)...)
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
