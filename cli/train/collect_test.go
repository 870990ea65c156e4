package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/flags"
)

// TestCollect prints the progress of a sweep's trainings, and trains nothing.
func TestCollect(t *testing.T) {
	for _, c := range []struct {
		name string
		axis string
		rows []string // the text of each row
		says string
		err  error
	}{
		{"one is done", "model.heads = [1, 2]", []string{"heads=1 90.00", "heads=2 not begun"}, "1 of 2 trainings are done", nil},
		{"one cannot be made", "task.random_pad = [0%, 10%]", []string{"random_pad=0% 90.00", "random_pad=10% failed"}, "E0404", shell.ErrShown},
	} {
		all, dir := sweepOf(t, c.axis)
		var out, said bytes.Buffer
		b := build.New(&shell.Shell{Context: t.Context(), Out: &out, Err: &said}, nil, build.Maker{})
		err := collectAll(b, project.Folders{Root: dir}, all, Line{Flags: Flags{Training: flags.Training{Out: filepath.Join(dir, "out")}}})
		if !errors.Is(err, c.err) || !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: %v, want %v, and says\n%s", c.name, err, c.err, said.String())
		}
		rows := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
		if len(rows) < len(c.rows) {
			t.Fatalf("%s:\n%s", c.name, out.String())
		}
		for i, want := range c.rows {
			if got := strings.Join(strings.Fields(rows[i]), " "); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// TestBegun tells resumed trainings from trainings that begin.
func TestBegun(t *testing.T) {
	for resume, want := range map[flags.Resumption][]bool{flags.Begins: {false, false}, flags.Resumes: {true, false}} {
		all, dir := sweepOf(t, "model.heads = [1, 2]")
		s := &series{Builder: build.New(&shell.Shell{Context: t.Context(), Out: t.Output(), Err: t.Output()}, nil, build.Maker{}),
			where: project.Folders{Root: dir}, flags: Flags{Training: flags.Training{Out: filepath.Join(dir, "out"), Resume: resume}}}
		if err := s.plan(all); err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, j := range s.jobs {
			got = append(got, j.begun)
		}
		if !slices.Equal(got, want) {
			t.Errorf("resume %v: begun are %v, want %v", resume, got, want)
		}
	}
}

// sweepOf returns the trainings of a sweep over an attribute. The first one is done.
func sweepOf(t *testing.T, axis string) (all []project.Training, dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.arith", "arith 2\n\ntask successor { operands = below(100) }\nmodel.width = 16\nsweep { "+axis+" }\n")
	all, err := project.Trainings(&shell.Shell{Context: t.Context(), Out: t.Output(), Err: t.Output()}, filepath.Join(dir, "a.arith"), dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join("out", all[0].Point.Slug)
	write(filepath.Join(first, "run.json"), `{"name":"a"}`)
	write(filepath.Join(first, "eval", "result.json"), `{"id":0.9,"by_cell":[[1,1,4,4],[2,2,4,3]]}`)
	return all, dir
}
