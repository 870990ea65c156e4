package cli

import (
	"strings"

	"github.com/arithlang/mlc/cli/shell"
)

// renamed says what flags are called that scripts may have by an older name, by their verb.
var renamed = map[string]map[string]string{
	"explain": {"--html": "--format html --out FILE"},
	"export":  {"--to": "--format, and what is written is --out"},
	"runs":    {"--csv": "--format csv"},
	"train":   {"--parallel": "--jobs"},
}

// nowCalled is the error of a command line that has a flag by its older name; nil: it has none.
func nowCalled(verb string, fail error) error {
	for old, now := range renamed[verb] {
		rest, is := strings.CutPrefix(fail.Error(), "unknown flag "+old)
		if is && !strings.HasPrefix(rest, "-") {
			return shell.Usagef("%s is called %s now (see mlc %s --help)", old, now, verb)
		}
	}
	return nil
}
