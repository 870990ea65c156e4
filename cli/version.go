package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/arithlang/mlc/cli/shell"
)

// A provenance describes the origin of this command.
type provenance struct {
	Version  string `json:"version"`
	Module   string `json:"module"`   // module version as the Go toolchain recorded it
	Revision string `json:"revision"` // commit, empty when unknown
	Modified bool   `json:"modified"` // the commit had local changes
	Go       string `json:"go"`       // Go version that built it
	Platform string `json:"platform"` // operating system and architecture
}

func thisBuild() provenance {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf returns what the Go toolchain recorded of a build. info is nil if it recorded nothing.
func buildOf(info *debug.BuildInfo) provenance {
	b := provenance{Version: shell.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	b.Module = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// versionLine is the output of --version.
func versionLine() string { return thisBuild().String() }

func (b provenance) String() string {
	line := fmt.Sprintf("mlc %s %s %s", b.Version, b.Go, b.Platform)
	if b.Revision != "" {
		line += " " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		line += " (modified)"
	}
	return line
}
