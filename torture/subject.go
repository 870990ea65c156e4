package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A subject is work that may be ended at any point and resumed.
type subject struct {
	name    string
	folders []string                  // folders of the site, each copied into the work's folder
	command func(dir string) []string // returns the next command to run in dir
	shared  bool                      // several processes may do it at once
	slow    bool                      // it builds programs with so many processes that their system calls are not traced
	want    snapshot                  // files that it leaves undisturbed
	took    time.Duration             // undisturbed
	calls   map[string]int            // number of each system call, undisturbed; nil if they cannot be traced
}

// always returns a command that resumes itself.
func always(argv ...string) func(string) []string {
	return func(string) []string { return argv }
}

// resumed returns a training that has --resume once there is a run.
func resumed(argv ...string) func(string) []string {
	return func(dir string) []string {
		if _, err := os.Stat(filepath.Join(dir, "run", "run.json")); err != nil {
			return argv
		}
		return append(slices.Clone(argv), "--resume")
	}
}

func subjects() []*subject {
	train := []string{"train", "--out", "run", "--device", "cpu", "--save", "1ns", "-q"}
	return []*subject{
		{name: "train", command: resumed(append([]string{"tiny"}, train...)...)},
		{name: "stages", command: resumed(append([]string{"staged"}, train...)...)},
		{name: "eval", shared: true, folders: []string{"done"}, command: always("tiny", "eval", "done", "--grid", "1..6", "--samples", "60", "--device", "cpu")},
		{name: "sweep", slow: true, folders: []string{"generated", "bin", "source"}, command: always("mlc", "train", "source/swept.arith", "--out", "run", "--device", "cpu", "--save", "1ns", "-q", "--resume")},
		{name: "build", shared: true, folders: []string{"source"}, command: always("mlc", "build", "--no-binary", "source/tiny.arith", "source/staged.arith")},
		{name: "train from a spec", slow: true, folders: []string{"source"}, command: func(dir string) []string {
			return resumed(append([]string{"mlc", "train", "source/tiny.arith"}, train[1:]...)...)(dir)
		}},
		{name: "plot", folders: []string{"done"}, command: always("mlc", "plot", "--format", "svg", "done")},
		{name: "explain", folders: []string{"source"}, command: always("mlc", "explain", "--format", "html", "-o", "page.html", "source/tiny.arith")},
		{name: "fmt", folders: []string{"ragged"}, command: always(append([]string{"mlc", "fmt"}, raggedFiles()...)...)},
	}
}

// raggedFiles are specs that mlc fmt changes.
func raggedFiles() []string {
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("ragged/%02d.arith", i))
	}
	return all
}

// begin makes a folder with the subject's starting files.
func (s *subject) begin(at *site) (string, error) {
	dir, err := os.MkdirTemp(at.dir, "case-")
	if err != nil {
		return "", err
	}
	for _, name := range s.folders {
		if name == "generated" || name == "bin" { // large, and only read
			err = linkAll(at.at(name), filepath.Join(dir, name))
		} else {
			err = os.CopyFS(filepath.Join(dir, name), os.DirFS(at.at("folders", name)))
		}
		if err != nil {
			return dir, err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(at.at(name))
		if err != nil {
			return dir, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// measure does the work undisturbed and records its result, time and system calls.
func (s *subject) measure(at *site) error {
	dir, err := s.begin(at)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	if err := at.must(dir, s.command(dir)...); err != nil {
		return err
	}
	s.took = time.Since(start)
	if s.want, err = take(dir); err != nil || s.slow || !canTrace() {
		return err
	}
	s.calls, err = s.count(at)
	return err
}

// end finishes the work and compares the result with the undisturbed one.
func (s *subject) end(at *site, dir string) error {
	argv := s.command(dir)
	r, err := at.run(context.Background(), dir, argv...)
	if err != nil {
		return err
	}
	if r.hung || r.code != 0 {
		return fmt.Errorf("%s: exit %d, hung: %v\n%s", strings.Join(argv, " "), r.code, r.hung, r.err)
	}
	got, err := take(dir)
	if err != nil {
		return err
	}
	if diff := s.want.differences(got); diff != nil {
		return fmt.Errorf("after %s:\n%s", strings.Join(argv, " "), strings.Join(diff, "\n"))
	}
	return nil
}

// linkAll makes a folder of hard links to the same files.
func linkAll(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			return os.Mkdir(target, 0o755)
		}
		return os.Link(path, target)
	})
}
