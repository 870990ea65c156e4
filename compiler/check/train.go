package check

// autoGroup is the default size of a draw group.
const autoGroup = 64

// DrawGroup returns the number of consecutive examples in a batch that share draws: the
// offset of Abacus positions, a subset of random positions, or the runs of a progressive
// loss (a "micro-batch" in arXiv:2405.17399's code). It is 0 if nothing is shared.
func (s *Spec) DrawGroup() int {
	if s.Model.Loop == nil && !s.Model.Position.scheme().group {
		return 0
	}
	if s.Train.MicroBatch > 0 {
		return s.Train.MicroBatch
	}
	return min(autoGroup, s.Train.Batch)
}

// DrawnPositions returns how many random positions training draws at once: one for each
// token of the longest problem, including the end. No row reads the end's, but
// arXiv:2405.17399's code pads every text to that length. A row has the drawn position of
// its index, independent of the launch.
func (s *Spec) DrawnPositions() int {
	source, target := s.TrainedShape()
	return min(max(source, target+1), s.Model.Position.Max)
}

// Times returns how often a pass runs the model's stack: 1 without a loop.
func (m *Model) Times() int {
	if m.Loop == nil {
		return 1
	}
	return m.Loop.Times
}

// A Passes is the average work of training on a group of examples: passes through the
// model, and the total of the loop's runs without and with gradient.
type Passes struct{ Count, NoGrad, WithGrad float64 }

// MeanPasses averages over the draws of a progressive loss (arXiv:2405.17399, section 3,
// and its code). A pass draws n = 0 … R-1 runs without gradient, where R is times, then k
// = 1 … min(R-n, backprop) runs with gradient. If alpha is below 1, a second pass has
// full length.
func (s *Spec) MeanPasses() Passes {
	times, most := s.Model.Times(), s.Train.Backprop
	if !s.Train.Progressive || s.Model.Loop == nil {
		return Passes{Count: 1, WithGrad: float64(times)}
	}
	var p Passes
	if s.Train.Alpha > 0 {
		p.Count++
		p.NoGrad += float64(times-1) / 2
		for n := range times {
			p.WithGrad += float64(1+min(times-n, most)) / 2 / float64(times)
		}
	}
	if s.Train.Alpha < 1 {
		p.Count++
		p.NoGrad += float64(times - most)
		p.WithGrad += float64(most)
	}
	return p
}

// backprop returns the largest number of runs that gradients go through.
func (c *checker) backprop(s *Spec) int {
	times := s.Model.Times()
	if !s.Train.Progressive {
		return times
	}
	if c.get("train.loss").arg("backprop").is("auto") {
		return max(times/2, 1)
	}
	return min(s.Train.Backprop, times)
}
