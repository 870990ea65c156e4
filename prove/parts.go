package prove

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// leastPart is a time in which no part is worth starting.
const leastPart = time.Second

// A slot is a part of a phase, by its place there.
type slot struct {
	place int
	*Part
}

// parts runs the parts of a phase until a time, as many at once as abreast says. It fills
// in those that have ended, in their order, and saves them as they end; or it says why
// there is nothing to do. Its error is that of saving.
func (j *job) parts(ctx context.Context, p phase, names []string, until time.Time, out *Phase) (err error) {
	all := make([]*Part, len(names))
	ended := make(chan slot)
	begun, running, stop := 0, 0, false
	for {
		for !stop && ctx.Err() == nil && begun < len(names) && running < j.abreast(p) {
			req := request{Phase: p.name, Part: names[begun], Place: begun, Before: trusted(all[:begun])}
			limit, env := j.limit(p, req, until, len(names)-begun), j.env(p)
			go func() { ended <- slot{req.Place, j.part(ctx, p, req, env, limit)} }()
			begun++
			running++
		}
		if running == 0 {
			break
		}
		s := <-ended
		running--
		if ctx.Err() != nil {
			continue
		}
		none := p.beside && s.place == 0 && s.Verdict != Pass
		if p.beside && s.Verdict == Cut {
			s.Verdict = Skipped
		}
		all[s.place] = s.Part
		if j.Say != nil && s.Limit > 0 {
			j.Say(p.name, s.Part)
		}
		switch {
		case s.Verdict == Unavailable:
			j.missing, stop = s.Reason, true
		case none:
			out.Reason, stop = s.Reason, true
		case s.Limit > 0:
			j.opened = true
		}
		out.Parts = slices.DeleteFunc(slices.Clone(all), func(p *Part) bool { return p == nil })
		if failed := j.keep(); failed != nil {
			err, stop = failed, true
		}
	}
	return err
}

// trusted are the places of the parts that are under way, or have ended well.
func trusted(parts []*Part) (places []int) {
	for i, p := range parts {
		if p == nil || p.Verdict == Pass {
			places = append(places, i)
		}
	}
	return places
}

// mostAbreast is the most parts that run at once, and mostCores the most cores that each
// of them uses. partMemory is the memory that there has to be for each: what kernels are
// compared with takes up to 5 GiB for some specs, and less than 1 for most.
const (
	mostAbreast, mostCores = 8, 8
	partMemory             = 3 << 30
)

// abreast is how many parts of a phase run at once. A part has two cores: most of its time
// one compiles, in the driver, and the others interpret. The very first is alone: it finds
// out whether there is a device.
func (j *job) abreast(p phase) int {
	if !p.abreast || !j.opened {
		return 1
	}
	return max(1, min(j.cores/2, int(min(mostAbreast, j.memory/partMemory))))
}

// env is what the environment of a part has besides this process's own.
func (j *job) env(p phase) []string {
	if j.abreast(p) == 1 {
		return p.env
	}
	return append(slices.Clone(p.env), fmt.Sprint("GOMAXPROCS=", max(2, min(j.cores/2, mostCores))))
}

// limit is the time for a part, the first of n that are left in a phase that has time
// until then. It is all that there is, if others need not wait for the part's end, and
// half of it if they do, since parts differ in what they take; but twice what the part
// needs if there is so much.
func (j *job) limit(p phase, req request, until time.Time, n int) time.Duration {
	least, left := j.least(p, req.Part), time.Until(until)
	limit := left
	if n > 1 && j.abreast(p) == 1 {
		limit = max(left/2, min(left, 2*least))
	}
	if req.Place > 0 && least > leastPart {
		return limit
	}
	return max(limit, overrun(time.Until(j.end), least))
}

// least is what a part needs. The first of all, which finds out whether there is a device,
// is tried in any case.
func (j *job) least(p phase, part string) time.Duration {
	if !j.opened {
		return leastPart
	}
	return p.least(j.Device, part)
}

// overrun is the time for a part whose phase has used its share: what it needs, as long
// as others have several times as much of all that is left. Quick parts have it, and the
// first of a phase.
func overrun(left, needs time.Duration) time.Duration {
	const others = 4
	if left < others*needs {
		return 0
	}
	return needs
}

// errLimit ends a process that takes longer than it was given.
var errLimit = errors.New("it took longer than it was given")

// part runs a part in a process of its own and says what became of it.
func (j *job) part(ctx context.Context, p phase, req request, env []string, limit time.Duration) *Part {
	start := time.Now()
	out := &Part{Name: req.Part}
	if limit < j.least(p, req.Part) {
		out.Verdict, out.Reason = Cut, outOfTime
		return out
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	grace := min(2*time.Second, limit/3)
	req.Device, req.Seed, req.Command, req.Caches = j.Device, j.Seed, j.Command, j.Caches
	req.End, req.Grace = start.Add(limit-grace), grace.Seconds()/2
	req.Answer = filepath.Join(j.dir, fmt.Sprintf("%s-%d.json", p.name, req.Place))
	said, err := j.ask(ctx, req, env)
	found, bad := answer(req.Answer)
	if found != nil && found.Name == req.Part {
		out = found
	}
	out.Seconds, out.Limit = time.Since(start).Seconds(), limit.Seconds()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errLimit):
		if verdict, why := late(limit); verdict == Fail || out != found { // it may have ended but for its process
			out.Verdict, out.Reason = verdict, why
		}
	case err != nil:
		out.Verdict, out.Reason = Fail, "its process did not end well: "+firstLine(err.Error())
	case bad != nil:
		out.Verdict, out.Reason = Fail, fmt.Sprintf("its process left no result: %v", bad)
	default:
		return out
	}
	out.Exit, out.Stderr = exitText(err), said
	return out
}

// generous is a limit that only a part exceeds that hangs.
const generous = 20 * time.Second

// late says what it means that a part has not ended by itself: with little time a busy
// machine may be the reason.
func late(limit time.Duration) (Verdict, string) {
	if limit < generous {
		return Cut, fmt.Sprintf("%s: it was ended after %.1f seconds", outOfTime, limit.Seconds())
	}
	return Fail, fmt.Sprintf("%v, %.1f seconds, and was ended", errLimit, limit.Seconds())
}
