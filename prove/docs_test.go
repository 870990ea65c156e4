package prove

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/prove/fragment"
)

// fieldsOf lists the fields of a result's JSON by path; a list has [] after its name.
func fieldsOf(t reflect.Type, path string) (paths []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldsOf(t.Elem(), path)
	case reflect.Slice:
		return fieldsOf(t.Elem(), path+"[]")
	case reflect.Struct:
		if t == reflect.TypeFor[fragment.Recording]() { // it writes itself
			return []string{path}
		}
		for f := range t.Fields() {
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				paths = append(paths, fieldsOf(f.Type, path)...)
				continue
			}
			paths = append(paths, fieldsOf(f.Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
		return paths
	}
	return []string{path}
}

// shares returns the table of the budget.
func shares() string {
	rows := "| phase | share of the budget | least seconds of a part |\n|---|---:|---|\n"
	for _, p := range phases() {
		names, _ := p.parts(&Env{Device: "cuda"})
		var least []time.Duration
		for _, name := range names {
			least = append(least, p.least("cuda", name))
		}
		from, to := slices.Min(least).Seconds(), slices.Max(least).Seconds()
		text := fmt.Sprint(from)
		if to > from {
			text += fmt.Sprint(" to ", to)
		}
		rows += fmt.Sprintf("| `%s` | %.2f | %s |\n", p.name, p.share, text)
	}
	return rows
}

// speedTable returns the table of the measurements of Speed.
func speedTable() string {
	rows := "| phase | seconds | what it measures | parts |\n|---|---:|---|---|\n"
	for _, p := range speeds() {
		names, _ := p.parts(nil)
		parts := strings.Join(names, ", ")
		if len(names) > 10 {
			parts = fmt.Sprintf("%d parts", len(names))
		}
		rows += fmt.Sprintf("| `%s` | %.0f | %s | %s |\n", p.name, p.share, p.doc, parts)
	}
	return rows
}

// TestSpeedDocs checks that docs/gpu-record.md has the table of the measurements.
func TestSpeedDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/gpu-record.md")
	if err != nil || !strings.Contains(string(page), "\n"+speedTable()+"\n") {
		t.Errorf("%v, or docs/gpu-record.md lacks this table:\n%s", err, speedTable())
	}
}

// TestSchema checks that docs/gpu-record.md describes each field of the file, and no other.
func TestSchema(t *testing.T) {
	page, err := os.ReadFile("../docs/gpu-record.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| field |")
	table, _, _ = strings.Cut(table, "\n\n")
	var said []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|$").FindAllStringSubmatch(table, -1) {
		said = append(said, strings.Replace(row[1], "P.", "phases[].parts[].", 1))
	}
	fields := fieldsOf(reflect.TypeFor[Result](), "")
	for _, f := range fields {
		if !slices.Contains(said, f) {
			t.Errorf("docs/gpu-record.md lacks %s", f)
		}
	}
	for _, f := range said {
		if !slices.Contains(fields, f) {
			t.Errorf("docs/gpu-record.md has %s, which the file lacks", f)
		}
	}
	if len(fields) < 60 {
		t.Errorf("there are only %d fields", len(fields))
	}
	for _, p := range phases() {
		if !strings.Contains(string(page), fmt.Sprintf("\n| `%s` |", p.name)) {
			t.Errorf("docs/gpu-record.md has no row of the phase %s", p.name)
		}
	}
	if !strings.Contains(string(page), "\n"+shares()+"\n") {
		t.Errorf("docs/gpu-record.md lacks this table:\n%s", shares())
	}
	for _, v := range ranks {
		if !strings.Contains(string(page), fmt.Sprintf("\n| `%s` |", v)) {
			t.Errorf("docs/gpu-record.md has no row of the verdict %s", v)
		}
	}
}
