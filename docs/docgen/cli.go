package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/cli"
	"github.com/arithlang/mlc/runtime"
)

// conventions is the text before the verbs.
const conventions = `# The command line

` + "`mlc VERB --help` and `NAME VERB --help`" + ` print these texts. ` + "`NAME`" + ` is a trainer, the program that ` + "`mlc`" + ` makes of a spec.

A word means the same in every verb: ` + "`--jobs`" + ` is how many trainings run at a time, ` + "`--out`" + ` names the written file or
folder, ` + "`--format`" + ` chooses its form. Verbs of ` + "`mlc`" + ` take the flags of the trainer that they start. Flags may stand
anywhere. ` + "`-q` and `--json`" + ` mean the same before and after the verb. A flag that was renamed is an error that says its
new name: ` + "`train --parallel`, `runs --csv`, `explain --html FILE` and `export --to FORM OUT`" + `.

| exit code | means |
|---|---|
| 0 | success |
| 1 | findings or a failure |
| 2 | a mistake on the command line |
| 128 + the signal's number | a signal ended the program: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, 138 SIGUSR1, 140 SIGUSR2, 152 SIGXCPU |

The first signal interrupts; a trainer saves before it stops. The second signal kills.

` + "`go install .`" + ` installs ` + "`mlc`" + `; inside this repository ` + "`go run .`" + ` is the same. ` + "`mlc train x.arith`" + ` then works in any
folder, without a network: the runtime's source is in the binary, and trainers are built in a cache (` + "`MLC_CACHE`" + `). In a
Go module that has mlc, programs are written to the module: ` + "`//go:generate mlc build looped.arith`" + `.

Flags of every verb of ` + "`mlc`" + `:

`

// A program is one whose command line the page shows.
type program struct {
	name, title string
	run         func(out io.Writer, args ...string)
}

var programs = []program{
	{"mlc", "Verbs of mlc", func(out io.Writer, args ...string) { cli.Run(nil, args, out, out) }},
	{"NAME", "Verbs of a trainer", func(out io.Writer, args ...string) { runtime.Parse(out, args...) }},
}

var (
	// A group of verbs in a program's help, and a verb in it with its description.
	verbGroup = regexp.MustCompile(`(?m)^([a-zA-Z].*):\n((?:  .*\n)+)`)
	verbLine  = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +(.*(?:\n {8,}.*)*)`)

	commonFlags = regexp.MustCompile(`(?s)(  -h, --help.*?--version +Print the version\.\n)\n?`)
)

// commandPage shows what the command lines themselves say.
func commandPage() string {
	var b strings.Builder
	b.WriteString(header + conventions)
	for i, p := range programs {
		help := p.text()
		if i == 0 {
			fmt.Fprintf(&b, "```\n%s```\n", commonFlags.FindStringSubmatch(help)[1])
		}
		var pages strings.Builder
		fmt.Fprintf(&b, "\n## %s\n", p.title)
		for _, g := range verbGroup.FindAllStringSubmatch(help, -1) {
			if g[1] == "Flags" {
				continue
			}
			fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", g[1])
			for _, v := range verbLine.FindAllStringSubmatch(g[2], -1) {
				name := p.name + " " + v[1]
				if v[1] == "help" { // says what the tables say
					fmt.Fprintf(&b, "| `%s` | %s |\n", name, v[2])
					continue
				}
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", name, strings.ToLower(strings.ReplaceAll(name, " ", "-")), strings.Join(strings.Fields(v[2]), " "))
				text := commonFlags.ReplaceAllString(p.text(strings.Fields(v[1])...), "")
				fmt.Fprintf(&pages, "\n### %s\n\n```\n%s\n```\n", name, strings.TrimSpace(strings.TrimSuffix(text, "Flags:\n")))
			}
		}
		b.WriteString(pages.String())
	}
	return b.String()
}

// text is the help of a program, or of one of its verbs.
func (p program) text(verb ...string) string {
	var b bytes.Buffer
	p.run(&b, append(verb, "--help")...)
	return b.String()
}
