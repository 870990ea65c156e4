package track

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	liveEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
)

// A Progress is the content of the status line during training.
type Progress struct {
	Report
	Fraction float64       // used part of the budget
	Total    int           // steps, 0 if unknown
	Rate     float64       // examples a second
	Left     time.Duration // of training; negative: unknown
	Then     time.Duration // of the test after training; 0: unknown
	Test     *Test         // the last test of lengths; nil: no test yet
}

// A Testing is the content of the status line in a test after training.
type Testing struct {
	What        string // tested now
	Done, Total int    // cells
	Left        time.Duration
}

// A field is a part of the line. Fields of the highest rank are left out first if the line is
// too short.
type field struct {
	name, text string
	rank       int
}

func (p *Progress) fields() []field {
	step := field{"step", fmt.Sprintf("%d/%d", p.Step, p.Total), 0}
	if p.Total == 0 {
		step.text = fmt.Sprintf("%d (%.0f %%)", p.Step, 100*p.Fraction)
	}
	match := func(x float64) string { return fmt.Sprintf("%6s %%", Percent(x)) }
	all := []field{step, {"loss", fmt.Sprintf("%.4f", p.Loss), 2}}
	if p.ExactMatch != nil {
		all = append(all, field{"exact match", match(*p.ExactMatch), 3})
	}
	if p.ExactMatch == nil && p.HeldOutLoss != nil {
		all = append(all, field{"held out", Nats(*p.HeldOutLoss), 3})
	}
	if p.TrainExactMatch != nil {
		all = append(all, field{"of training", match(*p.TrainExactMatch), 7})
	}
	if p.Test != nil {
		for i, l := range p.Test.Lengths {
			rank := 4 // for the longest
			if shorter := len(p.Test.Lengths) - 1 - i; shorter > 0 {
				rank = 7 + shorter
			}
			all = append(all, field{fmt.Sprintf("at %d", l.Length), match(l.ExactMatch), rank})
		}
	}
	all = append(all, field{"examples/s", fmt.Sprintf("%.0f", p.Rate), 6})
	if p.Left >= 0 {
		all = append(all, field{"left", rounded(p.Left), 1})
	}
	if p.Left >= 0 && p.Then >= time.Second/2 {
		all = append(all, field{"then tests", rounded(p.Then), 5})
	}
	return all
}

func (t *Testing) fields() []field {
	all := []field{{"testing", t.What, 0}, {"cells", fmt.Sprintf("%d/%d", t.Done, t.Total), 2}}
	if t.Left > 0 {
		all = append(all, field{"left", rounded(t.Left), 1})
	}
	return all
}

// rounded writes a time in whole seconds.
func rounded(d time.Duration) string { return d.Round(time.Second).String() }

// between separates two fields.
const between = "  "

// fit returns the fields that fit in a line.
func fit(all []field, width int) []field {
	all = slices.Clone(all)
	for len(all) > 1 && utf8.RuneCountInString(join(all, plain)) > width {
		last := 0
		for i, f := range all {
			if f.rank > all[last].rank {
				last = i
			}
		}
		all = slices.Delete(all, last, last+1)
	}
	return all
}

// join writes fields, their names in a style.
func join(all []field, style func(string) string) string {
	parts := make([]string, len(all))
	for i, f := range all {
		parts[i] = style(f.name) + " " + f.text
	}
	return strings.Join(parts, between)
}

// Cut shortens a line to a width.
func Cut(line string, width int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), max(width, 0))])
}

// A Status shows progress: on a terminal of any width as one line that is overwritten,
// elsewhere as a line every ten seconds.
type Status struct {
	out   io.Writer // nil: quiet
	live  bool
	width func() int
	color bool
	now   func() time.Time
	last  time.Time
	shown bool // the live line is on the screen
}

// WidthVariable is the environment variable with the width of a live line. A program that shows
// the live lines of several trainers sets it, and parses their output like a terminal. A live
// line lies between a carriage return and the sequence that clears the rest of the line.
const WidthVariable = "MLC_STATUS_WIDTH"

// NewStatus returns a Status for a file, silent if quiet.
func NewStatus(f *os.File, quiet bool) *Status {
	if quiet {
		return &Status{now: time.Now}
	}
	if columns, err := strconv.Atoi(os.Getenv(WidthVariable)); err == nil && columns > 0 {
		return &Status{out: f, live: true, width: func() int { return columns }, now: time.Now}
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

// Live reports whether the line is overwritten.
func (s *Status) Live() bool { return s.out != nil && s.live }

// Color reports whether the user allows colours (https://no-color.org).
func Color() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Update shows progress if it is time to. The last update should be final.
func (s *Status) Update(p Progress, final bool) {
	if s.due(final) {
		s.show(p.fields())
		if final {
			s.Clear()
		}
	}
}

// Testing shows the progress of a test, if it is time to.
func (s *Status) Testing(t Testing) {
	if s.due(false) {
		s.show(t.fields())
	}
}

// due reports whether to show something now.
func (s *Status) due(final bool) bool {
	every := plainEvery
	if s.live {
		every = liveEvery
	}
	now := s.now()
	if s.out == nil || !final && now.Sub(s.last) < every {
		return false
	}
	s.last = now
	return true
}

// show writes a line, on a terminal over the last one. The last column stays free: some
// terminals wrap after it.
func (s *Status) show(all []field) {
	if !s.live {
		fmt.Fprintln(s.out, join(all, plain))
		return
	}
	room := s.width() - 1
	fields := fit(all, room)
	text := Cut(join(fields, plain), room)
	if s.color && text == join(fields, plain) {
		text = join(fields, dim)
	}
	fmt.Fprintf(s.out, "\r%s\x1b[K", text)
	s.shown = true
}

// Clear ends the live line, so that other text can follow it.
func (s *Status) Clear() {
	if s.shown {
		fmt.Fprintln(s.out)
	}
	s.shown = false
}

// Erase removes the live line from the screen.
func (s *Status) Erase() {
	if s.shown {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	s.shown = false
}

func plain(text string) string { return text }

func dim(text string) string { return "\x1b[2m" + text + "\x1b[0m" }
