package check

import "slices"

// laneCounts are the numbers of models that one training can have at once: the lanes of
// the narrowest vectors, and multiples.
var laneCounts = []int{8, 16, 32, 64, 128}

// checkLanes reports trainings whose models would differ in more than their weights.
func (c *checker) checkLanes(s *Spec) {
	const path = "train.lanes"
	n := s.Train.Lanes
	if n == 0 {
		return
	}
	if !slices.Contains(laneCounts, n) {
		c.report("E0355", c.at(path), "lanes = %d is none of 8, 16, 32, 64 and 128", n).WithHelp("use one of these, or 0 for one model at a time")
	}
	if p := s.Train.Precision; p != "f32" {
		c.report("E0356", c.at("train.precision"), "lanes compute in f32, but precision = %s", p).WithHelp("write precision = f32, or leave lanes out")
	}
	if s.Task.reads() {
		c.report("E0357", c.at(path), "models of train.lanes = %d are compared by their answers, which a text does not have", n).WithHelp("leave lanes out")
	}
	if c.rounds != nil {
		c.report("E0357", c.rounds.at, "in rounds each model would train on its own answers, but the models of train.lanes = %d share their problems", n).
			WithHelp("leave lanes out")
	}
}

// checkCalibratedLanes reports a spec in which a stage trains several models and another
// reads the attention of one.
func (c *checker) checkCalibratedLanes(spec *Spec) {
	calibrates := slices.IndexFunc(spec.Stages, func(s Stage) bool { return s.Calibration != nil })
	trains := slices.IndexFunc(spec.Stages, func(s Stage) bool { return s.Spec != nil && s.Spec.Train.Lanes > 0 })
	if calibrates < 0 || trains < 0 {
		return
	}
	c.report("E0357", c.stageOf[spec.Stages[trains].Name].at("train.lanes"), "%s reads the attention of one model, but %s trains several in lanes",
		spec.Stages[calibrates].Name, spec.Stages[trains].Name).WithHelp("leave lanes out")
}

// laneWidth is the largest width at which models train faster in lanes than one after
// another. Products of wider models fill vectors by themselves (docs/results.md).
const laneWidth = 8

// vetLanes warns of models that train slower in lanes.
func (c *checker) vetLanes(s *Spec) {
	if s.Train.Lanes > 0 && s.Model.Width > laneWidth {
		c.report("V025", c.at("train.lanes"), "models of width %d train faster one after another than in lanes: their products fill vectors by themselves", s.Model.Width).
			WithHelp("leave lanes out above a width of about %d", laneWidth)
	}
}
