package train

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/term"

	"github.com/arithlang/mlc/runtime/track"
)

// A screen shows permanent lines and, below them on a terminal, status lines that it
// overwrites. Writes are permanent lines.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	size  func() (width, height int) // nil: not a terminal
	lines []string                   // the status lines
}

// newScreen returns a screen on out. Only a terminal shows status lines.
func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	f, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.size = func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
	return s
}

// width returns the room in a line.
func (s *screen) width() int {
	if s.size == nil {
		return 200 // a file
	}
	width, _ := s.size()
	return width
}

// Write writes permanent lines.
func (s *screen) Write(text []byte) (n int, err error) {
	s.aside(func() { n, err = s.out.Write(text) })
	return n, err
}

// aside hides the status lines during another write to the terminal.
func (s *screen) aside(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.draw(nil)
	write()
	s.draw(lines)
}

// show replaces the status lines, as far as there is room.
func (s *screen) show(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size == nil {
		return
	}
	width, height := s.size()
	lines = slices.Clone(lines)
	if room := max(height-1, 2); len(lines) > room {
		lines = append(lines[:room-2], fmt.Sprintf("and %d more", len(lines)-1-(room-2)), lines[len(lines)-1])
	}
	for i := range lines {
		lines[i] = track.Cut(lines[i], width-1) // some terminals wrap after the last column
	}
	if !slices.Equal(lines, s.lines) {
		s.draw(lines)
	}
}

// draw overwrites the status lines in one write.
func (s *screen) draw(lines []string) {
	if len(lines) == 0 && len(s.lines) == 0 {
		return
	}
	var b bytes.Buffer
	if n := len(s.lines); n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", n)
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "\r%s\x1b[K\n", line)
	}
	b.WriteString("\r\x1b[J")
	s.out.Write(b.Bytes())
	s.lines = lines
}
