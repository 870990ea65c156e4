package track

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	liveEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
)

// A Progress is what the status line shows.
type Progress struct {
	Report
	Fraction float64       // of the budget that is used up
	Total    int           // steps, 0 if not known
	Rate     float64       // examples a second
	Left     time.Duration // negative: not known
}

func (p Progress) text(dim func(string) string) string {
	var b strings.Builder
	field := func(name, format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		b.WriteString(dim(name) + " " + fmt.Sprintf(format, args...))
	}
	if p.Total > 0 {
		field("step", "%d/%d", p.Step, p.Total)
	} else {
		field("step", "%d (%.0f %%)", p.Step, 100*p.Fraction)
	}
	field("loss", "%.4f", p.Loss)
	if p.ExactMatch != nil {
		field("exact match", "%6s %%", Percent(*p.ExactMatch))
	}
	if p.TrainExactMatch != nil {
		field("of training", "%6s %%", Percent(*p.TrainExactMatch))
	}
	field("examples/s", "%.0f", p.Rate)
	if p.Left >= 0 {
		field("left", "%s", p.Left.Round(time.Second))
	}
	return b.String()
}

// A Status shows progress: one line that is written over on a terminal, a line
// every ten seconds elsewhere.
type Status struct {
	out   io.Writer // nil: quiet
	live  bool
	width func() int
	color bool
	now   func() time.Time
	last  time.Time
	shown bool // the live line is on the screen
}

// NewStatus writes to a file, in the way that suits it; not at all if quiet.
func NewStatus(f *os.File, quiet bool) *Status {
	if quiet {
		return &Status{now: time.Now}
	}
	live := term.IsTerminal(int(f.Fd()))
	width := func() int {
		w, _, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 {
			return 80
		}
		return w
	}
	return &Status{out: f, live: live, width: width, color: live && Color(), now: time.Now}
}

// Color says whether the user has left colours on (https://no-color.org).
func Color() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Update shows progress if it is time to; the last update of all should be final.
func (s *Status) Update(p Progress, final bool) {
	every := plainEvery
	if s.live {
		every = liveEvery
	}
	now := s.now()
	if s.out == nil || !final && now.Sub(s.last) < every {
		return
	}
	s.last = now
	if !s.live {
		fmt.Fprintln(s.out, p.text(plain))
		return
	}
	text := p.text(plain)
	switch width := s.width(); {
	case len(text) >= width:
		text = text[:max(width-1, 0)]
	case s.color:
		text = p.text(dim)
	}
	fmt.Fprintf(s.out, "\r%s\x1b[K", text)
	s.shown = true
	if final {
		s.Clear()
	}
}

// Clear ends the live line, so that other text can follow it.
func (s *Status) Clear() {
	if s.shown {
		fmt.Fprintln(s.out)
	}
	s.shown = false
}

func plain(text string) string { return text }

func dim(text string) string { return "\x1b[2m" + text + "\x1b[0m" }
