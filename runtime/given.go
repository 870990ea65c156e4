package runtime

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/record"
)

// Tables are the values of fixed parameters that the program brings along.
func (m *Model) Tables() map[string][]float32 {
	given := make(map[string][]float32, len(m.Given))
	for _, t := range m.Given {
		values := make([]float32, len(t.Values)/4)
		for e := range values {
			values[e] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(t.Values[4*e : 4*e+4])))
		}
		given[t.Param] = values
	}
	return given
}

// given are the values of a stage's fixed parameters: its program's, and the results
// of the calibrations before it, which say what run they are of.
func (j *pipelineRun) given(s *Stage) (map[string][]float32, error) {
	given := s.Model.Tables()
	files := map[string]map[string]ckpt.Tensor{}
	for _, g := range s.Given {
		path := filepath.Join(j.dir, g.Stage, j.app.whole.stage(g.Stage).Calibration.File())
		if files[path] == nil {
			f, err := ckpt.Read(path)
			if err != nil {
				return nil, fmt.Errorf("stage %s has no result of %s: %w", s.Name, g.Stage, err)
			}
			from := j.state(j.app.whole.stage(g.Stage).From)
			err = ofSameRun(path, f.Meta, record.Path(j.dir), []fact{
				{"name", []string{j.rec.Name}},
				{"spec_hash", []string{j.rec.SpecHash}},
				{"stage", []string{g.Stage}},
				{"seed", []string{strconv.FormatUint(from.Seed, 10)}},
				{"init_seed", []string{seedText(from.InitSeed)}},
			})
			if err != nil {
				return nil, err
			}
			files[path] = map[string]ckpt.Tensor{}
			for _, t := range f.Tensors {
				files[path][t.Name] = t
			}
		}
		t, ok := files[path][g.Tensor]
		if !ok {
			return nil, fmt.Errorf("%s has no tensor %s, which stage %s is trained with: the run is of another program", path, g.Tensor, s.Name)
		}
		given[g.Param] = t.Data
	}
	return given, nil
}

// complete makes sure that every parameter that is to be given is.
func (m *Model) complete(given map[string][]float32) error {
	for _, p := range m.Params {
		if p.Init.Kind == "given" && len(given[p.Name]) != p.Elems() {
			return fmt.Errorf("parameter %s of shape %v is given %d values: the run is of another program", p.Name, p.Shape, len(given[p.Name]))
		}
	}
	return nil
}
