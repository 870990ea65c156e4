package plot

import (
	"slices"

	"github.com/arithlang/mlc/plot/list"
)

// mostTold is the longest text of settings that a label has, in bytes.
const mostTold = 60

// told says for the specs of runs, which are without seeds, what differs between them: "lr =
// 0.001". It has no text for any where one would be long, or would not tell two specs apart.
func told(runs []*Run) map[string]string {
	specs := map[string]*list.Run{}
	var all []*list.Run
	for _, r := range runs {
		if specs[r.Seedless] == nil {
			specs[r.Seedless] = list.OfSpec(r.Seedless)
			all = append(all, specs[r.Seedless])
		}
	}
	differing := list.Differing(all)
	texts := map[string]string{}
	var said []string
	for spec, of := range specs {
		text := of.Said(differing)
		if len(text) > mostTold || slices.Contains(said, text) {
			return nil
		}
		texts[spec], said = text, append(said, text)
	}
	return texts
}

// toldAmong are the texts of told for the runs of each system by themselves.
func toldAmong(runs []*Run) func(*Run) string {
	systems := map[string][]*Run{}
	for _, r := range runs {
		systems[r.System()] = append(systems[r.System()], r)
	}
	texts := map[string]map[string]string{}
	for system, some := range systems {
		texts[system] = told(some)
	}
	return func(r *Run) string { return texts[r.System()][r.Seedless] }
}
