package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// licenceFile matches files with licences in the folder of a module, and in a folder for them.
var licenceFile = regexp.MustCompile(`(?i)^((licen[sc]e|copying|notice|patents)([-.][a-z]+)?|licen[sc]es/[^/]+)$`)

// licences returns the licence of mlc, and those of Go's own packages and of every module that a
// binary links, by their names in a wheel.
func licences(binary string) (map[string][]byte, error) {
	ours, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	var others bytes.Buffer
	if err := gather(&others, "Go "+runtime.Version(), strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	args := []string{"mod", "download", "-json"}
	for _, d := range info.Deps {
		args = append(args, d.Path+"@"+d.Version)
	}
	text, err := exec.Command("go", args...).Output() // from the module cache, which built the binary
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w\n%s", err, text)
	}
	for in := json.NewDecoder(bytes.NewReader(text)); in.More(); {
		var m struct{ Path, Version, Dir string }
		if err := in.Decode(&m); err != nil {
			return nil, err
		}
		if err := gather(&others, m.Path+" "+m.Version, m.Dir); err != nil {
			return nil, err
		}
	}
	return map[string][]byte{"LICENSE": ours, "LICENSES-OF-MODULES": others.Bytes()}, nil
}

// gather appends the licences in the folder of a module.
func gather(all *bytes.Buffer, name, dir string) error {
	before := all.Len()
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && !licenceFile.MatchString(path.Join(file, "x")):
			return fs.SkipDir
		case d.IsDir() || !licenceFile.MatchString(file):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		fmt.Fprintf(all, "==== %s: %s\n\n%s\n\n", name, file, bytes.TrimSpace(text))
		return err
	})
	if err == nil && all.Len() == before {
		err = fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return err
}
