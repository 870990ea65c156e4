// Package codegen turns a compiled spec into the files of a Go program. It owns
// the file set and the headers; package host prints the plan and the model table,
// packages cpu and ptx the kernels. It writes nothing: Generate is a pure function, and
// the command decides where the files go.
package codegen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A File is one generated file; Path is relative to the program's folder, with
// forward slashes.
type File struct {
	Path string
	Data []byte
}

// Options say what a program is besides its spec.
type Options struct {
	Version string // of the compiler
	Path    string // import path of the program's folder; only programs of stages need it
}

// Generate prints the program of a compiled spec: files sorted by path, the same
// bytes for the same input. A spec with stages has a folder for each that trains,
// with the stage as a package, and main around them.
func Generate(p *compiler.Program, opt Options) ([]File, error) {
	u := alone(p, opt)
	print := u.training
	if len(p.Stages) > 0 {
		print = u.stages
	}
	files, err := print()
	return sorted(files), err
}

// Forecast prints a program that times a training, of a spec with stages the last, and says what
// its steps take on more cores.
func Forecast(p *compiler.Program, opt Options) ([]File, error) {
	all := p.Trainings()
	u := alone(all[len(all)-1], opt)
	files, err := u.training()
	if err != nil {
		return nil, err
	}
	more, err := u.print(map[string]*gocode.File{"main.go": host.Forecast(u.Spec)})
	maps.Copy(files, more)
	return sorted(files), err
}

// Processor prints, of the program of a training, what the processor does: plan.go, which
// launches the kernels, and the files of package cpu. Modules of a GPU take as long as
// all of that.
func Processor(p *compiler.Program, opt Options) ([]File, error) {
	u := alone(p, opt)
	files, err := u.print(map[string]*gocode.File{"plan.go": host.Plan(u.Lowered)})
	if err != nil {
		return nil, err
	}
	kernels, err := u.kernels()
	maps.Copy(files, kernels)
	return sorted(files), err
}

// Kernels prints a program that runs the kernels of a training for another process.
func Kernels(p *compiler.Program) ([]File, error) {
	files, err := cpu.Files(p.Lowered.Kernels, cpu.Options{Package: "main"})
	if err != nil {
		return nil, err
	}
	server := host.Server()
	server.Package = "main"
	files["main.go"], err = server.Format()
	return sorted(files), err
}

// sorted lists files by path.
func sorted(files map[string][]byte) []File {
	var out []File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		out = append(out, File{path, files[path]})
	}
	return out
}

// A unit is a package that is printed.
type unit struct {
	*compiler.Program
	Options
	pkg    string
	header string // first line of each file, without what makes it a comment
}

// alone is a program in a package main.
func alone(p *compiler.Program, opt Options) unit {
	return unit{Program: p, Options: opt, pkg: "main", header: header(p)}
}

// kernels prints those of a training for the processor.
func (u unit) kernels() (map[string][]byte, error) {
	return cpu.Files(u.Lowered.Kernels, cpu.Options{Package: u.pkg, Header: u.header, Reserved: host.Reserved(u.Lowered)})
}

// stages prints the packages of a spec's stages and what ties them together.
func (u unit) stages() (map[string][]byte, error) {
	files, err := u.print(map[string]*gocode.File{"main.go": host.Stages(host.Pipeline{Spec: u.Spec, Version: u.Version, Path: u.Path})})
	if err != nil {
		return nil, err
	}
	for _, t := range u.Stages {
		stage := u
		stage.Program, stage.pkg = t, host.Package(t.Stage)
		more, err := stage.training()
		if err != nil {
			return nil, err
		}
		for path, data := range more {
			files[stage.pkg+"/"+path] = data
		}
	}
	return files, nil
}

// training prints one training: as a program, or as the package of a stage.
func (u unit) training() (map[string][]byte, error) {
	module, err := Module(u.Lowered, u.header)
	if err != nil {
		return nil, err
	}
	flop, err := u.RowFLOPs()
	if err != nil {
		return nil, err
	}
	trainer := host.Trainer{Spec: u.Spec, Groups: u.Lowered.Groups, Cost: host.Cost{Batches: u.Batches, RowFLOP: flop}, Version: u.Version}
	goFiles := map[string]*gocode.File{"plan.go": host.Plan(u.Lowered), "gpu.go": gpu(module), "kernels_test.go": host.Test(u.Lanes != nil)}
	if u.pkg == "main" {
		goFiles["main.go"] = host.Main(u.Spec)
	} else {
		trainer.Stage = u.Stage
	}
	goFiles["model.go"] = host.Model(trainer)
	files, err := u.print(goFiles)
	if err != nil {
		return nil, err
	}
	files[moduleFile] = module.Text
	files["kernels.kir"] = []byte(comment(u.header) + "\n" + kernel.Format(u.Lowered.Kernels))
	maps.Copy(files, host.DataFiles(u.Spec, comment(u.header)))
	kernels, err := u.kernels()
	maps.Copy(files, kernels)
	if err != nil || u.Lanes == nil {
		return files, err
	}
	return files, u.lanes(files)
}

// lanes prints the kernels of a training of several models at once.
func (u unit) lanes(files map[string][]byte) error {
	made := slices.DeleteFunc(slices.Clone(u.Lanes), func(k *kernel.Kernel) bool { return k == nil })
	files["lanes.kir"] = []byte(comment(u.header) + "\n" + kernel.Format(made))
	table, err := cpu.Lanes(u.Lowered.Kernels, u.Lanes, u.Spec.Train.Lanes, cpu.Options{Package: u.pkg, Header: u.header, Reserved: host.Reserved(u.Lowered)})
	maps.Copy(files, table)
	return err
}

// print prints Go files beside the spec.
func (u unit) print(goFiles map[string]*gocode.File) (map[string][]byte, error) {
	files := map[string][]byte{"spec.arith": []byte(SpecText(u.Program))}
	for path, f := range goFiles {
		f.Package, f.Header = u.pkg, u.header
		data, err := f.Format()
		if err != nil {
			return nil, err
		}
		files[path] = data
	}
	return files, nil
}

// SpecText is the spec that a program brings along, and its runs have.
func SpecText(p *compiler.Program) string { return comment(header(p)) + p.Spec.Carried }

func header(p *compiler.Program) string {
	return fmt.Sprintf("Code generated by mlc from %s. DO NOT EDIT.", p.Source)
}

func comment(header string) string { return "// " + header + "\n" }
