package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// canTrace reports whether strace is installed and may trace.
var canTrace = sync.OnceValue(func() bool { return exec.Command("strace", "-f", "true").Run() == nil })

// errnos are the system calls to disturb, and the errors of each.
var errnos = map[string][]string{
	"openat":     {"ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS", "EINTR"},
	"read":       {"EIO", "EINTR"},
	"write":      {"ENOSPC", "EIO", "EDQUOT", "EINTR"},
	"fsync":      {"EIO", "ENOSPC", "EINTR"},
	"renameat":   {"ENOSPC", "EIO", "EACCES"},
	"mkdirat":    {"ENOSPC", "EACCES", "EROFS"},
	"unlinkat":   {"EIO", "EACCES"},
	"fchmod":     {"EPERM", "EIO"},
	"ftruncate":  {"EIO", "ENOSPC"},
	"getdents64": {"EIO"},
	"newfstatat": {"EACCES", "EIO"},
	"flock":      {"EIO", "ENOLCK"},
}

// calls lists the names of errnos for strace.
func calls() string {
	return strings.Join(slices.Sorted(maps.Keys(errnos)), ",")
}

// strace returns a command that runs argv under strace, which logs to a file.
func strace(log string, options []string, argv []string) []string {
	all := append([]string{"strace", "-f", "-y", "-o", log}, options...)
	return append(append(all, "--"), argv...)
}

var syscallLine = regexp.MustCompile(`(?m)^\d+ +(\w+)\(`)

// count counts the system calls of undisturbed work.
func (s *subject) count(at *site) (map[string]int, error) {
	dir, err := s.begin(at)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log := dir + ".strace"
	defer os.Remove(log)
	if err := at.must(dir, strace(log, []string{"-e", "trace=" + calls()}, at.path(s.command(dir)))...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	n := map[string]int{}
	for _, m := range syscallLine.FindAllStringSubmatch(string(text), -1) {
		n[m[1]]++
	}
	return n, nil
}

// path replaces the program of a command by its path.
func (s *site) path(argv []string) []string {
	return append([]string{s.at("bin", argv[0])}, argv[1:]...)
}

// An injection is a disturbed system call.
type injection struct {
	call string
	nth  int
	what string // error=EIO, signal=KILL
}

func (i injection) String() string { return fmt.Sprintf("%s:%s:when=%d", i.call, i.what, i.nth) }

// injected runs a command with a disturbed call and returns strace's lines on it: none if the
// call was not reached, several if several threads reached it.
func (s *site) injected(dir string, i injection, argv []string) (r said, lines []string, err error) {
	log := dir + ".strace"
	defer os.Remove(log)
	r, err = s.run(context.Background(), dir, strace(log, []string{"-e", "trace=" + i.call, "-e", "inject=" + i.String()}, s.path(argv))...)
	if err != nil {
		return r, nil, err
	}
	text, err := os.ReadFile(log)
	for l := range strings.Lines(string(text)) {
		if strings.Contains(l, "(INJECTED)") || strings.Contains(i.what, "KILL") && strings.Contains(l, "killed by SIGKILL") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return r, lines, err
}

// strace shows the file of a call first: an open file by number and path, other files by name.
var (
	openFile  = regexp.MustCompile(`^\d+ +\w+\(\d+<([^>]*)>`)
	namedFile = regexp.MustCompile(`^\d+ +\w+\((?:AT_FDCWD<[^>]*>, )?"((?:[^"\\]|\\.)*)"`)
)

// fileOf returns the file of a line of strace, relative to dir, or "" if the file is not below dir.
func fileOf(line, dir string) string {
	name := ""
	if m := openFile.FindStringSubmatch(line); m != nil {
		name = m[1]
	} else if m := namedFile.FindStringSubmatch(line); m != nil {
		name = m[1]
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
	}
	rel, err := filepath.Rel(dir, name)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}
