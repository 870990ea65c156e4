package rundir

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/tokens"
)

// writeFiles writes the files that the spec reads to a run directory, so that the spec keeps
// its meaning wherever the directory is moved.
func (id Identity) writeFiles(dir string) error {
	texts, tables := id.files()
	if len(texts)+len(tables) > 0 {
		if err := os.MkdirAll(filepath.Join(dir, config.FilesFolder), 0o755); err != nil {
			return err
		}
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if sameText(at(name), texts[name]) { // comparing is cheaper than writing
			continue
		}
		if err := ckpt.WriteFile(at(name), []byte(texts[name])); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if err := ckpt.Write(at(name), *tables[name]); err != nil {
			return err
		}
	}
	return nil
}

// files returns the problems and the tables that the spec reads, by their paths in a run.
// Stages may read several tables of a file, or a file with several token rules; then the rule
// that changes the text least provides it.
func (id Identity) files() (texts map[string]string, tables map[string]*ckpt.File) {
	texts, tables = map[string]string{}, map[string]*ckpt.File{}
	least := map[string]int{}
	for _, m := range id.Models {
		given, changed := m.Tables(), changes(m.Task.Tokens)
		for _, f := range m.Files {
			if f.Tensors == nil {
				if before, known := least[f.Path]; !known || changed < before {
					texts[f.Path], least[f.Path] = f.Text, changed
				}
				continue
			}
			if tables[f.Path] == nil {
				tables[f.Path] = &ckpt.File{Meta: map[string]string{"stage": f.Stage}}
			}
			all := tables[f.Path]
			for _, t := range f.Tensors {
				if !slices.ContainsFunc(all.Tensors, func(x ckpt.Tensor) bool { return x.Name == t.Name }) {
					all.Tensors = append(all.Tensors, ckpt.Tensor{Name: t.Name, Shape: t.Shape, Data: given[t.Param]})
				}
			}
		}
	}
	return texts, tables
}

// changes orders token rules by how much of the spaces in a file they change.
func changes(rule tokens.Rule) int {
	switch {
	case rule.Numbers > 0:
		return 2
	case rule.Words:
		return 1
	}
	return 0
}

// left reports whether a folder has only files that writeFiles leaves. It removes half-written
// ones.
func (id Identity) left(folder string) bool {
	if ckpt.Clean(folder) != nil {
		return false
	}
	texts, tables := id.files()
	found, err := os.ReadDir(folder)
	return err == nil && !slices.ContainsFunc(found, func(d os.DirEntry) bool {
		name := config.FilesFolder + "/" + d.Name()
		_, text := texts[name]
		return !text && tables[name] == nil
	})
}
