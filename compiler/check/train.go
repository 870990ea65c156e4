package check

// autoGroup is the size of a draw group where the spec leaves it open.
const autoGroup = 64

// DrawGroup is the number of consecutive examples of a batch that share what is
// drawn once for many: the offset of Abacus positions, a subset of random
// positions, the runs of a progressive loss (a "micro-batch" of
// arXiv:2405.17399's code). It is 0 where nothing is drawn like that.
func (s *Spec) DrawGroup() int {
	if s.Model.Loop == nil && !s.Model.Position.scheme().group {
		return 0
	}
	if s.Train.MicroBatch > 0 {
		return s.Train.MicroBatch
	}
	return min(autoGroup, s.Train.Batch)
}

// DrawnPositions is how many random positions training draws at once: those of all
// tokens of its longest problem, the end included, though no row reads it, as in
// arXiv:2405.17399's code, which pads every text to that. A row has the position of its
// number among those, however long the texts beside it are.
func (s *Spec) DrawnPositions() int {
	source, target := s.TrainedShape()
	return min(max(source, target+1), s.Model.Position.Max)
}

// Times is how often a pass runs the model's stack: 1 without a loop.
func (m *Model) Times() int {
	if m.Loop == nil {
		return 1
	}
	return m.Loop.Times
}

// A Passes is what training does with a group of examples on average: passes
// through the model, and in all of them together runs of the loop without and with
// gradient.
type Passes struct{ Count, NoGrad, WithGrad float64 }

// MeanPasses averages over the draws of a progressive loss: with R = times, n =
// 0 … R-1 runs without gradient, then k = 1 … min(R-n, backprop) with
// (arXiv:2405.17399, section 3, and its code); a share of 1 - alpha makes one
// more pass of full length.
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

// backprop settles how many runs of the loop gradients go through at most.
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
