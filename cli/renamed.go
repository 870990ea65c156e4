package cli

import (
	"strings"

	"github.com/arithlang/mlc/cli/shell"
)

// renamed lists the former names of flags by verb, with their current names.
var renamed = map[string]map[string]string{
	"explain": {"--html": "--format html --out FILE"},
	"export":  {"--to": "--format, and the output file --out"},
	"runs":    {"--csv": "--format csv"},
	"train":   {"--parallel": "--jobs"},
}

// nowCalled returns the error for a command line with a former flag, or nil.
func nowCalled(verb string, fail error) error {
	for old, now := range renamed[verb] {
		rest, is := strings.CutPrefix(fail.Error(), "unknown flag "+old)
		if is && !strings.HasPrefix(rest, "-") {
			return shell.Usagef("%s is called %s now (see mlc %s --help)", old, now, verb)
		}
	}
	return nil
}
