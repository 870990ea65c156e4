package prove

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/specs"
)

// A model is an embedded spec with settings.
type model struct {
	name string   // name of the file, without extension
	set  []string // settings on top of it
}

// models contain every construct of the other specs. They run first, and slow devices run only
// them.
var models = []model{
	{name: "tiny"}, {name: "successor"}, {name: "addition"}, {name: "kerple"}, {name: "small/looped"},
	{name: "small/coupling"}, {name: "small/sort"}, {name: "bias/parity_rpe"}, {name: "bias/addition_rope"}, {name: "looped8x2"},
	{"small/looped", narrow}, {"kerple", narrow}, {"bias/addition_alibi", narrow}, {"looped8x2", narrow},
	{"small/looped", split}, {"looped8x2", split},
}

// narrow and split are settings that use tensor cores.
var (
	narrow = []string{"train.precision=bf16"}
	split  = []string{"train.precision=tf32x3"}
)

// apart matches parts of other specs, and specs whose trainings are other specs.
var apart = regexp.MustCompile(`^base/|^bias/(table|paper)`)

// all returns the models, followed by all other embedded specs.
func all() []model {
	out := slices.Clone(models)
	fs.WalkDir(specs.Files, ".", func(file string, _ fs.DirEntry, _ error) error { // embedded files have no errors
		name, ok := strings.CutSuffix(file, ".arith")
		if ok && !apart.MatchString(name) && !slices.ContainsFunc(models, func(m model) bool { return m.String() == name }) {
			out = append(out, model{name: name})
		}
		return nil
	})
	slices.SortStableFunc(out[len(models):], func(a, b model) int { return cmp.Compare(large(a), large(b)) })
	return out
}

// large returns 1 for models whose kernels take the interpreter longest. They go last.
func large(m model) int {
	if strings.HasPrefix(m.name, "abacus/") {
		return 1
	}
	return 0
}

// chosen returns the models of an Env: all, or only models on a slow device.
func (e *Env) chosen() []model {
	switch {
	case e.models != nil:
		return e.models
	case e.Reduced():
		return models
	}
	return all()
}

// String returns the name and the settings.
func (m model) String() string { return strings.Join(append([]string{m.name}, m.set...), " ") }

// find returns the element that names a part.
func find[T fmt.Stringer](all []T, name string) (T, error) {
	for _, one := range all {
		if one.String() == name {
			return one, nil
		}
	}
	return *new(T), fmt.Errorf("BUG: no part %q", name)
}

func names[T fmt.Stringer](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.String())
	}
	return names
}

// compile compiles a model, and of a sweep its first training. The tests of package specs ensure
// that it compiles.
func (m model) compile(set ...string) (*compiler.Program, error) {
	p, found, err := compiler.Compile(check.Options{
		Path: m.name + ".arith",
		Read: func(file string) ([]byte, error) { return specs.Files.ReadFile(path.Clean(file)) },
		Set:  slices.Concat(m.set, set),
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("BUG: %s: %w", m.name, err)
	case found.HasErrors():
		return nil, fmt.Errorf("BUG: %s does not compile: %v", m.name, found)
	}
	return p, nil
}

// module prints kernels of a program as PTX.
func (e *Env) module(p *lower.Program, kernels []*kernel.Kernel) (ptx.Output, error) {
	code, err := ptx.Module(kernels, codegen.ModuleOptions(p))
	if err == nil && e.ptx != nil {
		code.Text = e.ptx(code.Text)
	}
	return code, err
}
