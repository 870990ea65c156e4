package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/export"
)

// A builder makes trainers with the mlc of this checkout.
type builder struct {
	root string // of the module
	temp string
	mlc  string
}

func newBuilder(ctx context.Context) (*builder, error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	b := &builder{root: strings.TrimSpace(string(root)), temp: temp, mlc: filepath.Join(temp, "mlc")}
	if _, err := output(ctx, b.root, "go", "build", "-o", b.mlc, "."); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *builder) close() { os.RemoveAll(b.temp) }

// A trainer is a compiled spec.
type trainer struct {
	peers.Case
	spec   *check.Spec
	binary string
	info   info
}

// info is the output of a trainer's verb info.
type info struct {
	Name    string   `json:"name"`
	Version string   `json:"mlc_version"`
	Params  int      `json:"params"`
	Devices []string `json:"devices"`
	Tensors []struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	} `json:"tensors"`
}

// build compiles a case's spec with additional settings.
func (b *builder) build(ctx context.Context, c peers.Case, set []string) (*trainer, error) {
	c.Set = append(c.Set[:len(c.Set):len(c.Set)], set...)
	spec, err := resolve(c, b.root)
	if err != nil {
		return nil, err
	}
	args := []string{"build", "--json", c.Spec}
	for _, s := range c.Set {
		args = append(args, "--set", s)
	}
	out, err := output(ctx, b.root, b.mlc, args...)
	if err != nil {
		return nil, err
	}
	var made struct{ Binary string }
	for line := range bytes.Lines(out) {
		if err := json.Unmarshal(line, &made); err != nil {
			return nil, fmt.Errorf("mlc build printed %q: %w", line, err)
		}
	}
	t := &trainer{Case: c, spec: spec, binary: filepath.Join(b.root, made.Binary)}
	if out, err = output(ctx, b.root, t.binary, "info", "--json"); err != nil {
		return nil, err
	}
	return t, json.Unmarshal(out, &t.info)
}

// resolve returns a case's spec with all defaults.
func resolve(c peers.Case, root string) (*check.Spec, error) {
	read := func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(root, path)) }
	spec, found := check.Resolve(check.Options{Path: c.Spec, Read: read, Set: c.Set})
	if found.HasErrors() {
		var text strings.Builder
		found.Text(&text, read, false)
		return nil, fmt.Errorf("%s does not resolve:\n%s", c.Spec, text.String())
	}
	return spec, nil
}

// batches is the number of batches that a peer trains on, one after another.
const batches = 4

// problem writes the problem file of a trainer, with the n batches that it trains on after so
// many steps, and returns its path.
func (b *builder) problem(t *trainer, after, n int) (path string, err error) {
	p := peers.NewProblem(t.Kind, t.spec, t.tensors())
	if p.Batches, err = peers.Batches(t.spec, after, n); err != nil {
		return "", err
	}
	path = filepath.Join(b.temp, fmt.Sprintf("%s-%d-%d.json", t.Name, after, n))
	if !t.Torch {
		if err := t.export(exportOf(path)); err != nil {
			return "", err
		}
	}
	return path, p.Write(path)
}

// export writes the model as Python, with all parameters 0, since a peer gets its own.
func (t *trainer) export(path string) error {
	r := export.Run{Spec: t.spec, Text: t.spec.Resolved, Params: map[string][]float32{}, Command: "go run ./bench"}
	for _, x := range t.info.Tensors {
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		r.Params[x.Name] = make([]float32, n)
	}
	m, err := export.New(r)
	if err != nil {
		return err
	}
	files, err := m.Python(export.PythonForm{Path: filepath.Base(path)})
	if err != nil {
		return err
	}
	return os.WriteFile(path, files[0].Data, 0o644)
}

// tensors returns the shapes of the parameters.
func (t *trainer) tensors() map[string][]int {
	shapes := map[string][]int{}
	for _, x := range t.info.Tensors {
		shapes[x.Name] = x.Shape
	}
	return shapes
}

// ours is the contestant that all others are compared with.
const ours = "mlc"

func (t *trainer) contestant(threads int) rounds.Contestant {
	return rounds.Contestant{Title: ours, Start: rounds.Process(t.binary, "bench", "--device", "cpu", "--serve", "--threads", fmt.Sprint(threads))}
}

// kernels returns the trainer's own table of its kernels.
func (t *trainer) kernels(ctx context.Context, threads int) string {
	out, err := output(ctx, "", t.binary, "bench", "--device", "cpu", "--threads", fmt.Sprint(threads))
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// output runs a command and returns its output. An error has the end of its standard error.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaint bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, rounds.LastLines(complaint.String(), 10))
	}
	return out, nil
}
