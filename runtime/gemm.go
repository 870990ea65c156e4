package runtime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cublaslt"
)

// What computes matrix products on a GPU, as --gemm takes it.
const (
	ownGemm = "mlc"
	library = "cublaslt"
)

// gemm says whether a library is asked for, and which file it is; "" for one that is found.
func (f *deviceFlags) gemm() (by bool, path string, err error) {
	name, path, named := strings.Cut(f.Gemm, "=")
	switch {
	case f.Gemm == "" || f.Gemm == ownGemm:
		return false, "", nil
	case name != library || named && path == "":
		return false, "", usagef("unknown --gemm %q: want %s, %s or %s=PATH", f.Gemm, ownGemm, library, library)
	case f.Device != "auto" && f.Device != "cuda":
		return false, "", usagef("--gemm %s is for a GPU of NVIDIA's, and the device is %s: use --device cuda, or --gemm %s", library, f.Device, ownGemm)
	}
	return true, path, nil
}

// multiplier opens the library that is asked for; nil if none is.
func (f *deviceFlags) multiplier(a app, d cuda.Driver) (cuda.Multiplier, error) {
	by, path, err := f.gemm()
	if err != nil || !by {
		return nil, err
	}
	open := cublaslt.Open
	if a.library != nil {
		open = a.library
	}
	m, err := open(d, path)
	if err != nil {
		return nil, fmt.Errorf("--gemm %s: %w", f.Gemm, errors.Join(err, d.Close()))
	}
	return m, nil
}

// sameGemm refuses to go on with a run whose steps so far had products by something else,
// which have other bits.
func (c *trainCmd) sameGemm(dir, was string) error {
	by, _, err := c.gemm()
	switch {
	case err != nil:
		return err
	case by && was == "":
		return usagef("products of the run in %s are mlc's own: resume it without --gemm %s", dir, c.Gemm)
	case !by && was != "":
		return usagef("products of the run in %s are by %s: resume it with --gemm %s", dir, was, library)
	}
	return nil
}

// sayGemm warns that the library is another than that of a run's first steps.
func (c *trainCmd) sayGemm(a app, dir, was, now string) {
	if was != now {
		c.say(a, "%s has products by %s, and goes on with %s: bits may differ from those of a run without a break\n", dir, was, now)
	}
}
