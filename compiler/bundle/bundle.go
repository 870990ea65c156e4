// Package bundle holds the source of the runtime, and of the packages it imports from
// other modules, as a Go module. Trainers outside of any module that requires mlc are
// built from it. Package cli writes the files to a cache, puts the program that codegen
// prints there, and builds it.
package bundle

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:generate go run ./gen

//go:embed modules.txtar
var modules []byte

// Files returns the module's files by path from its root. source is a source tree of mlc,
// which has the runtime. It returns an error if the tree cannot be read.
func Files(source fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range txtar.Parse(modules).Files {
		files[f.Name] = f.Data
	}
	err := fs.WalkDir(source, "runtime", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !built(name):
			return nil
		}
		files[name], err = fs.ReadFile(source, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the runtime's source: %w", err)
	}
	return files, nil
}

// built reports whether a file is part of a package or embedded in one.
func built(name string) bool {
	switch path.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".s", ".h", ".ptx":
		return true
	}
	return false
}

// Key returns a hash of the files' names and contents, 16 hex digits.
func Key(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
