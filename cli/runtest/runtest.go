// Package runtest makes run directories for tests.
package runtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/record"
)

// Untrained makes the run directory of a spec whose weights are all small numbers.
func Untrained(t *testing.T, file string, set ...string) string {
	t.Helper()
	spec, found := check.Resolve(check.Options{Path: file, Read: os.ReadFile, Set: set})
	if found.HasErrors() {
		t.Fatal(found)
	}
	p, err := model.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rec := record.Record{Name: spec.Name, SpecHash: spec.Hash, Seed: 1}
	if err := rec.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, record.SpecFile), []byte(spec.Carried), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, f := range spec.Files() {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.Problems.Text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var groups []*device.Group
	for _, g := range p.Groups {
		groups = append(groups, (*device.Group)(g))
	}
	f := ckpt.File{Meta: map[string]string{"step": "1", "spec_hash": spec.Hash}}
	for _, param := range device.Flat(groups...) {
		values := make([]float32, param.Elems())
		for i := range values {
			values[i] = float32(i%7+1) / 8
		}
		f.Tensors = append(f.Tensors, ckpt.Tensor{Name: param.Name, Shape: param.Shape, Data: values})
	}
	if err := os.Mkdir(filepath.Join(dir, "ckpt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := ckpt.Write(filepath.Join(dir, "ckpt", "step-00000001.safetensors"), f); err != nil {
		t.Fatal(err)
	}
	return dir
}
