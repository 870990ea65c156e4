package arm64

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
)

// TestWords compares our words with words of GNU's assembler in testdata. If the assembler is
// installed, it compares with that, too.
func TestWords(t *testing.T) {
	var texts []string
	var ours []uint32
	var now strings.Builder
	for _, s := range samples() {
		texts = append(texts, s.form.armText(s.operands))
		ours = append(ours, s.form.word(s.operands))
		fmt.Fprintf(&now, "%08x %s\n", ours[len(ours)-1], texts[len(texts)-1])
	}
	assembler, why := full.ARM64Assembler.Find()
	if golden.Updating() {
		assembler = full.Needs(t, full.ARM64Assembler)
	}
	if assembler != "" {
		gnu, err := gnuWords(t, assembler, texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if gnu[i] != ours[i] {
				t.Errorf("%s: %08x, GNU's assembler has %08x", text, ours[i], gnu[i])
			}
		}
	} else {
		t.Log(why)
	}
	if !t.Failed() {
		golden.Compare(t, "testdata/words.txt", now.String())
	}
}

// gnuWords assembles one instruction a line.
func gnuWords(t *testing.T, assembler string, lines []string) ([]uint32, error) {
	t.Helper()
	object := filepath.Join(t.TempDir(), "words.o")
	as := exec.Command(assembler, "-march=armv8-a", "-o", object, "-")
	as.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := as.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	file, err := elf.Open(object)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := file.Section(".text").Data()
	if err != nil {
		return nil, err
	}
	if len(text) != 4*len(lines) {
		return nil, fmt.Errorf("%d bytes of %d instructions", len(text), len(lines))
	}
	var words []uint32
	for i := 0; i < len(text); i += 4 {
		words = append(words, binary.LittleEndian.Uint32(text[i:]))
	}
	return words, nil
}
