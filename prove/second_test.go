//go:build !nogpu && linux && (amd64 || arm64)

package prove

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// The environment of processes on the fake driver.
const (
	faultName = "PROVE_TEST_RANK_1" // fault of rank 1
	hashName  = "PROVE_TEST_HASH"   // replaces the processor's
)

// A lateDriver ends or hangs when a machine is made, after ranks have met.
type lateDriver struct {
	cuda.Driver
	cuda.Streamer
	fault string
}

func (d *lateDriver) Load(ptx string) (cuda.Module, error) {
	switch d.fault {
	case "dies later":
		os.Stderr.WriteString("last words\n")
		os.Exit(3)
	case "hangs later":
		select {}
	}
	return d.Driver.Load(ptx)
}

// TestFakeProcess is a process that runs a part on the fake driver.
func TestFakeProcess(t *testing.T) {
	if os.Getenv(fakecuda.Prebuilt) == "" {
		t.Skip("TestRanks starts it")
	}
	lib := fakecuda.Build(t)
	e := &Env{}
	if want := os.Getenv(hashName); want != "" {
		e.hash = func(string) string { return want }
	}
	e.open = func() (cuda.Driver, error) {
		lib.Set("fill", 0) // memory that no kernel writes holds finite numbers
		lib.Set("moves", 1)
		d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
		if e.meet == "" || err != nil {
			return d, err
		}
		fault := os.Getenv(faultName)
		switch fault {
		case "dies":
			os.Exit(3)
		case "is refused":
			return nil, errors.New("the device is in use")
		}
		return &lateDriver{d, d.(cuda.Streamer), fault}, nil
	}
	if err := child(os.Stdin, phases(), e); err != nil {
		t.Fatal(err)
	}
}

// fakes builds both libraries and makes processes use them.
func fakes(t *testing.T) {
	t.Helper()
	driver := fakecuda.Build(t).Path
	dir := t.TempDir()
	lib := filepath.Join(dir, "libnccl.so.2")
	if out, err := exec.Command(full.Needs(t, full.CC), "-shared", "-fPIC", "-o", lib, "../runtime/cuda/nccl/testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	for name, value := range map[string]string{
		fakecuda.Prebuilt: driver, "MLC_LIBNCCL": lib, "TMPDIR": dir, "FAKE_NCCL_GPU": "0", "FAKE_NCCL_VERSION": "23003",
		"NCCL_MULTI_RANK_GPU_ENABLE": "", "NCCL_COMM_ID": "", hashName: untrained(t, "tiny"),
	} {
		t.Setenv(name, value)
	}
}

// untrained returns the hash of an untrained model.
func untrained(t *testing.T, name string) string {
	t.Helper()
	trial, err := find(trials(), name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := trial.config(fullSize)
	if err != nil {
		t.Fatal(err)
	}
	d, err := (&Env{Device: "sim"}).Open()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := m.Machine(d)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	trainer.Dir = t.TempDir()
	path, err := trainer.Save()
	if err != nil {
		t.Fatal(err)
	}
	f, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hashOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// ranked runs a part of the phase as mlc prove does.
func ranked(t *testing.T, limit time.Duration) *Part {
	t.Helper()
	command := []string{os.Args[0], "-test.run=^TestFakeProcess$", "-test.timeout=90s"}
	j := job{Options: Options{Device: "cuda", Seed: 1, Command: command}, dir: t.TempDir()}
	table := phases()
	i := slices.IndexFunc(table, func(p phase) bool { return p.name == ranksPhase })
	return j.part(t.Context(), table[i], request{Phase: ranksPhase, Part: "tiny"}, table[i].env, limit)
}

// TestRanks lets two processes train by a fake NCCL on fake GPUs. These compute nothing, so
// parameters keep their initial values. If ranks cannot meet, the part is skipped with the
// reason; later faults are reported.
func TestRanks(t *testing.T) {
	fakes(t)
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	const ample = time.Minute
	for name, c := range map[string]struct {
		env     []string
		limit   time.Duration
		verdict Verdict
		want    []string // in the lines of the page
	}{
		"right":   {nil, 0, Pass, []string{"2 ranks by NCCL 2.30.3, 3 steps of 6 examples", "the processor's bits", "; gradients exchanged in"}},
		"wrong":   {[]string{hashName + "="}, 0, Fail, []string{"parameters and moments of rank 0 of 2 have other bits", "of rank 1 of 2 have other bits", "SHA-256 "}},
		"refused": {[]string{"FAKE_NCCL_VERSION=22809"}, 0, Skipped, []string{"two ranks cannot meet", "Duplicate GPU", "pip install --upgrade nvidia-nccl-cu12"}},
		"old":     {[]string{"FAKE_NCCL_VERSION=21305"}, 0, Skipped, []string{"is NCCL 2.13.5", "pip install nvidia-nccl-cu12"}},
		"missing": {[]string{"MLC_LIBNCCL=", "PATH=", "HOME=" + nowhere, "VIRTUAL_ENV=", "CONDA_PREFIX=", "CUDA_HOME=", "CUDA_PATH="}, 0, Skipped, []string{"pip install nvidia-nccl-cu12"}},
		"no second process": {[]string{faultName + "=is refused"}, 0, Skipped,
			[]string{"two processes cannot open the GPU", "--compute-mode=DEFAULT", "the device is in use"}},
		"dies":        {[]string{faultName + "=dies"}, 0, Fail, []string{"rank 1: its process did not end well: exit status 3"}},
		"dies later":  {[]string{faultName + "=dies later"}, 0, Fail, []string{"rank 1: its process did not end well: exit status 3", "last words"}},
		"hangs later": {[]string{faultName + "=hangs later"}, 12 * time.Second, Fail, []string{"rank 0: ", "the other ranks have not come for"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pair := range c.env {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			limit := cmp.Or(c.limit, ample)
			start := time.Now()
			p := ranked(t, limit)
			page := strings.Join(p.lines(), "\n")
			t.Log(time.Since(start), page)
			if p.Verdict != c.verdict || time.Since(start) > limit+grace {
				t.Errorf("%s after %v, want %s:\n%s", p.Verdict, time.Since(start), c.verdict, page)
			}
			for _, text := range c.want {
				if !strings.Contains(page, text) {
					t.Errorf("no %q in\n%s", text, page)
				}
			}
		})
	}
}
