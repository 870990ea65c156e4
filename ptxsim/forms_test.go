package ptxsim_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

var update = flag.Bool("update", false, "rewrite the table of README.md")

// undecoded are the rows that are parsed but cannot run.
var undecoded = []string{"mov .b128"}

// TestForms decodes samples for each row of the instruction table, and for each word of each row.
func TestForms(t *testing.T) {
	lines := strings.Split(text(t, "forms"), "\n")
	start := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "targets:") }) + 1
	end := slices.Index(lines, "ret;")
	prologue := strings.Join(lines[:start], "\n")
	seen := map[string]bool{}
	for _, line := range lines[start:end] {
		src := []byte(prologue + "\n" + line + "\nret;\n}\n")
		m, err := ptx.Parse(src)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		form := m.Kernels[0].Instrs[0].Form
		seen[row(form)] = true
		_, err = ptxsim.New(ptxsim.Options{Arch: 90}).Load(src)
		if no := isUndecoded(form); no != (err != nil) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, f := range ptx.Forms() {
		if !seen[row(&f)] {
			t.Errorf("testdata/forms.ptx has no sample of %s", row(&f))
		}
	}
}

func row(f *ptx.Form) string { return f.Op + " " + f.Text }

func isUndecoded(f *ptx.Form) bool {
	return slices.ContainsFunc(undecoded, func(p string) bool { return strings.HasPrefix(row(f), p) })
}

// TestDocs checks that the documentation's table equals the instruction table.
func TestDocs(t *testing.T) {
	const path, begin, end = "README.md", "<!-- instructions -->\n", "<!-- end -->\n"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks around its instructions", path)
	}
	want := head + begin + instructionTable() + end + tail
	if want == string(old) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the instruction table says: go test ./ptxsim -run TestDocs -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func instructionTable() string {
	var b strings.Builder
	b.WriteString("| instruction | modifiers and operands | PTX | from |\n|---|---|---|---|\n")
	for _, f := range ptx.Forms() {
		if isUndecoded(&f) {
			continue
		}
		text := strings.ReplaceAll(f.Text, "|", "\\|")
		if text != "" {
			text = "`" + text + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d.%d | sm_%d |\n", f.Op, text, f.Since.Major, f.Since.Minor, f.Arch)
	}
	return b.String()
}
