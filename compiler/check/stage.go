package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// apply returns the settings m with the overrides of a stage or sweep case. all has the
// overrides.
func (m *merged) apply(lang *language, all *merged, in string) *merged {
	out := m.clone()
	for _, meaning := range all.inside[in] {
		if lang.rows["stage."+meaning] != nil || ofRounds(meaning) {
			continue
		}
		if s := all.settings[in+"."+meaning]; s != nil {
			out.set(meaning, s)
		}
		if r, ok := all.places[in+"."+meaning]; ok {
			out.places[meaning] = r
		}
		if all.blocks[in+"."+meaning] {
			out.blocks[meaning] = true
		}
	}
	return out
}

// single returns the settings without the sweep.
func (m *merged) single() *merged {
	out := m.clone()
	inSweep := func(path string) bool { return strings.HasPrefix(path, "sweep.") }
	out.order = slices.DeleteFunc(out.order, inSweep)
	maps.DeleteFunc(out.settings, func(path string, _ *setting) bool { return inSweep(path) })
	maps.DeleteFunc(out.places, func(path string, _ diag.Range) bool { return inSweep(path) })
	return out
}

func (m *merged) clone() *merged {
	out := *m
	out.settings, out.order, out.argued = maps.Clone(m.settings), slices.Clone(m.order), slices.Clone(m.argued)
	out.places, out.blocks = maps.Clone(m.places), maps.Clone(m.blocks)
	return &out
}

// variant returns a checker of other settings, with its own findings.
func (c *checker) variant(m *merged) *checker {
	return &checker{sources: c.sources, merged: m, found: newFound(), earlier: slices.Clone(c.earlier), results: maps.Clone(c.results)}
}

// buildStages resolves the stages in order. The limits of a spec with stages are the
// limits of its trainings.
func (c *checker) buildStages(spec *Spec) {
	c.stageOf = make(map[string]*checker)
	if len(c.stages) > 0 {
		c.limits = nil
	}
	for _, name := range c.stages {
		stage := Stage{Name: name}
		c.checkFolder(name)
		if from := c.stageRow(name, "from"); !from.is("none") {
			stage.From = from.word
		}
		if c.calibrates(name) {
			stage.Calibration = c.calibration(name, stage.From, spec)
		} else {
			c.checkWeights(name, stage.From)
			v := c.variant(c.apply(c.lang, c.merged, "stage."+name))
			v.rounds = c.roundsOf(name)
			stage.Spec = v.build(spec.Name)
			stage.Spec.places = v.spans()
			c.adopt(v)
			c.stageOf[name] = v
		}
		spec.Stages = append(spec.Stages, stage)
		c.earlier = append(c.earlier, name)
	}
	c.checkCalibratedLanes(spec)
	if n := len(spec.Stages); n > 1 && spec.Stages[n-1].Calibration != nil {
		last := spec.Stages[n-1].Name
		c.report("E0314", c.where(c.stageBlock(last)), "%s calibrates, and no stage follows", last).
			WithHelp("add a stage that trains with %s.self and %s.cross as biases", last, last)
	}
}

// checkFolder reports a stage whose name cannot be a folder on some system, or is already
// the folder of an earlier stage or of the run.
func (c *checker) checkFolder(name string) {
	same := func(other string) bool { return strings.EqualFold(name, other) }
	block := c.stageBlock(name)
	if r := c.places["stage."+name]; c.calibrates(name) && r.Start.IsValid() {
		c.report("E0217", c.where(block), "a stage and a calibration cannot both be called %s", name).
			WithHelp("choose another name").WithNote(r.Start, "the stage")
	}
	if IsDevice(name) {
		c.report("E0217", c.where(block), "Windows has a device %s, so no folder of a stage can have that name", strings.ToUpper(name)).
			WithHelp("choose another name")
	}
	if isFolder(name) {
		c.report("E0217", c.where(block), "a run has a folder %s, so no stage can have that name", strings.ToLower(name)).
			WithHelp("choose another name")
	}
	if i := slices.IndexFunc(c.earlier, same); i >= 0 {
		c.report("E0217", c.where(block), "the stages %s and %s would share a folder on systems that ignore case", c.earlier[i], name).
			WithHelp("choose another name")
	}
}

// IsDevice reports whether a file or folder of this name, with any extension, is a device
// on Windows.
func IsDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, name) {
		return true
	}
	n := len(name) - 1
	return n == 3 && (name[:n] == "com" || name[:n] == "lpt") && name[n] >= '0' && name[n] <= '9'
}

// adopt takes over the findings of a variant.
func (c *checker) adopt(v *checker) {
	c.list = append(c.list, v.list...)
	for _, l := range v.limits {
		same := func(k *diag.Diagnostic) bool { return k.Code == l.Code && k.Range == l.Range }
		if !slices.ContainsFunc(c.limits, same) {
			c.limits = append(c.limits, l)
		}
	}
	for d := range v.used {
		c.used[d] = true
	}
}

// stageRow resolves an attribute of a stage or calibration.
func (c *checker) stageRow(name, attr string) *value {
	block := c.stageBlock(name)
	path := block + "." + attr
	c.resolveValue(c.lang.rows[kindOf(block)+"."+attr], path)
	return c.get(path)
}

// calibrates reports whether a block calibrate has the name.
func (m *merged) calibrates(name string) bool {
	_, ok := m.places["calibrate."+name]
	return ok
}

// stageBlock returns the path of a stage or calibration.
func (m *merged) stageBlock(name string) string {
	if m.calibrates(name) {
		return "calibrate." + name
	}
	return "stage." + name
}

// checkWeights reports a stage that would start from the weights of a calibration.
func (c *checker) checkWeights(name, from string) {
	if c.results[from] != nil {
		c.report("E0314", c.get(c.stageBlock(name)+".from").at, "%s is a calibration and has no weights", from).
			WithHelp("name a stage that trains, or write from = none")
	}
}

// isFolder reports whether a run directory has a folder of that name, ignoring case: no stage
// can have the name. Names of its files have a dot or a hyphen, which no stage name has.
func isFolder(name string) bool {
	all := []string{config.CheckpointFolder, config.ResultFolder, config.LaunchFolder, config.PlotFolder, config.FilesFolder}
	return slices.ContainsFunc(all, func(folder string) bool { return strings.EqualFold(name, folder) })
}
