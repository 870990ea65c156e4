package prove

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// leastPart is the shortest time that a part is worth starting for.
const leastPart = time.Second

// A slot is a part with its place in the phase.
type slot struct {
	place int
	*Part
}

// parts runs the parts of a phase until a time, as many at once as abreast allows. It adds ended
// parts to out in their order and saves each as it ends. If nothing can be done, out gets the
// reason. Errors are errors of saving.
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

// trusted returns the places of parts that are running or have passed.
func trusted(parts []*Part) (places []int) {
	for i, p := range parts {
		if p == nil || p.Verdict == Pass {
			places = append(places, i)
		}
	}
	return places
}

// At most mostAbreast parts run at once, each on at most mostCores cores, and only if there is
// partMemory bytes for each. The reference of kernels takes up to 5 GiB for some specs, and less
// than 1 for most.
const (
	mostAbreast, mostCores = 8, 8
	partMemory             = 3 << 30
)

// abreast returns how many parts of a phase may run at once. A part has two cores: most of its
// time one compiles, in the driver, and the others interpret. The very first part runs alone,
// because it finds out whether there is a device.
func (j *job) abreast(p phase) int {
	if !p.abreast || !j.opened {
		return 1
	}
	return max(1, min(j.cores/2, int(min(mostAbreast, j.memory/partMemory))))
}

// env returns what is added to this process's environment for a part.
func (j *job) env(p phase) []string {
	if j.abreast(p) == 1 {
		return p.env
	}
	return append(slices.Clone(p.env), fmt.Sprint("GOMAXPROCS=", max(2, min(j.cores/2, mostCores))))
}

// limit returns the time for a part, the first of n remaining parts of a phase that ends at
// until. If parts run at the same time, or if it is the last, it gets all the time that is left.
// Otherwise it gets half, since parts differ in their time, but at least twice what it needs if
// there is enough.
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

// least returns the time that a part needs. The very first part, which finds out whether there is
// a device, is tried in any case.
func (j *job) least(p phase, part string) time.Duration {
	if !j.opened {
		return leastPart
	}
	return p.least(j.Device, part)
}

// overrun returns the time for a part whose phase has used its share. It is the time that the
// part needs, if several times as much is left in total. Only quick parts and the first part of a
// phase get it.
func overrun(left, needs time.Duration) time.Duration {
	const others = 4
	if left < others*needs {
		return 0
	}
	return needs
}

// errLimit ends a process that exceeds its time.
var errLimit = errors.New("it took longer than it was given")

// part runs a part in its own process and returns its result.
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
		if verdict, why := late(limit); verdict == Fail || out != found { // the part may have finished although its process did not end
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

// generous is a limit that only a hanging part exceeds.
const generous = 20 * time.Second

// late returns the verdict on a part that did not end by itself. If it had little time, a busy
// machine may be the reason.
func late(limit time.Duration) (Verdict, string) {
	if limit < generous {
		return Cut, fmt.Sprintf("%s: it was stopped after %.1f seconds", outOfTime, limit.Seconds())
	}
	return Fail, fmt.Sprintf("%v, %.1f seconds, and was stopped", errLimit, limit.Seconds())
}
