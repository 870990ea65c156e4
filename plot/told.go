package plot

import (
	"slices"

	"github.com/arithlang/mlc/plot/list"
)

// mostTold is the largest length of a label's settings, in bytes.
const mostTold = 60

// told returns, by seedless spec, the settings that differ between runs: "lr = 0.001". It
// returns nil if a text is too long or two specs have the same one.
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

// toldAmong returns the text of told for each run, among the runs of its system.
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
