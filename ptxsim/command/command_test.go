package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// endless has a loop that takes hours.
const endless = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 out)
{
	.reg .b32 %r;
	.reg .pred %p;
	mov.u32 %r, 0;
AGAIN:	add.u32 %r, %r, 1;
	setp.ne.u32 %p, %r, 0;
	@%p bra AGAIN;
	ret;
}
`

// TestEnd checks that the end of a context ends a command with the context's cause, and that no
// file is written.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "endless.ptx")
	if err := os.WriteFile(file, []byte(endless), 0o644); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var out, said bytes.Buffer
	s := &Shell{Context: ctx, Program: "ptxsim", Out: &out, Err: &said}
	check, run := Check{Files: []string{file}}, Run{File: file, Grid: []int{1}, Block: []int{1}, Arg: []string{fmt.Sprintf("out:4:%s", filepath.Join(dir, "out"))}, Order: "round-robin", MaxSteps: 1 << 40}
	if err := check.Run(s); err != nil || out.Len() == 0 {
		t.Errorf("check: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- run.Run(s) }()
	cancel(cause)
	if err := <-ended; err != cause {
		t.Errorf("run: %v", err)
	}
	if err := check.Run(s); err != cause {
		t.Errorf("check behind the end: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || said.Len() > 0 {
		t.Errorf("files %v, %v; it says %q", files, err, said.String())
	}
}

// TestNearest checks that an error suggests the intended name, or lists all names.
func TestNearest(t *testing.T) {
	names := []string{"copy", "mixed", "transpose"}
	for name, want := range map[string]string{
		"cpy": `did you mean "copy"?`, "cpoy": `did you mean "copy"?`, "MIXED": `did you mean "mixed"?`, "transposed": `did you mean "transpose"?`,
		"x": "kernels are copy, mixed, transpose", "": "kernels are copy, mixed, transpose",
	} {
		if got := didYouMean(name, names, "kernels are"); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestScaled(t *testing.T) {
	for x, want := range map[float64]string{0: "0 B", 999: "999 B", 999.6: "1 kB", 1500: "1.5 kB", 2.5e9: "2.5 GB", 1e24: "1000000 EB"} {
		if got := scaled(x, "B"); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}
