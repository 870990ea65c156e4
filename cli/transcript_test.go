package cli

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// transcript executes a document in the current folder of a script. It writes the fenced
// blocks that have a file name after their language. In blocks of the language console it
// runs the lines that begin with "$ ".
func transcript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: transcript FILE")
	}
	for _, b := range fencedBlocks(ts.ReadFile(args[0])) {
		language, name, _ := strings.Cut(b.info, " ")
		switch {
		case language == "console":
			for _, c := range commandsOf(b.text) {
				runCommand(ts, c)
			}
		case name != "":
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(b.text), 0o644))
		}
	}
}

// A shellCommand is a command and its output, stdout and stderr, in a document.
type shellCommand struct{ text, output string }

// runCommand wants the output of the document, and success unless that output has an error.
func runCommand(ts *testscript.TestScript, c shellCommand) {
	ts.Logf("$ %s", c.text)
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(c.text, "go run . ", "mlc ")) // the same in a checkout
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	got, err := cmd.CombinedOutput()
	ts.Logf("%s", got)
	switch {
	case err != nil && !strings.Contains(c.output, "error"):
		ts.Fatalf("%s: %v", c.text, err)
	case !says(c.output, string(got)):
		ts.Fatalf("%s: the document says\n%s", c.text, c.output)
	}
}

// quotes wants a file to contain the code in a document's blocks without a name.
func quotes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: quotes DOCUMENT FILE")
	}
	for _, b := range fencedBlocks(ts.ReadFile(args[0])) {
		if b.info == "arith" && !strings.Contains(ts.ReadFile(args[1]), b.text) {
			ts.Fatalf("%s does not have\n%s", args[1], b.text)
		}
	}
}

// tolerance is the largest factor between a decimal number and the document's.
const tolerance = 3

var decimal = regexp.MustCompile(` *\b\d+\.\d+\b`)

// says compares an output with a document's. In the document, … stands for any text within
// a line or, on a line of its own, for any lines.
func says(document, output string) bool {
	var pattern strings.Builder
	var want []string
	for line := range strings.Lines(document) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?s:.*)`)
			continue
		}
		want = append(want, decimal.FindAllString(line, -1)...)
		parts := decimal.Split(line, -1)
		for i, part := range parts {
			parts[i] = strings.ReplaceAll(regexp.QuoteMeta(part), "…", ".*")
		}
		pattern.WriteString(strings.Join(parts, ` *(\d+\.\d+)`))
	}
	got := regexp.MustCompile("^" + pattern.String() + "$").FindStringSubmatch(output)
	for i := range want {
		if got == nil || math.Abs(decimalOf(want[i])-decimalOf(got[i+1])) > tolerance {
			return false
		}
	}
	return got != nil
}

// decimalOf returns the number that decimal has matched.
func decimalOf(text string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return x
}

type fencedBlock struct{ info, text string }

// fencedBlocks lists the blocks between lines of ``` in a Markdown text.
func fencedBlocks(text string) []fencedBlock {
	var out []fencedBlock
	open := false
	for line := range strings.Lines(text) {
		info, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && open:
			open = false
		case fence:
			out = append(out, fencedBlock{info: info})
			open = true
		case open:
			out[len(out)-1].text += line
		}
	}
	return out
}

// commandsOf splits a console block into commands.
func commandsOf(text string) []shellCommand {
	var out []shellCommand
	for line := range strings.Lines(text) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, shellCommand{text: strings.TrimSpace(c)})
		} else if len(out) > 0 {
			out[len(out)-1].output += line
		}
	}
	return out
}

// TestTranscript tests the checks of the tutorial.
func TestTranscript(t *testing.T) {
	blocks := fencedBlocks("text\n```console\n$ a b\nx 12 s\n\n$ c\n```\nmore\n```go f.go\npackage f\n```\n")
	if got, want := fmt.Sprintf("%q", blocks), `[{"console" "$ a b\nx 12 s\n\n$ c\n"} {"go f.go" "package f\n"}]`; got != want {
		t.Errorf("blocks %s", got)
	}
	if got, want := fmt.Sprintf("%q", commandsOf(blocks[0].text)), `[{"a b" "x 12 s\n\n"} {"c" ""}]`; got != want {
		t.Errorf("commands %s", got)
	}
	for _, c := range []struct {
		document, output string
		want             bool
	}{
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a b\nc\n", false},
		{"a\n…\nc\n", "a\nb\nb\nc\n", true},
		{"a\n…\nc\n", "a\nc\n", true},
		{"a\n…\nc\n", "a\nb\n", false},
		{"a.c\n", "abc\n", false},
		{"", "a\n", false},
		{"", "", true},
		{"a  99.50 %\n", "a 100.00 %\n", true},
		{"a 100.0  50.0\n", "a  99.5  52.9\n", true},
		{"a 100.0  50.0\n", "a  99.5  53.1\n", false},
		{"a 100.0\n", "a 100\n", false},
		{"…\na 1.0\n…\n", "0.5\na 1.5\n7.0\n", true},
	} {
		if got := says(c.document, c.output); got != c.want {
			t.Errorf("%q, %q: %v", c.document, c.output, got)
		}
	}
}
