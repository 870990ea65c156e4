// Package bundle is what trainers are built from where there is no module that has mlc: the
// source of the runtime, and of what it imports of other modules, as the files of a module
// of its own. Package cli writes it beside the programs that codegen makes, and
// builds them there.
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

// Files are those of the module, by path from its root: modules of others, and all that is
// built of the runtime in a source tree of mlc.
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

// built says whether a file is part of a package, or what one embeds.
func built(name string) bool {
	switch path.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".s", ".h", ".ptx":
		return true
	}
	return false
}

// Key is short text that no other files have.
func Key(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
