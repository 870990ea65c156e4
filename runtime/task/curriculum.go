package task

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/philox"
)

// A course applies a Curriculum to a training of a known length. A training problem then
// depends on the seed, its number and that length. Held-out and test problems do not depend on
// it.
type course struct {
	length int64   // training examples of this part of the task; 0: no course
	stages []*Task // with more and more digits; none: no stages
	starts []int64 // the first example of each
}

// NeedsLength reports whether training problems depend on the length of training.
func (t *Task) NeedsLength() bool { return t.cfg.Curriculum.Any() }

// Over returns the task for a training of so many examples, with its Curriculum. A task without
// Over draws training problems as at the Curriculum's end.
func (t *Task) Over(examples int64) *Task {
	if !t.NeedsLength() || examples <= 0 {
		return t
	}
	u := *t
	if n := int64(len(t.parts)); n > 0 {
		u.parts = nil
		for i, part := range t.parts {
			u.parts = append(u.parts, part.Over((examples+n-1-int64(i))/n))
		}
		return &u
	}
	u.course.length = examples
	c := t.cfg.Curriculum
	if c.From == 0 {
		return &u
	}
	stages := course{length: examples}
	for digits := c.From; digits <= t.cfg.DigitsHi; digits++ {
		s := u
		s.cfg.DigitsHi = digits
		past := float64(digits-c.From) / float64(max(t.cfg.DigitsHi-c.From, 1)) // of the share Until
		s.began = int64(math.Ceil(c.Until * float64(examples) * past))
		stages.stages, stages.starts = append(stages.stages, &s), append(stages.starts, s.began)
	}
	u.course = stages
	return &u
}

// staged makes training example k by its stage, or by a later one if that stage has no problem
// on this side of the hold-out.
func (t *Task) staged(d *Draft, k int64) {
	c := &t.course
	i, found := slices.BinarySearch(c.starts, k)
	if !found {
		i--
	}
	for ; i < len(c.stages) && !c.stages[i].anew(d, k, false); i++ {
	}
}

// carriesAt reports whether example k is to have long carries.
func (t *Task) carriesAt(k int64, src *philox.Source) bool {
	c := t.cfg.Curriculum
	if c.Carries == 0 || t.course.length == 0 || t.kind.Name != "addition" {
		return false
	}
	share := c.Carries * (1 - float64(k)/float64(t.course.length)/c.Fade)
	return share > 0 && src.Float64() < share
}
