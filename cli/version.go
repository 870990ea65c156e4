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
	b := provenance{Version: shell.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
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
func versionLine() string {
	b := thisBuild()
	line := fmt.Sprintf("mlc %s %s %s", b.Version, b.Go, b.Platform)
	if b.Revision != "" {
		line += " " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		line += " (modified)"
	}
	return line
}
