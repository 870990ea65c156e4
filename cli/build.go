package cli

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
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

Outside a Go module that requires mlc, programs are kept in mlc's cache (MLC_CACHE). With
-o or --no-binary they are written here.

In Go code next to a spec: //go:generate mlc build --no-binary x.arith`
}

// Run builds each spec. Findings in one do not stop the others.
func (c *buildCmd) Run(b *build.Builder) error {
	if err := look.CheckStage(c.Dump); err != nil {
		return err
	}
	where, err := project.Find(c.Out, c.Bin)
	if err != nil {
		return err
	}
	if err := distinctNames(c.Files); err != nil {
		return err
	}
	if c.Watch {
		return build.Watch(b.Shell,
			func() error { return c.all(b, where) },
			func() ([]string, error) { return where.FilesOf(c.Files, c.Set) })
	}
	return c.all(b, where)
}

// all builds each training of each spec once.
func (c *buildCmd) all(b *build.Builder, where project.Folders) error {
	var shown shell.Findings
	for _, file := range c.Files {
		trainings, err := project.Trainings(b.Shell, file, where.Root, c.Set, c.Point)
		if err := shown.Unless(err); err != nil {
			return err
		}
		for _, t := range trainings {
			if err := shown.Unless(c.one(b, where, t)); err != nil {
				return err
			}
		}
	}
	return shown.Err()
}

// distinctNames returns an error if two specs would become the same program.
func distinctNames(files []string) error {
	seen := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		if first, ok := seen[name]; ok {
			return shell.Usagef("%s and %s would both become the program %s: rename one, or build them to two folders with -o", first, f, name)
		}
		seen[name] = f
	}
	return nil
}

func (c *buildCmd) one(b *build.Builder, where project.Folders, t project.Training) error {
	start, text := time.Now(), !where.Apart || c.Out != "" || c.NoBinary || c.Check
	p, err := c.product(b, where, t, text)
	if err != nil {
		return err
	}
	if c.Dump != "" {
		if err := look.PrintStages(b.Shell, p.Program, c.Dump, "", look.OnCard{}); err != nil {
			return err
		}
	}
	if c.Check {
		return build.CheckFresh(b.Shell, p)
	}
	made, err := b.Write(p, start)
	if err != nil {
		return err
	}
	if !text {
		made.Dir, made.Files, made.Changed = "", 0, []string{}
	}
	if !c.NoBinary {
		if where.Apart && text {
			if p, err = c.product(b, where, t, false); err == nil {
				_, err = b.Write(p, start)
			}
			if err != nil {
				return err
			}
		}
		if err := b.Link(p, made, build.Everything); err != nil {
			return err
		}
	}
	return build.PrintReport(b.Shell, made)
}

// product returns the program of a training, as text for the user or in the cache.
func (c *buildCmd) product(b *build.Builder, where project.Folders, t project.Training, text bool) (*build.Product, error) {
	if text {
		return b.Product(where, t)
	}
	return b.AtHome(t, where.Binaries)
}
