package build

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
)

// freshness is the result of build --check for one spec.
type freshness struct {
	Name        string      `json:"name"`
	Dir         string      `json:"dir"`
	Fresh       bool        `json:"fresh"`
	Differences []staleness `json:"differences"`
}

// staleness describes a file that differs from the program.
type staleness struct {
	File string `json:"file"`
	Kind string `json:"kind"`
	Line int    `json:"line,omitempty"` // the first different line, from 1
}

// CheckFresh reports whether the program on disk is the current one. If not, it prints the
// first difference and returns shell.ErrShown.
func CheckFresh(sh *shell.Shell, p *Product) error {
	diffs, err := compareProgram(p.dir, p.files)
	if err != nil {
		return err
	}
	f := freshness{Name: p.Name, Dir: filepath.ToSlash(paths.FromHere(p.dir)), Fresh: len(diffs) == 0, Differences: []staleness{}}
	for _, d := range diffs {
		line, _, _ := d.first()
		f.Differences = append(f.Differences, staleness{d.file, d.kind, line})
	}
	switch {
	case sh.JSON:
		err = sh.PrintJSON(f)
	case f.Fresh && !sh.Quiet:
		_, err = fmt.Fprintf(sh.Out, "%s is fresh\n", f.Dir)
	case !f.Fresh:
		_, err = fmt.Fprint(sh.Out, f.summary(diffs[0]), "make it fresh: mlc build ", filepath.ToSlash(paths.FromHere(p.of.Path(p.of.Name))), "\n")
	}
	if err == nil && !f.Fresh {
		err = shell.ErrShown
	}
	return err
}

// summary names the files that differ and shows the first difference.
func (f freshness) summary(first difference) string {
	var b strings.Builder
	for i, d := range f.Differences {
		fmt.Fprintf(&b, "%s/%s is %s\n", f.Dir, d.File, d.Kind)
		if line, have, want := first.first(); i == 0 && line > 0 {
			fmt.Fprintf(&b, "@@ line %d @@\n-%s\n+%s\n", line, have, want)
		}
	}
	return b.String()
}

// first returns the first line in which a stale file differs: its number, its text and the
// right text. The number is 0 for other kinds of differences.
func (d difference) first() (line int, have, want string) {
	if d.kind != stale {
		return 0, "", ""
	}
	h, w := bytes.Split(d.have, []byte("\n")), bytes.Split(d.want, []byte("\n"))
	for i := range min(len(h), len(w)) {
		if !bytes.Equal(h[i], w[i]) {
			return i + 1, string(h[i]), string(w[i])
		}
	}
	n := min(len(h), len(w))
	at := func(lines [][]byte) string {
		if n < len(lines) {
			return string(lines[n])
		}
		return ""
	}
	return n + 1, at(h), at(w)
}
