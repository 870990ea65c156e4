package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
)

// A File is a file that a spec reads, as a run keeps it: Problems, or tables.
type File struct {
	Path     string // in the run's directory, as Spec.Carried names it
	Problems *Problems
	Stage    string      // of tables: the calibration that wrote them, or ""
	Tables   []BiasParam // Tensor is the name in the file
}

// Files lists the files that the spec, or this stage of it, reads. The Carried text names
// them relative to the directory of a run, so that a run resolves again wherever it is
// moved.
func (s *Spec) Files() []File {
	var all []File
	at := func(file string) *File {
		name := s.carried[file]
		i := slices.IndexFunc(all, func(f File) bool { return f.Path == name })
		if i < 0 {
			i, all = len(all), append(all, File{Path: name})
		}
		return &all[i]
	}
	if s.Task.File != nil {
		at(s.Task.Path).Problems = s.Task.File
	}
	if s.Task.TestFile != nil {
		at(s.Task.TestPath).Problems = s.Task.TestFile
	}
	for _, param := range s.Given() {
		if param.Init.Kind == "file" {
			f := at(param.From)
			f.Stage, f.Tables = param.Stage, append(f.Tables, param)
		}
	}
	return all
}

// carry returns the path of a file in the directory of a run: its base name, with a
// number if another file has that name. A file that already has a path keeps it.
func (p *printer) carry(file, extension string) string {
	if name, known := p.carried[file]; known {
		return name
	}
	base := path.Base(file)
	if !strings.HasSuffix(strings.ToLower(base), extension) {
		base += extension
	}
	stem, ending := base[:len(base)-len(extension)], base[len(base)-len(extension):]
	name := path.Join(config.FilesFolder, base)
	for n := 2; p.taken[strings.ToLower(name)]; n++ { // some systems ignore the case of letters
		name = path.Join(config.FilesFolder, fmt.Sprintf("%s-%d%s", stem, n, ending))
	}
	p.carried[file], p.taken[strings.ToLower(name)] = name, true
	return name
}
