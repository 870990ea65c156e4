package arm64

import (
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

var update = flag.Bool("update", false, "rewrite testdata/words.txt by GNU's assembler")

const wordsFile = "testdata/words.txt"

// TestWords compares our words with words of GNU's assembler in testdata. If the assembler is
// installed, it compares with that, too.
func TestWords(t *testing.T) {
	var texts []string
	var ours []uint32
	for _, s := range samples() {
		texts = append(texts, s.form.armText(s.operands))
		ours = append(ours, s.form.word(s.operands))
	}
	if *update {
		gnu, err := gnuWords(t, full.Needs(t, full.ARM64Assembler), texts)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i, text := range texts {
			fmt.Fprintf(&b, "%08x %s\n", gnu[i], text)
		}
		if err := os.WriteFile(wordsFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(kept), "\n"), "\n")
	if len(lines) != len(texts) {
		t.Errorf("%s has %d lines, want %d: go test ./codegen/cpu/arm64 -update with GNU's assembler", wordsFile, len(lines), len(texts))
	}
	for i, text := range texts {
		if want := fmt.Sprintf("%08x %s", ours[i], text); i < len(lines) && lines[i] != want {
			t.Errorf("%s has %q where we have %q", wordsFile, lines[i], want)
		}
	}
	if *update {
		return
	}
	assembler, why := full.ARM64Assembler.Find()
	if assembler == "" {
		t.Log(why)
		return
	}
	gnu, err := gnuWords(t, assembler, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if gnu[i] != ours[i] {
			t.Errorf("%s: %08x, GNU's assembler has %08x", text, ours[i], gnu[i])
		}
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
