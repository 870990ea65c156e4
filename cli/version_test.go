package cli

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
)

// TestVersion names the commit of a build, if the Go toolchain has recorded it.
func TestVersion(t *testing.T) {
	first := "mlc " + shell.Version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	of := func(settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "v0.1.2"}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for want, info := range map[string]*debug.BuildInfo{
		"":                         nil,
		" 0123456789ab":            of(revision, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		" 0123456789ab (modified)": of(debug.BuildSetting{Key: "vcs.modified", Value: "true"}, revision),
		" 01234":                   of(debug.BuildSetting{Key: "vcs.revision", Value: "01234"}),
	} {
		b := buildOf(info)
		if got := b.String(); got != first+want {
			t.Errorf("%s, want %s", got, first+want)
		}
		if info != nil && b.Module != "v0.1.2" {
			t.Errorf("the module is %s", b.Module)
		}
	}
}
