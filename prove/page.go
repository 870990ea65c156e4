package prove

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/runtime/cuda"
)

// Page formats the result as text.
func (r *Result) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mlc prove %s, --device %s, %s, %s\n", r.Version, r.Device, r.Host, r.Started)
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "\n%-10s %-12s %6.1f s", p.Name, p.Verdict, p.Seconds)
		if p.Reason != "" {
			fmt.Fprintf(&b, "  %s", p.Reason)
		}
		b.WriteString("\n")
		late := 0
		for _, part := range p.Parts {
			if part.Limit == 0 && part.Reason == outOfTime {
				late++
				continue
			}
			for _, line := range part.lines() {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
		if late > 0 {
			fmt.Fprintf(&b, "  no time for %d of %d parts\n", late, len(p.Parts))
		}
	}
	fmt.Fprintf(&b, "\n%s, after %.1f of %.0f seconds\n", r.sentence(), r.Seconds, r.Budget)
	return b.String()
}

// sentence returns the verdict in words.
func (r *Result) sentence() string {
	switch {
	case r.Speed && r.Verdict == Pass && r.Device == "count":
		return "everything ran: nothing was computed, and nothing measured"
	case r.Speed && r.Verdict == Pass:
		return "measured"
	case r.Speed && r.Verdict == Cut:
		return "measured in part: the budget ended before the rest"
	case r.Speed && r.Verdict == Fail:
		return "something went wrong"
	}
	switch r.Verdict {
	case Pass:
		return r.proven()
	case Cut:
		return "not proven: everything checked so far is right, but the budget ended before the rest"
	case Skipped:
		return "not proven: " + r.Reason
	case Unavailable:
		return "not proven: " + r.Reason + "\nwithout a GPU, mlc prove --device sim checks the same on the simulator"
	case Interrupted:
		return "interrupted"
	case "":
		return "not ended"
	}
	return "not proven: something is wrong"
}

// proven returns the good verdict and its limits.
func (r *Result) proven() string {
	var skipped []string
	for _, p := range r.Phases {
		if p.Verdict == Skipped {
			skipped = append(skipped, p.Name)
		}
	}
	text := "proven: everything that applies was checked and is right"
	switch {
	case r.Device == "count":
		text = "no errors, but nothing was computed, and nothing is proven about a card"
	case r.Device == "sim":
		text += ", on the simulator: nothing is proven about a card"
	}
	if len(r.Only) > 0 {
		text += "; --only limited it to " + strings.Join(r.Only, ", ")
	}
	if len(skipped) > 0 {
		text += "; skipped: " + strings.Join(skipped, ", ")
	}
	return text
}

// Summary formats a part in one line: its verdict and its measurements.
func (p *Part) Summary() string {
	text := fmt.Sprintf("%-22s %-11s %6.1f s", p.Name, p.Verdict, p.Seconds)
	if about := p.about(); about != "" {
		text += "  " + about
	}
	if p.Reason != "" {
		text += "  " + p.Reason
	}
	return text
}

// lines formats a part for the page.
func (p *Part) lines() []string {
	lines := []string{p.Summary()}
	if p.Timed != nil {
		for _, line := range timedLines(p.Timed) {
			lines = append(lines, "  "+line)
		}
	}
	if p.Tool != nil {
		for _, line := range p.Tool.lines() {
			lines = append(lines, "  "+line)
		}
	}
	for _, f := range p.Figures {
		lines = append(lines, "  "+figure(f))
	}
	for _, w := range p.Wrong {
		lines = append(lines, "  wrong: "+indent(w))
	}
	if p.Exit != "" {
		lines = append(lines, "  its process: "+p.Exit)
	}
	if p.Stderr != "" {
		lines = append(lines, "  its last output: "+indent(p.Stderr))
	}
	return lines
}

// indent indents the lines after the first.
func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n      ") }

// about summarises what a part has measured.
func (p *Part) about() string {
	switch {
	case p.Tool != nil:
		return p.Tool.about(p)
	case p.Machine != nil:
		return p.Machine.String()
	case p.Module != nil:
		return p.Module.String()
	case p.Kernels != nil:
		return p.Kernels.String()
	case p.Steps != nil:
		return p.Steps.String()
	case p.Fragments != nil:
		return p.Fragments.String()
	case p.Ranks != nil:
		return p.Ranks.String()
	case p.Torch != nil:
		return fmt.Sprintf("PyTorch %s of %s", p.Torch.Version, p.Torch.Python)
	case p.Peer != nil:
		return peerText(p.Peer)
	}
	return ""
}

func (m *Machine) String() string {
	text := fmt.Sprintf("%s, compute capability %s, CUDA %s, %d multiprocessors, %s", m.Card, m.Capability, m.Driver, m.SMs, cuda.Bytes(m.Memory))
	if m.Clock > 0 {
		text += fmt.Sprintf(", %d MHz", m.Clock/1000)
	}
	if v := m.SMI["driver_version"]; v != "" {
		text += ", driver " + v
	}
	return text
}

func (m *Module) String() string {
	text := fmt.Sprintf("%d kernels, %s of PTX, compiled in %.2f s, loaded in %.2f s", m.Kernels, cuda.Bytes(int64(m.Bytes)), m.Compile, m.Load)
	if m.Spilled > 0 {
		text += fmt.Sprintf(", %d bytes spilled, most in %s", m.Spilled, m.Spills)
	}
	return text
}

func (k *Kernels) String() string {
	text := fmt.Sprintf("%d kernels, %d compared", k.Kernels, k.Compared)
	if k.Same > 0 {
		text += fmt.Sprintf(", %d as in earlier specs", k.Same)
	}
	if k.Elements > 0 {
		text += fmt.Sprintf("; %d elements, %d of them with other bits", k.Elements, k.Inexact)
	}
	return text
}

func (s *Steps) String() string {
	text := fmt.Sprintf("%d steps of %d examples", s.Steps, s.Batch)
	switch s.Hash {
	case "":
		return text + " were asked for, and nothing was computed"
	case s.Want:
		return fmt.Sprintf("%s, loss %.4f, the processor's bits", text, s.Loss)
	}
	return fmt.Sprintf("%s, loss %.4f, other bits than the processor's", text, s.Loss)
}

// figure formats one measurement.
func figure(f probe.Figure) string {
	if f.Value == 0 {
		return f.Name + ": " + cmp.Or(f.Missing, "not measured here")
	}
	text := fmt.Sprintf("%-44s %10.4g %s", f.Name, f.Value, f.Unit)
	if f.Spread > 0 {
		text += fmt.Sprintf(", the worst round %.0f %% worse", 100*f.Spread)
	}
	return text
}
