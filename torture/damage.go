package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A specimen is a run directory to be damaged, and its uses.
type specimen struct {
	name   string
	folder string // in the site's folders; holds the run, copied as "run"
	other  string // folder of another run of the same shape
	uses   []use
}

// A use is a command on a run, with its output and the files that it leaves undamaged.
type use struct {
	argv []string
	said string
	want snapshot
}

// specimens measures every use of every specimen.
func specimens(s *site) ([]*specimen, error) {
	uses := func(program string) [][]string {
		return [][]string{
			{program, "train", "--resume", "--out", "run", "--device", "cpu", "-q", "--save", "1ns"},
			{program, "eval", "run", "--device", "cpu"},
			{program, "eval", "run", "--digits", "2,3,4,5", "--samples", "30", "--device", "cpu"},
			{program, "eval", "run", "--digits", "2,3,4,5", "--device", "cpu"},
			{program, "solve", "run", "12", "99", "--device", "cpu"},
			{"mlc", "plot", "--kind", "table", "--format", "csv", "run"},
			{"mlc", "plot", "--format", "svg", "run"},
		}
	}
	all := []*specimen{
		{name: "a run that is done", folder: "done", other: "elsewhere"},
		{name: "a run that was killed", folder: "half", other: "elsewhere"},
		{name: "stages that are done", folder: "stages", other: "other-stages"},
		{name: "stages that were stopped", folder: "half-stages", other: "other-stages"},
	}
	for _, t := range all {
		program := "tiny"
		if strings.Contains(t.folder, "stages") {
			program = "staged"
		}
		for _, argv := range uses(program) {
			dir, err := t.begin(s)
			if err != nil {
				return nil, err
			}
			r, err := s.run(context.Background(), dir, argv...)
			if err != nil {
				return nil, err
			}
			if r.code != 0 && t.folder != "half" && t.folder != "half-stages" {
				return nil, fmt.Errorf("%s: exit %d\n%s", strings.Join(argv, " "), r.code, r.err)
			}
			if r.code != 0 { // such a run has no result to plot
				continue
			}
			want, err := take(dir)
			if err != nil {
				return nil, err
			}
			t.uses = append(t.uses, use{argv, r.out, want})
			os.RemoveAll(dir)
		}
	}
	return all, nil
}

// begin copies the run into a new folder.
func (t *specimen) begin(s *site) (string, error) {
	dir, err := os.MkdirTemp(s.dir, "case-")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(filepath.Join(dir, "run"), os.DirFS(s.at("folders", t.folder)))
}

// furnish makes the folders that cases start from.
func (s *site) furnish() error {
	mkdir := func(name string) string {
		dir := s.at("folders", name)
		os.MkdirAll(dir, 0o755)
		return dir
	}
	for name, text := range specs {
		if err := os.WriteFile(filepath.Join(mkdir("source"), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range raggedFiles() {
		mkdir("ragged")
		if err := os.WriteFile(s.at("folders", name), []byte(specs["ragged.arith"]), 0o644); err != nil {
			return err
		}
	}
	folders := mkdir("")
	train := []string{"train", "--device", "cpu", "-q", "--save", "1ns", "--out"}
	for _, argv := range [][]string{
		append(append([]string{"tiny"}, train...), "done"),
		append(append([]string{"tiny"}, train...), "elsewhere", "--seed", "7"),
		append(append([]string{"staged"}, train...), "stages"),
		append(append([]string{"staged"}, train...), "other-stages", "--seed", "7"),
		append(append([]string{"staged"}, train...), "half-stages", "--until", "look"),
	} {
		if err := s.must(folders, argv...); err != nil {
			return err
		}
	}
	return s.halve(folders)
}

// halve makes a run that was killed half way.
func (s *site) halve(folders string) error {
	half := filepath.Join(folders, "half")
	for range 100 {
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			for ctx.Err() == nil {
				if steps, _ := filepath.Glob(filepath.Join(half, "ckpt", "step-*[5-9].safetensors")); len(steps) > 0 {
					cancel(errKill)
				}
				time.Sleep(time.Millisecond)
			}
		}()
		_, err := s.run(ctx, folders, "tiny", "train", "--device", "cpu", "-q", "--save", "1ns", "--out", "half")
		cancel(nil)
		if err != nil {
			return err
		}
		late, _ := filepath.Glob(filepath.Join(half, "ckpt", "step-*20.safetensors"))
		steps, _ := filepath.Glob(filepath.Join(half, "ckpt", "step-*.safetensors"))
		if len(late) == 0 && len(steps) > 1 {
			return nil
		}
		os.RemoveAll(half)
	}
	return fmt.Errorf("no run could be killed half way")
}

// A wound is a way to damage a file.
type wound struct {
	name string
	do   func(rng *rand.Rand, path string, text []byte, other string) error
}

func wounds() []wound {
	rewrite := func(change func(*rand.Rand, []byte) []byte) func(*rand.Rand, string, []byte, string) error {
		return func(rng *rand.Rand, path string, text []byte, _ string) error {
			return os.WriteFile(path, change(rng, slices.Clone(text)), 0o644)
		}
	}
	instead := func(put func(path string) error) func(*rand.Rand, string, []byte, string) error {
		return func(_ *rand.Rand, path string, _ []byte, _ string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return put(path)
		}
	}
	flip := rewrite(func(rng *rand.Rand, text []byte) []byte {
		if len(text) > 0 {
			text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		}
		return text
	})
	return []wound{
		{"a bit flipped", flip}, {"a bit flipped", flip}, {"a bit flipped", flip},
		{"truncated", rewrite(func(rng *rand.Rand, text []byte) []byte { return text[:rng.IntN(len(text)+1)] })},
		{"extended", rewrite(func(rng *rand.Rand, text []byte) []byte {
			for range 1 + rng.IntN(100) {
				text = append(text, byte(rng.Uint32()))
			}
			return text
		})},
		{"a block of zeros", rewrite(func(rng *rand.Rand, text []byte) []byte {
			at := rng.IntN(len(text) + 1)
			clear(text[at:min(len(text), at+1+rng.IntN(512))])
			return text
		})},
		{leadsOut, rewrite(func(rng *rand.Rand, text []byte) []byte {
			text = hashLine.ReplaceAll(text, []byte(`"spec_hash": "`+pick(rng, outside)+`"`))
			return sealLine.ReplaceAll(text, nil)
		})},
		{"emptied", rewrite(func(*rand.Rand, []byte) []byte { return nil })},
		{"replaced by another run's", func(_ *rand.Rand, path string, _ []byte, other string) error {
			text, err := os.ReadFile(other)
			if err != nil {
				return nil // the other run has no such file
			}
			return os.WriteFile(path, text, 0o644)
		}},
		{"removed", instead(func(string) error { return nil })},
		{"a folder instead", instead(func(path string) error { return os.Mkdir(path, 0o755) })},
		{"a link to nothing instead", instead(func(path string) error { return os.Symlink("nothing", path) })},
		{"a link to itself instead", instead(func(path string) error { return os.Symlink(filepath.Base(path), path) })},
		{"a named pipe instead", instead(func(path string) error { return syscall.Mkfifo(path, 0o644) })},
	}
}

// leadsOut is a wound of records only: the hash becomes a path, and the checksum is removed.
const leadsOut = "a hash that is a path"

var (
	hashLine = regexp.MustCompile(`"spec_hash": *"[^"]*"`)
	sealLine = regexp.MustCompile(`,\s*"sha256": *"[^"]*"`)
	outside  = []string{"/../../../../abc", "/etc/passwd/////", "../../..", "tiny", strings.Repeat("0", 63), strings.Repeat("A", 64)}
)

// damage damages one file of a run and uses the run. The result must be the undamaged run's, or
// an error that names the file. With the file restored, the use must give its usual result.
func (c *campaign) damage(rng *rand.Rand, t *trial) error {
	run := pick(rng, c.runs)
	u := pick(rng, run.uses)
	dir, err := run.begin(c.site)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	files, err := take(dir)
	if err != nil {
		return err
	}
	file := pick(rng, slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return strings.HasSuffix(name, "/") || strings.HasPrefix(filepath.Base(name), ".")
	}))
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	w := pick(rng, wounds())
	for !w.noticed(file, u) {
		w = pick(rng, wounds())
	}
	rel, _ := filepath.Rel("run", file)
	t.about = w.name
	t.did("%s: %s", run.name, file)
	t.did("%s", strings.Join(u.argv, " "))
	if err := w.do(rng, path, text, c.site.at("folders", run.other, rel)); err != nil {
		return err
	}
	t.faults++
	damaged, err := take(dir)
	if err != nil {
		return err
	}
	r, err := c.site.run(context.Background(), dir, u.argv...)
	if err != nil {
		return err
	}
	if err := r.clean(); err != nil {
		return err
	}
	got, err := take(dir)
	if err != nil {
		return err
	}
	if r.code == 0 {
		return u.silent(file, damaged, got, r)
	}
	if r.code != 1 && r.code != 2 {
		return fmt.Errorf("exit %d\n%s", r.code, r.err)
	}
	if !strings.Contains(r.err, filepath.Base(file)) {
		return fmt.Errorf("exit %d, and the message does not name %s:\n%s", r.code, file, r.err)
	}
	return u.mended(c.site, dir, path, text)
}

// noticed reports whether a wound can be noticed. A missing checkpoint cannot: an earlier one
// takes its place. Plots use the files that are left, and cannot tell the records of two runs of
// a spec apart.
func (w wound) noticed(file string, u use) bool {
	gone := w.name == "removed" || w.name == "a link to nothing instead"
	plots := u.argv[1] == "plot"
	switch {
	case gone && (plots || filepath.Ext(file) == ".safetensors"):
		return false
	case w.name == "replaced by another run's" && plots:
		return false
	case w.name == leadsOut && filepath.Base(file) != "run.json":
		return false
	}
	return true
}

// silent compares a use that reported no error with the undamaged use. The damaged file may stay
// as it is or become whole.
func (u *use) silent(file string, damaged, got snapshot, r said) error {
	if r.out != u.said {
		return fmt.Errorf("output, without an error:\n%swant\n%s%s", r.out, u.said, r.err)
	}
	if _, folder := damaged[file+"/"]; folder {
		delete(got, file+"/")
		got[file], damaged[file] = "", ""
	}
	delete(got, filepath.Join(filepath.Dir(file), "nothing")) // created through a link
	text, there := got[file]
	if _, was := damaged[file]; there == was && text == damaged[file] {
		delete(got, file)
		if text, wanted := u.want[file]; wanted {
			got[file] = text
		}
	}
	if diff := u.want.differences(got); diff != nil {
		return fmt.Errorf("differences, without an error:\n%s\n%s", strings.Join(diff, "\n"), r.err)
	}
	return nil
}

// mended restores the file and wants the usual result.
func (u *use) mended(s *site, dir, path string, text []byte) error {
	os.RemoveAll(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	r, err := s.run(context.Background(), dir, u.argv...)
	if err != nil {
		return err
	}
	got, err := take(dir)
	if err != nil {
		return err
	}
	if diff := u.want.differences(got); r.code != 0 || r.out != u.said || diff != nil {
		return fmt.Errorf("with the file restored: exit %d\n%s%s%s", r.code, r.out, r.err, strings.Join(diff, "\n"))
	}
	return nil
}
