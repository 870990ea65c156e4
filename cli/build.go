package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// buildCmd is the verb build.
type buildCmd struct {
	Files    []string `arg:"" name:"FILE" help:"Specs."`
	Out      string   `help:"Folder for programs: FILE goes to DIR/NAME. Default: generated, below the module's root." short:"o" placeholder:"DIR"`
	Bin      string   `help:"Folder for binaries. Default: bin, below the module's root, or here." placeholder:"DIR"`
	NoBinary bool     `help:"Write programs without building them."`
	Set      []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Point    []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE,…"`
	Check    bool     `help:"Write nothing; check that files on disk match the specs." xor:"once"`
	Watch    bool     `help:"Build again whenever a spec or an included file changes." short:"w" xor:"once"`
	Dump     string   `help:"Also print a stage of the compilation (see mlc explain --help)." placeholder:"STAGE"`
}

// Help is printed below the usage.
func (buildCmd) Help() string {
	return `Examples:
  mlc build specs/successor.arith            writes generated/successor/ and bin/successor
  mlc build --check specs/*.arith            exit 1 if programs are stale
  mlc build x.arith --set train.batch=64     another program: generated/x-HASH
  mlc build sweep.arith --point seed=1       these trainings of a sweep: generated/sweep-…-seed-1
  mlc build --watch x.arith                  until Ctrl-C

Where the current folder is in no Go module that has mlc, programs are kept in mlc's cache
(MLC_CACHE), and written here with -o or --no-binary alone.

In Go code, beside a spec: //go:generate mlc build --no-binary x.arith`
}

// Run builds each spec; findings in one do not keep the others from being built.
func (c *buildCmd) Run(a *app) error {
	if err := checkStage(c.Dump); err != nil {
		return err
	}
	where, err := findProject(c.Out, c.Bin)
	if err != nil {
		return err
	}
	if err := distinctNames(c.Files); err != nil {
		return err
	}
	if c.Watch {
		return a.watch(
			func() error { return c.all(a, where) },
			func() ([]string, error) { return where.filesOf(c.Files, c.Set) })
	}
	return c.all(a, where)
}

// all builds each training of each spec once.
func (c *buildCmd) all(a *app, where project) error {
	var shown findings
	for _, file := range c.Files {
		trainings, err := a.trainings(file, where.root, c.Set, c.Point)
		if err := shown.unless(err); err != nil {
			return err
		}
		for _, t := range trainings {
			if err := shown.unless(c.one(a, where, t)); err != nil {
				return err
			}
		}
	}
	return shown.err()
}

// findings remembers that something was found, while a verb goes on.
type findings bool

// unless returns an error that is more than findings.
func (f *findings) unless(err error) error {
	if errors.Is(err, errShown) {
		*f = true
		return nil
	}
	return err
}

// err is errShown if there were any.
func (f findings) err() error {
	if f {
		return errShown
	}
	return nil
}

// distinctNames makes sure that no two specs become the same program.
func distinctNames(files []string) error {
	seen := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		if first, ok := seen[name]; ok {
			return usagef("%s and %s would both become the program %s: rename one, or build them to two folders with -o", first, f, name)
		}
		seen[name] = f
	}
	return nil
}

func (c *buildCmd) one(a *app, where project, t training) error {
	start, text := time.Now(), !where.apart || c.Out != "" || c.NoBinary || c.Check
	p, err := c.product(a, where, t, text)
	if err != nil {
		return err
	}
	if c.Dump != "" {
		if err := a.printStages(p.program, c.Dump, "", onCard{}); err != nil {
			return err
		}
	}
	if c.Check {
		return a.check(p)
	}
	made, err := a.write(p, start)
	if err != nil {
		return err
	}
	if !text {
		made.Dir, made.Files, made.Changed = "", 0, []string{}
	}
	if !c.NoBinary {
		if where.apart && text {
			if p, err = c.product(a, where, t, false); err == nil {
				_, err = a.write(p, start)
			}
			if err != nil {
				return err
			}
		}
		if err := a.link(p, made, everything); err != nil {
			return err
		}
	}
	return a.built(made)
}

// product is the program of a training as text for the user, or in the cache.
func (c *buildCmd) product(a *app, where project, t training, text bool) (*product, error) {
	if text {
		return where.product(a, t)
	}
	return a.atHome(t, where.binaries)
}

// built prints what was made.
func (a *app) built(made *report) error {
	if a.json {
		return a.printJSON(made)
	}
	if !a.quiet {
		fmt.Fprint(a.out, made)
	}
	return nil
}

// A report says what was made from a spec.
type report struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Dir     string   `json:"dir,omitempty"` // of the program; none where it is in the cache
	Files   int      `json:"files"`
	Changed []string `json:"changed"` // written or removed
	Seconds float64  `json:"seconds"` // to compile and write
	Binary  string   `json:"binary,omitempty"`
	Link    float64  `json:"seconds_binary,omitempty"`
	verbose bool

	announced bool // that the binary is built
}

// String is a line for the program and one for its binary.
func (r *report) String() string {
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

// write puts the program of a product on disk.
func (a *app) write(p *product, start time.Time) (*report, error) {
	changed, err := a.writeProgram(p.dir, p.files)
	if err != nil {
		return nil, err
	}
	return &report{Name: p.name, Source: p.of.name, Dir: fromHere(p.dir), Files: len(p.files),
		Changed: append([]string{}, changed...), Seconds: time.Since(start).Seconds(), verbose: a.verbose}, nil
}

// link builds the binary of a product.
func (a *app) link(p *product, r *report, how telling) error {
	start := time.Now()
	over := a.announce(p, len(r.Changed) > 0 || !exists(p.binary), how)
	err := a.makeBinary(p)
	r.announced = over()
	if err != nil {
		return err
	}
	r.Binary, r.Link = fromHere(p.binary), time.Since(start).Seconds()
	return nil
}
