package host

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
)

// The names of the files of the problems that a task reads.
const (
	ProblemFile = "problems.txt"
	TestFile    = "tests.txt"
)

// ProblemFiles are those files by name: the header, by which they are known for
// generated, then the problems; none if the task makes them.
func ProblemFiles(t *check.Task, header string) map[string][]byte {
	files := map[string][]byte{}
	for name, p := range map[string]*check.Problems{ProblemFile: t.File, TestFile: t.TestFile} {
		if p != nil {
			files[name] = []byte(header + p.Text)
		}
	}
	return files
}

// taskConfig prints it, without fields that are zero. Problems are the end of what is
// embedded.
func (t Trainer) taskConfig(f *gotext.Text) string {
	cfg := task.Config(t.Spec.Task.Task)
	fields := gotext.FieldsOf(cfg)
	for _, e := range []struct{ text, file, variable, name string }{
		{cfg.Problems, ProblemFile, "problemText", "Problems"}, {cfg.Tests, TestFile, "testText", "Tests"},
	} {
		if n := len(e.text); n > 0 {
			f.Embed(e.variable, e.file)
			fields[e.name] = fmt.Sprintf("%s[len(%[1]s)-%d:]", e.variable, n)
		}
	}
	return "task.Config" + fields.String()
}
