package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
)

// infoCmd is the verb info.
type infoCmd struct{}

// processor lists the features of this processor that generated trainers use.
type processor struct {
	Arch     string   `json:"arch"`
	Cores    int      `json:"cores"`
	Features []string `json:"features"`
}

// Run prints versions and features.
func (infoCmd) Run(sh *shell.Shell) error {
	b, p := thisBuild(), thisProcessor()
	tool, missing := build.FindToolchain(sh)
	if sh.JSON {
		all := struct {
			Build  provenance       `json:"mlc"`
			CPU    processor        `json:"cpu"`
			Builds *build.Toolchain `json:"builds_with"` // null: trainers cannot be built
		}{b, p, &tool}
		if missing != nil {
			all.Builds = nil
		}
		return sh.PrintJSON(all)
	}
	builds := fmt.Sprintf("%s of %s: %s", tool.Version, tool.From, tool.Path)
	if missing != nil {
		builds = "nothing: " + missing.Error()
	}
	features := cmp.Or(strings.Join(p.Features, " "), "none that is used")
	_, err := fmt.Fprintf(sh.Out, "mlc       %s (module %s)\ngo        %s %s\ncpu       %s, %d cores: %s\nbuilds    trainers with %s\n",
		b.Version, b.Module, b.Go, b.Platform, p.Arch, p.Cores, features, builds)
	return err
}

func thisProcessor() processor {
	p := processor{Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Features: []string{}}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA},
		{"avx512f", cpu.X86.HasAVX512F}, {"avx512vl", cpu.X86.HasAVX512VL},
		{"avx512bw", cpu.X86.HasAVX512BW}, {"avx512dq", cpu.X86.HasAVX512DQ}, {"avx512bf16", cpu.X86.HasAVX512BF16},
		{"neon", cpu.ARM64.HasASIMD},
	} {
		if f.has {
			p.Features = append(p.Features, f.name)
		}
	}
	return p
}
