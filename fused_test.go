package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// fused lists the files with sums of products that a processor may round once instead of twice,
// and why that changes nothing.
var fused = map[string]string{
	"compiler/check/train.go":  "halves are exact",
	"compiler/expr/fma.go":     "products of two float32 are exact in float64",
	"compiler/expr/scalar.go":  "it is math.FMA",
	"compiler/flops.go":        "operations that are counted, in texts",
	"compiler/kernel/sums.go":  "products of two float32 are exact in float64",
	"ptxsim/float.go":          "products of two float32 are exact in float64",
	"ptxsim/num/fast.go":       "products of two float32 are exact in float64, and math.FMA",
	"runtime/cpu/fma.go":       "products of two float32 are exact in float64",
	"runtime/device/device.go": "elements that are counted",
	"runtime/world/need.go":    "bytes that are counted",
}

// computing matches the folders whose results must be the same on every processor. shown matches
// packages in them that only make texts, pictures and forecasts.
var (
	computing = regexp.MustCompile(`^(runtime|ptxsim|compiler|codegen|generated)/`)
	shown     = regexp.MustCompile(`^(compiler/(cli|diff)|runtime/(board|cores))/`)
)

// TestNothingFuses checks that every processor rounds float operations of Go as they are written.
// For ARM64 and others, the Go compiler fuses a product and a sum into one instruction. A
// conversion of the product prevents that.
func TestNothingFuses(t *testing.T) {
	full.Only(t)
	cmd := exec.Command("go", "build", "-gcflags="+module+"/...=-S", "./runtime/...", "./ptxsim/...", "./compiler", "./codegen/...", "./generated/...")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	var listing bytes.Buffer
	cmd.Stderr = &listing
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %.2000s", err, listing.Bytes())
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	instruction := regexp.MustCompile(`^\t0x[0-9a-f]+ [0-9]+ \((.*):([0-9]+)\)\t(FN?M(?:ADD|SUB)[SD])\t`)
	instructions, found := 0, map[string]bool{}
	for line := range strings.Lines(listing.String()) {
		instructions++
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		file, err := filepath.Rel(dir, m[1])
		if err != nil || !computing.MatchString(file) || shown.MatchString(file) {
			continue
		}
		found[file] = true
		if fused[file] == "" {
			t.Errorf("%s:%s: %s: convert the product, as in float64(x*y) + z, or say in fused why not", file, m[2], m[3])
		}
	}
	if instructions < 100_000 {
		t.Fatalf("only %d lines of assembly", instructions)
	}
	for file := range fused {
		switch {
		case !bytes.Contains(listing.Bytes(), []byte("("+filepath.Join(dir, file)+":")):
			t.Errorf("go build printed no assembly for %s: its cache has lost the text, and go clean -cache mends that", file)
		case !found[file]:
			t.Errorf("%s has nothing fused: strike it from the list", file)
		}
	}
}
