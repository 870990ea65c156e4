package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
)

// A page is docs/performance.md.
type page struct {
	Date     time.Time
	Threads  int
	Rounds   int
	Quick    bool     // rounds have one step
	Cases    []string // the cases, if not all
	Peers    []peer
	Sections []section
	ARM64    string // instructions of products, from the separate page docs/arm64.md; "" leaves it out
	Launches string // launches of a training step on a GPU, from the separate page specs/launches.md; "" leaves it out
}

// A section holds the measurements of a case.
type section struct {
	Case       peers.Case
	Info       info
	Agreements []agreement
	Results    []rounds.Result
	Kernels    string // the trainer's own table
}

// disagreement returns an error if a peer is a different model, or if no peer was compared.
func (p *page) disagreement() error {
	var errs []error
	compared := false
	for _, s := range p.Sections {
		for _, a := range s.Agreements {
			compared = true
			if err := a.err(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Case.Name, err))
			}
		}
	}
	if !compared {
		return errors.New("no peer was compared: install what bench/peers/requirements.txt names, and ask for eager or jax")
	}
	return errors.Join(errs...)
}

const preface = `# Performance

Written by [bench](../bench), never by hand.

This page compares a training step of compiled trainers with the same models in PyTorch and JAX: forward, loss, backward
and Adam, in float32. Every contestant is a warmed-up process. Each peer takes turns with mlc; both run for about three
seconds per round. Seconds are medians over rounds. A ratio is the median, over rounds, of the peer's seconds divided by
mlc's: above 1, mlc is faster. Spread is the range over rounds divided by the median. Start is the time until the first
step after warm-up is done; it includes the peer's compilation, but not mlc's, which is done before. Memory is the peak
resident size. A step of mlc includes drawing its problems; the peers have theirs in memory.
`

// String formats the page in Markdown.
func (p *page) String() string {
	var b strings.Builder
	b.WriteString(preface)
	fmt.Fprintf(&b, "\n- %s, `%s`\n", p.Date.Format(time.DateOnly), p.command())
	if len(p.Sections) > 0 {
		i := p.Sections[0].Info
		fmt.Fprintf(&b, "- mlc %s; %s\n", i.Version, strings.Join(i.Devices, "; "))
	}
	for _, r := range p.Peers {
		fmt.Fprintf(&b, "- %s\n", cmp.Or(prefixed(r.Title+" left out: ", r.Missing), r.Title))
	}
	p.summary(&b)
	for _, s := range p.Sections {
		s.write(&b)
	}
	if p.ARM64 != "" {
		b.WriteString("\n#" + p.ARM64) // as a section: command arm also writes it here
	}
	if p.Launches != "" {
		b.WriteString("\n#" + p.Launches) // as the last section: a test compares the two files
	}
	return b.String()
}

// command returns the command that repeats the measurement on any machine.
func (p *page) command() string {
	c := fmt.Sprintf("go run ./bench --threads %d --rounds %d", p.Threads, p.Rounds)
	if p.Quick {
		c += " --quick"
	}
	if len(p.Cases) > 0 {
		c += " --only " + strings.Join(p.Cases, ",")
	}
	return c
}

// prefixed returns prefix and text, or "" if there is no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// summary writes a table of ratios, one case a row.
func (p *page) summary(b *strings.Builder) {
	head := []string{"case", "mlc, s a step"}
	for _, r := range p.Peers {
		if r.Missing == "" {
			head = append(head, r.Title)
		}
	}
	var lines [][]string
	for _, s := range p.Sections {
		line := []string{s.Case.Name}
		if len(s.Results) > 0 {
			line = append(line, seconds(s.Results[0]))
		}
		for _, title := range head[2:] {
			if i := slices.IndexFunc(s.Results, func(r rounds.Result) bool { return r.Title == title }); i >= 0 {
				line = append(line, ratio(s.Results[i]))
			} else {
				line = append(line, "")
			}
		}
		lines = append(lines, line)
	}
	b.WriteString("\n")
	table(b, head, lines)
}

// write writes the section of a case.
func (s *section) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s: %s\n\n`%s`", s.Case.Name, s.Case.Title, s.Case.Spec)
	for _, set := range s.Case.Set {
		fmt.Fprintf(b, " with `--set '%s'`", set)
	}
	fmt.Fprintf(b, ", %d parameters everywhere.\n\n", s.Info.Params)
	var lines [][]string
	for _, r := range s.Results {
		lines = append(lines, []string{r.Title, seconds(r), ratio(r), spread(r), fmt.Sprintf("%.1f s", r.Start.Seconds()),
			memory(r)})
		if r.Err != nil {
			lines[len(lines)-1] = []string{r.Title, "failed", "", "", "", ""}
		}
	}
	table(b, []string{"", "s a step", "ratio", "spread", "start", "memory"}, lines)
	for _, r := range s.Results {
		if r.Err != nil {
			fmt.Fprintf(b, "\n%s failed: %v\n", r.Title, r.Err)
		}
	}
	s.agreed(b)
	if s.Kernels != "" {
		fmt.Fprintf(b, "\nIts kernels, by `NAME bench`:\n\n```\n%s\n```\n", strings.TrimSpace(s.Kernels))
	}
}

// agreed writes how closely the models agree.
func (s *section) agreed(b *strings.Builder) {
	for _, a := range s.Agreements {
		if err := a.err(); err != nil {
			fmt.Fprintf(b, "\n**%v**\n", err)
			continue
		}
		fmt.Fprintf(b, "\nOne step of %s on 8 problems from equal parameters, without dropout: loss %.0e, gradient %.0e, step %.0e apart.\n",
			a.Title, a.Loss, a.Gradient, a.Step)
	}
}

func seconds(r rounds.Result) string {
	if r.Err != nil || len(r.Seconds) == 0 {
		return "failed"
	}
	return fmt.Sprintf("%.3g", rounds.Median(r.Seconds))
}

// ratio formats how many times as long as ours a result is, round by round.
func ratio(r rounds.Result) string {
	ratio, known := r.Ratio()
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func spread(r rounds.Result) string {
	if r.Err != nil || len(r.Seconds) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*(slices.Max(r.Seconds)-slices.Min(r.Seconds))/rounds.Median(r.Seconds))
}

func memory(r rounds.Result) string {
	if r.Peak == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f MiB", float64(r.Peak)/(1<<20))
}

// table writes a table in Markdown.
func table(b *strings.Builder, head []string, lines [][]string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, line := range lines {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
	}
}
