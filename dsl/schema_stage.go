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
			rows = append(rows, Row{Path: "vet." + c.ID, Type: Choice, Default: "on", Doc: c.Title,
				Choices: []Option{{Name: "on"}, {Name: "off"}}})
		}
	}
	return rows
}

// stageRows are the attributes of a stage besides overrides: stage.x stands for
// stage.NAME.x. All but from make it a calibration (Duan & Shi 2023,
// arXiv:2310.11984, section 4).
func stageRows() []Row {
	rows := []Row{
		{Path: "stage.from", Type: StageName, Default: "none", Words: "none",
			Doc: "earlier stage that provides the initial weights, or the attention to read"},
		{Path: "stage.samples", Type: Int, Default: "1000", Min: 1, Max: 1 << 30, Doc: "problems that attention is averaged over"},
		{Path: "stage.layer", Type: Int, Default: "last", Words: "last", Min: 1, Max: 1000,
			Doc: "decoder layer that attention is read from, counted from 1"},
		{Path: "stage.of", Type: Choice, Default: "weights", Doc: "values read from the attention", Choices: []Option{
			{Name: "weights", Doc: "after the softmax, as in the paper's code"},
			{Name: "logits", Doc: "before the softmax, as in the paper's text; closed cells do not count"},
		}},
		{Path: "stage.extend", Type: Int, Default: "60", Min: 1, Max: 10000, Doc: "digits that the bias is extended to"},
		{Path: "stage.reduce", Type: Choice, Default: "sum", Doc: "reduction of the attention along a line", Choices: []Option{
			{Name: "sum", Doc: "as in the paper's code"},
			{Name: "mean", Doc: "as in the paper's text"},
		}},
	}
	for _, site := range []string{"self", "cross"} {
		direction, keep := "[1, 1]", "value >= mean + 0.87 * std"
		if site == "cross" {
			direction, keep = "[1, -1]", "value >= mean + 4.5 * std"
		}
		rows = append(rows,
			Row{Path: "stage." + site + ".direction", Type: Directions, Default: direction,
				Doc: "step in rows and columns along a line; of several directions, the largest value counts"},
			Row{Path: "stage." + site + ".rows", Type: Int, Default: "auto", Words: "auto", Min: 1, Max: 10000,
				Doc: "number of leading attention rows that count; auto: the digits of training"},
			Row{Path: "stage." + site + ".keep", Type: Statistic, Default: keep,
				Doc: "lines to keep, by their value and the mean and standard deviation over all lines"})
	}
	return rows
}
