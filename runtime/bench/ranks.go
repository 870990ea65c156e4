package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// rankTimes are the times of sums over ranks, as rank 0 sees them. Times are seconds for one
// step.
type rankTimes struct {
	Ranks   int     `json:"ranks"`
	By      string  `json:"by"`
	Local   int     `json:"on_this_machine"`
	Waiting float64 `json:"waiting_seconds"` // for the slowest rank
	Slices  float64 `json:"slices_seconds"`
	Adding  float64 `json:"adding_seconds"`
	Gather  float64 `json:"gather_seconds"`
	Sent    float64 `json:"sent_bytes"`    // by one rank
	Share   float64 `json:"share_of_step"` // of slices, adding and gathering
}

// sums times the sums of steps, with a barrier before each sum. It returns nil if there is one
// process.
func (c *Cmd) sums(t *train.Trainer, steps int) (*rankTimes, error) {
	m, ok := world.Local(t.Machine).(*processor.Machine)
	if !ok || !m.Ranks() {
		return nil, nil
	}
	r := t.Ranks.(*world.Ranks)
	if err := r.Time(true); err != nil {
		return nil, err
	}
	m.Time(true)
	start := time.Now()
	if _, err := timeSteps(t, steps); err != nil {
		return nil, err
	}
	step, took := time.Since(start).Seconds()/float64(steps), m.Times()
	m.Time(false)
	if err := r.Time(false); err != nil {
		return nil, err
	}
	each := func(d time.Duration) float64 { return d.Seconds() / float64(steps) }
	out := &rankTimes{Ranks: r.Size(), By: r.World.About(), Local: r.Local, Waiting: each(took.Waiting), Slices: each(took.Slices), Adding: each(took.Adding),
		Gather: each(took.Gather), Sent: float64(took.Sent) / float64(steps)}
	out.Share = (out.Slices + out.Adding + out.Gather) / step
	return out, nil
}

// each begins the description of a rank with the number of ranks.
func (r *rankTimes) each() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d ranks (%s), each ", r.Ranks, r.By)
}

// table is the times for people.
func (r *rankTimes) table() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sums  of gradients over ranks: %.1f %% of a step: slices to where they are added %.2f ms, adding %.2f ms, sums to all %.2f ms;\n",
		100*r.Share, r.Slices/milli, r.Adding/milli, r.Gather/milli)
	fmt.Fprintf(&b, "      a rank sends %.1f MB; before that it waits %.2f ms for the slowest\n", r.Sent/1e6, r.Waiting/milli)
	return b.String()
}
