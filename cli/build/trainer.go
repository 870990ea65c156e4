package build

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
)

// Trainer writes the program of a training and builds its binary, unless they are current.
// It returns errNoGo if there is no Go toolchain and the binary is not current.
func (b *Builder) Trainer(where project.Folders, t project.Training, how Telling) (*Product, error) {
	start := time.Now()
	if where.Apart {
		p, err := b.AtHome(t, "")
		if err == nil {
			err = b.makeFresh(p, how)
		}
		return p, err
	}
	p, err := b.Product(where, t)
	if err != nil {
		return nil, err
	}
	made, err := b.Write(p, start)
	if err != nil {
		return nil, err
	}
	switch err := b.Link(p, made, how); {
	case errors.Is(err, errNoGo) && p.fresh():
	case err != nil:
		return nil, err
	case how == Everything:
		b.Say("%s", strings.TrimSuffix(made.String(), "\n"))
	case how == Brief && made.announced:
		b.Say("%s: built in %.1f s", p.Name, time.Since(start).Seconds())
	}
	return p, nil
}

// Command returns a command line of a product.
func (p *Product) Command(verb string, flags []string) []string {
	if p.calledBy != "" {
		return append([]string{p.calledBy, verb}, flags...)
	}
	return append([]string{callable(paths.FromHere(p.Binary)), verb}, flags...)
}

// callable returns a path that a shell takes as a command.
func callable(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "." + string(filepath.Separator) + path
	}
	return path
}
