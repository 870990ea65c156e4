//go:build !nogpu && linux && (amd64 || arm64)

package nccl_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/runtime/cuda/nccl"
	"github.com/arithlang/mlc/sim/simulated"
)

// A gpu is a device without any calls.
type gpu struct {
	cuda.Driver
	cuda.Streamer
}

// refuse returns the error of an Open that must fail.
func refuse(t *testing.T, o nccl.Options) string {
	t.Helper()
	_, err := nccl.Open(o)
	if err == nil {
		t.Fatalf("%+v works", o)
	}
	return err.Error()
}

// TestSearch finds libraries in the folders of Pythons and toolkits. If one does not fit, it tries
// the next.
func TestSearch(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"} {
		t.Setenv(name, filepath.Join(root, "nowhere"))
	}
	t.Setenv("MLC_LIBNCCL", "")
	cc := full.Needs(t, full.CC)
	t.Setenv("PATH", filepath.Dir(cc)) // without the user's Python
	o := nccl.Options{Driver: gpu{}, Size: 1}
	text := refuse(t, o)
	if !strings.Contains(text, "NCCL is not found") {
		t.Skip("this machine has the library")
	}
	if !strings.Contains(text, "$VIRTUAL_ENV") || !strings.Contains(text, "pip install nvidia-nccl") || !strings.Contains(text, "--ranks mpi") {
		t.Error(text)
	}
	// Each is too old, so the error names all that were tried.
	old := func(at string) string { return build(t, filepath.Join(root, at), "-DVERSION=21305") }
	venv := old("venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2")
	conda := old("conda/lib/libnccl.so.2")
	t.Setenv("VIRTUAL_ENV", filepath.Join(root, "venv"))
	t.Setenv("CONDA_PREFIX", filepath.Join(root, "conda"))
	text = refuse(t, o)
	first, second := strings.Index(text, venv), strings.Index(text, conda)
	if first < 0 || second < first || strings.Count(text, "is NCCL 2.13.5, and 2.14.0 or later") != 2 || !strings.Contains(text, "MLC_LIBNCCL") {
		t.Error(text)
	}
	named := build(t, filepath.Join(root, "named.so"), "-DVERSION=2708")
	t.Setenv("MLC_LIBNCCL", named)
	if text := refuse(t, o); !strings.Contains(text, named+" is NCCL 2.7.8") || strings.Contains(text, venv) {
		t.Error(text)
	}
	good := build(t, filepath.Join(root, "good.so"), "-DVERSION=23003")
	t.Setenv("MLC_LIBNCCL", good)
	if l, err := nccl.Find(""); err != nil || l.Path != good || l.Version != "2.30.3" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := nccl.Find(named); err == nil || !strings.Contains(err.Error(), "is NCCL 2.7.8") {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestOpenFails distinguishes files that are no library, devices that are no GPU and bad ranks.
func TestOpenFails(t *testing.T) {
	none, err := simulated.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]nccl.Options{
		"NCCL cannot be loaded: ":                                    {Driver: gpu{}, Size: 1, Library: filepath.Join(t.TempDir(), "missing.so")},
		"has no function ncclGetVersion: it is no NCCL":              {Driver: gpu{}, Size: 1, Library: fakecuda.Build(t).Path},
		"the device is simulated sm_80: use --ranks mpi":             {Driver: none, Size: 1},
		"rank 2 of 2: want a rank from 0 to one less than there are": {Driver: gpu{}, Rank: 2, Size: 2},
		"rank 0 of 0: want a rank from 0 to one less than there are": {Driver: gpu{}},
	} {
		if text := refuse(t, o); !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// TestAgree has ranks with unlike libraries. No rank waits for another.
func TestAgree(t *testing.T) {
	dir := t.TempDir()
	libs := []string{build(t, filepath.Join(dir, "a.so"), "-DVERSION=22809"), build(t, filepath.Join(dir, "b.so"), "-DVERSION=23203")}
	for want, paths := range map[[2]string][]string{
		{"one rank has NCCL 2.32.3 and another 2.28.9", "one rank has NCCL 2.32.3 and another 2.28.9"}: libs,
		{"another rank cannot use NCCL: see its message", "missing.so"}:                                {libs[0], filepath.Join(dir, "missing.so")},
	} {
		errs := commtest.Run(2, commtest.Faults{}, func(w comm.World) error {
			_, err := nccl.Open(nccl.Options{Driver: gpu{}, World: w, Library: paths[w.Rank()]})
			return err
		})
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), want[rank]) {
				t.Errorf("rank %d: %v, want %q", rank, err, want[rank])
			}
		}
	}
	for call, err := range commtest.Run(2, commtest.Faults{Fail: 1}, func(w comm.World) error {
		_, err := nccl.Open(nccl.Options{Driver: gpu{}, World: w, Library: libs[0]})
		return err
	}) {
		if !errors.Is(err, commtest.ErrFailed) {
			t.Errorf("rank %d: %v", call, err)
		}
	}
}

// TestMeeting reads the environments of launchers.
func TestMeeting(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"NCCL_COMM_ID=10.0.0.1:99 MASTER_ADDR=a MASTER_PORT=1", "10.0.0.1:99"},
		{"MASTER_ADDR=node1 MASTER_PORT=29500 SLURM_JOB_ID=7", "node1:29501"},
		{"MASTER_ADDR=fe80::1 MASTER_PORT=65534", "[fe80::1]:65535"},
		{"MASTER_ADDR=node1 MASTER_PORT=65535", "error: MASTER_PORT"},
		{"MASTER_ADDR=node1 MASTER_PORT=x", "error: MASTER_PORT"},
		{"SLURM_JOB_ID=4097 SLURM_STEP_NODELIST=node[001-004,7],other SLURM_JOB_NODELIST=x", "node001:61441"},
		{"SLURM_JOB_ID=0 SLURM_JOB_NODELIST=gpu7,gpu8", "gpu7:61440"},
		{"SLURM_JOB_ID=8191 SLURM_JOB_NODELIST=r[3,5]n[08-12]-ib", "r3n08-ib:65535"},
		{"SLURM_JOB_ID=x SLURM_JOB_NODELIST=gpu7", "error: SLURM_JOB_ID"},
		{"SLURM_JOB_ID=7", "error: NCCL has to know"},
		{"", "error: NCCL has to know"},
	} {
		got, err := nccl.Meeting(func(name string) string {
			for pair := range strings.FieldsSeq(c.env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if err != nil {
			got = fmt.Sprintf("error: %v", err)
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.env, got, c.want)
		}
	}
}
