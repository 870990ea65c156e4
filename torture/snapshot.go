package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A snapshot is the files of a folder, without the differences between two equal runs: seconds,
// dates and names of the machine.
type snapshot map[string]string

// clocks match the parts of a file that depend on time and machine.
var clocks = map[string]*regexp.Regexp{
	"metrics.jsonl": regexp.MustCompile(`"seconds":[^,]*`),
	"metrics.csv":   regexp.MustCompile(`,[^,\n]*,(train|first|second)\b`),
	"result.json":   regexp.MustCompile(`"seconds_(train|eval)":[^,]*|,"sha256":"[^"]*"`), // the checksum covers the seconds
	"run.json":      regexp.MustCompile(`"(started|device_name|cpu|sha256)": *"[^"]*"`),
}

// take reads all files below dir. A name that ends in / is a folder; for other kinds of files,
// the text is the kind.
func take(dir string) (snapshot, error) {
	s := snapshot{}
	return s, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			s[name+"/"] = ""
			return nil
		case strings.HasPrefix(name, "bin/"):
			s[name] = "<program>" // it contains the folder that it was built in
			return nil
		case !d.Type().IsRegular():
			s[name] = "<" + d.Type().String() + ">"
			return nil
		}
		text, err := os.ReadFile(path)
		s[name] = timeless(name, string(text))
		return err
	})
}

// timeless returns a file's text without times.
func timeless(name, text string) string {
	if clock := clocks[filepath.Base(name)]; clock != nil {
		return clock.ReplaceAllString(text, "")
	}
	return text
}

// differences names the files that differ between two snapshots, and how.
func (s snapshot) differences(other snapshot) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, there := other[name]; !there {
			all = append(all, name+" is missing")
		} else if other[name] != s[name] {
			all = append(all, name+" differs"+firstLine(s[name], other[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, there := s[name]; !there {
			all = append(all, name+" is left over")
		}
	}
	return all
}

// firstLine shows the first line that differs between two texts.
func firstLine(a, b string) string {
	if strings.ContainsRune(a, 0) || strings.ContainsRune(b, 0) {
		return ""
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf(" in line %d: %.200q, not %.200q", i+1, bs[i], as[i])
		}
	}
	return fmt.Sprintf(": %d lines, not %d", len(bs), len(as))
}
