package build

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
)

// PrintReport prints a report, as JSON if sh.JSON is set.
func PrintReport(sh *shell.Shell, made *Report) error {
	if sh.JSON {
		return sh.PrintJSON(made)
	}
	if !sh.Quiet {
		fmt.Fprint(sh.Out, made)
	}
	return nil
}

// A Report describes the program and the binary built from a spec.
type Report struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Dir     string   `json:"dir,omitempty"` // folder of the program; "" if it is in the cache
	Files   int      `json:"files"`
	Changed []string `json:"changed"` // written or removed files
	Seconds float64  `json:"seconds"` // time to compile and write
	Binary  string   `json:"binary,omitempty"`
	Link    float64  `json:"seconds_binary,omitempty"`
	verbose bool

	announced bool // the build was announced
}

// String returns a line for the program and a line for its binary.
func (r *Report) String() string {
	var b strings.Builder
	if r.Dir != "" {
		fmt.Fprintf(&b, "%s  %d files, %d changed, %.2f s\n", filepath.ToSlash(r.Dir), r.Files, len(r.Changed), r.Seconds)
	}
	if r.verbose {
		for _, f := range r.Changed {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	if r.Binary != "" {
		fmt.Fprintf(&b, "%s  %.2f s\n", filepath.ToSlash(r.Binary), r.Link)
	}
	return b.String()
}

// Write writes the program of a product to its folder. It returns an error if a file of
// other origin is in the way.
func (b *Builder) Write(p *Product, start time.Time) (*Report, error) {
	changed, err := b.writeProgram(p.dir, p.files)
	if err != nil {
		return nil, err
	}
	return &Report{Name: p.Name, Source: p.of.Name, Dir: paths.FromHere(p.dir), Files: len(p.files),
		Changed: append([]string{}, changed...), Seconds: time.Since(start).Seconds(), verbose: b.Verbose}, nil
}

// Link builds the binary of a product and adds it to the report.
func (b *Builder) Link(p *Product, r *Report, how Telling) error {
	if _, err := findGo(); err != nil {
		return err
	}
	start := time.Now()
	over := b.announce(p, len(r.Changed) > 0 || !paths.Exists(p.Binary), how)
	err := b.makeBinary(p)
	r.announced = over()
	if err != nil {
		return err
	}
	r.Binary, r.Link = paths.FromHere(p.Binary), time.Since(start).Seconds()
	return nil
}
