package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime"
)

// placeholders maps placeholders in documents to values.
var placeholders = map[string]string{"N": "1", "P": "8", "K": "k", "…": "x", "FORM": "onnx"}

// commandLine splits a line of a document into words, as a shell does. It stops at the end
// of the command: a comment, a pipe, another command, or an explanation after two spaces.
func commandLine(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`((?:'[^']*'|"[^"]*"|[^\s'"])+)(\s*)`).FindAllStringSubmatch(line, -1) {
		word := strings.NewReplacer("'", "", `"`, "").Replace(m[1])
		if slices.Contains([]string{"|", ">", "&&", "||", "#", "&"}, word) {
			break
		}
		name, value, assigned := strings.Cut(word, "=")
		if p, ok := placeholders[value]; assigned && ok {
			word = name + "=" + p
		}
		if p, ok := placeholders[word]; ok {
			word = p
		}
		words = append(words, strings.TrimSuffix(word, ";"))
		if len(m[2]) > 1 || strings.HasSuffix(word, ";") {
			break
		}
	}
	return words
}

// parse parses a command line of mlc or of a trainer with that program's parser.
func parse(words []string) error {
	if words[0] != "mlc" {
		return runtime.Parse(io.Discard, words[1:]...)
	}
	parser := newParser(new(verbs), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	_, err := parser.Parse(words[1:])
	return err
}

// TestDocumentsCommands parses the command lines in all documents, in code blocks and in
// inline code.
func TestDocumentsCommands(t *testing.T) {
	var (
		inBlock  = regexp.MustCompile(`(?m)^(?:\$ |    |  )?((?:mlc|NAME|go run \.|bin/[\w-]+) [a-z-].*)$`)
		inText   = regexp.MustCompile("`((?:mlc|NAME|go run \\.|bin/[\\w-]+) [a-z-][^`]*)`")
		fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
		verbOnly = regexp.MustCompile(`^(mlc|NAME) [a-z-]+( (check|run))?$`)
	)
	found, complete := 0, 0
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/*/*.md", "../ptxsim/*.md", "../prove/records/*.md", "../python/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "cli.md") { // the help itself
				continue
			}
			lines := inBlock.FindAllStringSubmatch(string(text), -1)
			for _, m := range inText.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
				lines = append(lines, []string{m[0], strings.Join(strings.Fields(m[1]), " ")})
			}
			for _, m := range lines {
				line := strings.Replace(m[1], "go run . ", "mlc ", 1)
				words := commandLine(line)
				if len(words) < 2 {
					continue
				}
				found++
				err := parse(words)
				if err != nil && (verbOnly.MatchString(strings.Join(words, " ")) || missing(err)) {
					// a verb, or a command line without its files
					err = parse(append(slices.Clip(words), "--help"))
				} else if err == nil {
					complete++
				}
				if err != nil && !missing(err) {
					t.Errorf("%s: %s: %v", file, line, err)
				}
			}
		}
	}
	if found < 200 || complete < 100 {
		t.Errorf("only %d command lines, %d of them complete", found, complete)
	}
}

// missing reports whether a command line lacks an argument, as in a text about a verb.
func missing(err error) bool {
	var p *kong.ParseError
	return errors.As(err, &p) && (strings.Contains(err.Error(), "expected ") || strings.Contains(err.Error(), "missing flags"))
}
