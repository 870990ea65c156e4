package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/program"
)

// A toy trainer does everything except the computation: its kernels leave memory unchanged.
// It replaces a trainer in scripts about scheduling, messages and files, and takes no time
// to build. It is a shell script that ends with the resolved spec, which toyTrainer
// compiles.

// toyGenerate prints the part of a program that toyBuild reads.
func toyGenerate(p *compiler.Program, _ codegen.Options) ([]codegen.File, error) {
	spec := codegen.SpecText(p)
	header, _, _ := strings.Cut(spec, "\n")
	return []codegen.File{{Path: "model.go", Data: fmt.Appendf(nil, "%s\n\npackage main\n\n// %s\n", header, p.Spec.Name)},
		{Path: "spec.arith", Data: []byte(spec)}}, nil
}

// toyBuild turns the program in a folder into a toy trainer.
func toyBuild(dir, _, binary string) error {
	spec, err1 := os.ReadFile(filepath.Join(dir, "spec.arith"))
	model, err2 := os.ReadFile(filepath.Join(dir, "model.go"))
	trainer, err3 := exec.LookPath("toytrainer")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(model)), "\n")
	name := strings.TrimPrefix(lines[len(lines)-1], "// ")
	script := fmt.Sprintf("#!/bin/sh\nexec %q %q \"$0\" \"$@\"\n%s", trainer, name, spec)
	return os.WriteFile(binary, []byte(script), 0o755)
}

// toyTrainer runs for the script, which passes its name and its path before the arguments.
func toyTrainer() {
	model, err := toyModel(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "toytrainer:", err)
		os.Exit(shell.ExitFindings)
	}
	os.Args = os.Args[2:]
	runtime.Main(model)
}

func toyModel(name, script string) (program.Model, error) {
	text, err := os.ReadFile(script)
	if err != nil {
		return program.Model{}, err
	}
	lines := bytes.SplitN(text, []byte("\n"), 3)
	p, found, err := compiler.Compile(check.Options{Path: name + ".arith", Read: func(string) ([]byte, error) { return lines[2], nil }})
	if err == nil && found.HasErrors() {
		err = fmt.Errorf("%v", found)
	}
	if err != nil {
		return program.Model{}, err
	}
	m, err := live.New(p)
	if err != nil {
		return program.Model{}, err
	}
	model := program.Model{Name: p.Spec.Name, Spec: string(lines[2]), SpecHash: p.Spec.Hash, Version: shell.Version, Axes: p.Spec.Axes,
		Task: m.Task, Kit: tasks.Kit(), Train: m.Train, Eval: m.Eval, Params: m.Params, Plan: m.Plan}
	for i, k := range m.GPU.Kernels {
		model.CPU = append(model.CPU, cpu.Kernel{Name: k.Name, Run: func(*cpu.Worker, *device.Env, []device.Ref) {}, Cost: m.Costs[i]})
	}
	return model, nil
}
