// Command python builds wheels of the Python package mlc: the command mlc for a platform, the package
// in python/mlc, and the licences of all that they contain. It runs in the root of the module:
//
//	go run ./python                           for all platforms, into bin/wheels
//	go run ./python -platforms linux/amd64
//
// The bytes of a wheel depend only on the source and on the version of Go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// most is the largest size of a wheel in bytes.
const most = 40_000_000

func main() {
	out := flag.String("o", "bin/wheels", "folder for the wheels")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms, as GOOS/GOARCH")
	flag.Parse()
	if err := run(os.Stdout, *out, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "wheels:", err)
		os.Exit(1)
	}
}

// run builds the wheels and prints their paths.
func run(w io.Writer, out string, platforms []string) error {
	scratch, err := os.MkdirTemp("", "wheels")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	sources, err := pythonFiles(os.DirFS("python"))
	if err != nil {
		return err
	}
	for _, platform := range platforms {
		system, processor, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is no platform: write it as linux/amd64", platform)
		}
		binary := filepath.Join(scratch, system+"-"+processor)
		if err := compile(binary, system, processor); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		wheel, err := wheelOf(binary, system, sources)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		data, err := wheel.pack()
		if err != nil {
			return err
		}
		if len(data) > most {
			return fmt.Errorf("the wheel for %s has %d bytes, at most %d are allowed", platform, len(data), most)
		}
		path := filepath.Join(out, wheel.fileName())
		if err := errors.Join(os.MkdirAll(out, 0o755), ckpt.WriteFile(path, data)); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s  %.1f MB\n", filepath.ToSlash(path), float64(len(data))/1e6)
	}
	return nil
}

// compile builds the command mlc for a platform, without cgo, paths and debug information.
func compile(binary, system, processor string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=", "GOARM64=", "GOEXPERIMENT=", "GOOS="+system, "GOARCH="+processor)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}

// wheelOf makes the wheel with a binary of mlc.
func wheelOf(binary, system string, sources map[string][]byte) (*wheel, error) {
	tag, err := tagOf(binary)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	legal, err := licences(binary)
	if err != nil {
		return nil, err
	}
	name := "mlc"
	if system == "windows" {
		name = "mlc.exe"
	}
	readme, err := os.ReadFile("python/README.md")
	if err != nil {
		return nil, err
	}
	w := &wheel{name: "mlc", version: shell.Version, tag: "py3-none-" + tag, about: string(readme), licences: legal,
		files: map[string][]byte{}, scripts: map[string][]byte{name: text}}
	for path, data := range sources {
		w.files[path] = data
	}
	return w, nil
}

var versionLine = regexp.MustCompile(`(?m)^__version__ = "(.*)"$`)

// pythonFiles reads the package mlc from the folder python. It returns an error if the package has
// another version than the command.
func pythonFiles(python fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(python, "mlc", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") && d.Name() != "py.typed" {
			return err
		}
		files[path], err = fs.ReadFile(python, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	m := versionLine.FindSubmatch(files["mlc/__init__.py"])
	if m == nil {
		return nil, errors.New("python/mlc/__init__.py has no __version__")
	}
	if string(m[1]) != shell.Version {
		return nil, fmt.Errorf("python/mlc/__init__.py has version %s, and the command mlc %s: make them equal", m[1], shell.Version)
	}
	return files, nil
}
