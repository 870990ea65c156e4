package check

import (
	"errors"
	"strings"
	"testing"
)

// TestRefusedInclude: a file that may not be included is not read, even in a sweep case.
func TestRefusedInclude(t *testing.T) {
	for _, text := range []string{
		"arith 2\ninclude \"../secret.arith\"\n",
		"arith 2\nsweep { a x { include \"../secret.arith\" } }\n",
	} {
		files := map[string]string{"run/spec.arith": text}
		_, found := Resolve(Options{Path: "run/spec.arith",
			Read: func(path string) ([]byte, error) {
				if files[path] == "" {
					t.Errorf("%s is read", path)
				}
				return []byte(files[path]), nil
			},
			Include: func(path string) error { return errors.New("not " + path) },
		})
		if len(found) == 0 || !found.HasErrors() || !strings.Contains(found[0].Message+found[0].Help, "cannot include secret.arithnot secret.arith") {
			t.Errorf("%s: %v", text, found)
		}
	}
}
