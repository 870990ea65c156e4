package shell

import (
	"io"
	"os"

	"golang.org/x/term"
)

// UseColor reports whether to color messages on w. flag is the value of --color. With auto,
// w must be a terminal, and NO_COLOR and TERM=dumb must not forbid colors.
func UseColor(flag string, w io.Writer) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
