package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/export"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/track"
)

// Export selects the weights of a run, and the form and place of their export.
type Export struct {
	choice
	Dir    string `arg:"" name:"RUN" help:"Run directory."`
	Format string `help:"python: a file with PyTorch; numpy: a file with NumPy only; hf: a folder for Hugging Face transformers; onnx: a file." enum:"python,numpy,hf,onnx" required:""`
	Out    string `help:"File, or for hf folder, to write." short:"o" required:"" placeholder:"OUT"`
	Times  int    `help:"Recurrences of the loop, instead of training's." placeholder:"N"`
	Store  string `help:"Where a Python file has its weights: inside; beside: in a safetensors file next to it; literals: inside, as readable numbers; auto: inside up to 4 MiB." enum:"auto,inside,beside,literals" default:"auto"`
	Force  bool   `help:"Overwrite existing files."`
}

// Write writes an export. Each file is either complete or absent.
func (c *Export) Write(sh *shell.Shell) error {
	switch {
	case c.Times < 0:
		return shell.Usagef("--times %d: want 1 or more", c.Times)
	case c.Store != "auto" && c.Format != "python" && c.Format != "numpy":
		return shell.Usagef("--store is for Python files: leave it out with --format %s", c.Format)
	case (c.Format == "python" || c.Format == "numpy") && !strings.HasSuffix(c.Out, ".py"):
		return shell.Usagef("%s: the name of a Python file ends with .py", c.Out)
	}
	m, err := shell.Await(sh, func() (*export.Model, error) { return c.model(sh) })
	if err != nil {
		return err
	}
	files, err := c.files(m)
	if err != nil {
		return err
	}
	if err := c.write(files); err != nil {
		return err
	}
	sh.Say("wrote %s: %s parameters", c.Out, track.Thousands(m.Parameters()))
	return nil
}

// model reads the run for an export.
func (c *Export) model(sh *shell.Shell) (*export.Model, error) {
	t, err := learned(sh, c.Dir, c.choice)
	if err != nil {
		return nil, err
	}
	if c.Times > 0 && t.spec.Model.Loop == nil {
		return nil, shell.Usagef("--times %d: this model has no loop", c.Times)
	}
	return export.New(export.Run{Spec: t.spec, Stage: t.stage, Text: t.spec.Resolved, Params: t.weights, Seed: t.rec.Seed, InitSeed: t.rec.InitSeed,
		Steps: t.steps, Times: c.Times, Command: c.command()})
}

// command returns the command line that exports the run.
func (c *Export) command() string {
	words := []string{"mlc", "export", c.Dir, "--format", c.Format, "--out", c.Out}
	if c.Times > 0 {
		words = append(words, fmt.Sprintf("--times=%d", c.Times))
	}
	if c.Store != "auto" {
		words = append(words, "--store="+c.Store)
	}
	for _, set := range []struct {
		is   bool
		flag string
	}{{c.Best, "--best"}, {c.Average, "--average"}} {
		if set.is {
			words = append(words, set.flag)
		}
	}
	return flag.Line(words)
}

// files returns the files of the export, relative to the folder of OUT or, for a folder, to
// OUT.
func (c *Export) files(m *export.Model) ([]export.File, error) {
	switch c.Format {
	case "hf":
		return m.HuggingFace()
	case "onnx":
		data, err := m.ONNX()
		return []export.File{{Path: filepath.Base(c.Out), Data: data}}, err
	}
	return m.Python(export.PythonForm{NumPy: c.Format == "numpy", Path: filepath.Base(c.Out), Store: c.store(m.Parameters())})
}

// store says where a Python file has its parameters.
func (c *Export) store(parameters int) export.Store {
	switch {
	case c.Store != "auto":
		return export.Store(c.Store)
	case 4*parameters > export.Inside:
		return export.Beside
	}
	return export.Base64
}

// write writes the files, over existing ones only with --force.
func (c *Export) write(files []export.File) error {
	folder, whole := filepath.Clean(c.Out), c.Format == "hf"
	if !whole {
		folder = filepath.Dir(folder)
	}
	if !c.Force {
		if err := c.vacant(folder, files); err != nil {
			return err
		}
	}
	var all []paths.File
	for _, f := range files {
		all = append(all, paths.File(f))
	}
	return paths.WriteFiles(folder, all, whole)
}

// vacant returns an error if a file exists.
func (c *Export) vacant(folder string, files []export.File) error {
	if c.Format == "hf" {
		return paths.Vacant(folder)
	}
	for _, f := range files {
		path := filepath.Join(folder, f.Path)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists already: choose another name, or overwrite it with --force", path)
		}
	}
	return nil
}
