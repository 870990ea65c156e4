package dsl

import (
	"strings"

	"github.com/arithlang/mlc/dsl/diag"
)

// vetRows has a switch for each warning.
func vetRows() []Row {
	var rows []Row
	for _, c := range diag.Codes() {
		if strings.HasPrefix(c.ID, "V") {
			rows = append(rows, Row{Path: "vet." + c.Name, Type: Choice, Default: "on", Doc: c.Title,
				Choices: []Option{{Name: "on"}, {Name: "off"}}})
		}
	}
	return rows
}

// sweepRows are the attributes of a sweep, without its axes.
func sweepRows() []Row {
	seed := Row{Path: "seed", Type: Int, Default: "1", Max: 1 << 62, Doc: "seed of the draws"}
	return []Row{{Path: "sweep.search", Type: Choice, Default: "grid", Doc: "combinations of the axes to train, and for how long", Choices: []Option{
		{Name: "grid", Doc: "all, each for its whole budget"},
		{Name: "random", Args: []Row{{Path: "trainings", Type: Int, Min: 1, Max: 1000, Doc: "number to draw"}, seed},
			Doc: "draws a value for each axis independently, from its list or from an interval: uniform(0.1, 0.4), loguniform(1e-4, 1e-2) (Bergstra and Bengio 2012)"},
		{Name: "halving", Args: []Row{
			{Path: "trainings", Type: Int, Default: "0", Max: 1000, Doc: "number to draw; 0: all combinations"},
			{Path: "factor", Type: Int, Default: "2", Min: 2, Max: 16, Doc: "ratio of trainings from one rung to the next"},
			{Path: "rungs", Type: Int, Default: "3", Min: 2, Max: 8, Doc: "number of rungs; the last has the whole budget, each earlier one is shorter by the factor"},
			seed,
		}, Doc: "trains all for a part of their budget and continues the best: by exact match on held-out problems, then by loss (Jamieson and Talwalkar 2016)"},
	}}}
}

// roundsRow is the attribute for training on the model's own answers.
func roundsRow() Row {
	return Row{Path: "stage.rounds", Type: Choice, Default: "none", Doc: "training on the model's own answers", Choices: []Option{
		{Name: "none"},
		{Name: "longer", Args: []Row{
			{Path: "until", Type: Int, Min: 2, Max: 1000, Doc: "digits of the operands of the last round"},
			{Path: "step", Type: Int, Default: "1", Min: 1, Max: 1000, Doc: "digits that a round adds"},
			{Path: "samples", Type: Int, Default: "5000", Min: 1, Max: 1 << 20, Doc: "problems that a round asks"},
			{Path: "length", Type: Int, Default: "1", Words: "none", Max: 1000,
				Doc: "largest difference in digits between a kept answer and the usual length for its operands; none: any; subtraction and parity keep answers of any length"},
			{Path: "votes", Type: Int, Default: "1", Min: 1, Max: 99,
				Doc: "answers to each problem, more than half of which must agree; each is asked in another way: with operands in the other order if the result is the same, with hints from other letters"},
			{Path: "newest", Type: Fraction, Default: "50%", Max: 1,
				Doc: "share of training examples from the last round; the others are drawn from task.operands, with true answers, and from all rounds so far, each length equally often"},
		}, Doc: "in each round, with an equal share of the budget, the model answers problems that are longer by a step, and trains on the answers it keeps, right or wrong (Lee et al. 2025, arXiv:2502.01612)"},
	}}
}

// stageRows are the attributes of a stage apart from overrides, and calibrateRows the
// attributes of a calibration (Duan & Shi 2023, arXiv:2310.11984, section 4). stage.x
// stands for stage.NAME.x.
func stageRows() []Row {
	return []Row{
		{Path: "stage.from", Type: StageName, Default: "none", Words: "none", Doc: "earlier stage that provides the initial weights"},
		roundsRow(),
	}
}

func calibrateRows() []Row {
	rows := []Row{
		{Path: "calibrate.from", Type: StageName, Doc: "earlier stage whose attention is read"},
		{Path: "calibrate.samples", Type: Int, Default: "1000", Min: 1, Max: 1 << 30, Doc: "problems that attention is averaged over"},
		{Path: "calibrate.layer", Type: Int, Default: "last", Words: "last", Min: 1, Max: 1000,
			Doc: "decoder layer that attention is read from, counted from 1"},
		{Path: "calibrate.of", Type: Choice, Default: "weights", Doc: "values read from the attention", Choices: []Option{
			{Name: "weights", Doc: "after the softmax, as in the paper's code"},
			{Name: "logits", Doc: "before the softmax, as in the paper's text; closed cells do not count"},
		}},
		{Path: "calibrate.extend", Type: Int, Default: "60", Min: 1, Max: 10000, Doc: "digits that the bias is extended to"},
		{Path: "calibrate.reduce", Type: Choice, Default: "sum", Doc: "reduction of the attention along a line", Choices: []Option{
			{Name: "sum", Doc: "as in the paper's code"},
			{Name: "mean", Doc: "as in the paper's text"},
		}},
		{Path: "calibrate.subtract", Type: Choice, Default: "nothing", Doc: "subtracted from the values of kept lines; it matters with several directions", Choices: []Option{
			{Name: "nothing", Doc: "as in the paper's code"},
			{Name: "largest", Doc: "the largest value along the line's direction in its head, as in the paper's text"},
		}},
		{Path: "calibrate.empty", Type: Choice, Default: "stop", Doc: "what follows if no line of a site stands out in any head", Choices: []Option{
			{Name: "stop", Doc: "the run ends with an error: the next stage would train as without a bias"},
			{Name: "open", Doc: "the run goes on with a bias of 0, as in the paper"},
		}},
	}
	for _, site := range []string{"self", "cross"} {
		direction, keep := "[1, 1]", "value >= mean + 0.87 * std"
		if site == "cross" {
			direction, keep = "[1, -1]", "value >= mean + 4.5 * std"
		}
		rows = append(rows,
			Row{Path: "calibrate." + site + ".direction", Type: Directions, Default: direction,
				Doc: "step in rows and columns along a line; with several directions, the largest value counts"},
			Row{Path: "calibrate." + site + ".rows", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 10000,
				Doc: "number of leading attention rows that count; auto: the digits of training"},
			Row{Path: "calibrate." + site + ".keep", Type: Statistic, Default: keep,
				Doc: "lines to keep, by their value and the mean and standard deviation over all lines"})
	}
	return rows
}
