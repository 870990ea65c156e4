package shell

import (
	"io"
	"os"

	"golang.org/x/term"
)

// UseColor decides on colors: as --color says, or, under auto, when w is a
// terminal and neither NO_COLOR nor TERM=dumb asks for none.
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
