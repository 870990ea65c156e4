package plot

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
)

// A Calibration is the result of a stage that calibrates.
type Calibration struct {
	Stage   string
	From    string // the stage whose attention was read
	Samples int    // the problems that the attention is averaged over
	Layer   int    // the decoder layer, from 1
	Of      string // weights, logits
	Sites   []Site
}

// A Site is the self or cross attention of a Calibration.
type Site struct {
	Name string // self, cross
	*calibrate.Result
	Read []float32 // [heads, rows, columns], the mean over the problems
	Bias []float32 // [heads, M, N]; nil if no line was kept
}

// loadCalibration reads the directory of a stage. It returns nil if the stage calibrates nothing.
func loadCalibration(dir string) (*Calibration, error) {
	path := filepath.Join(dir, calibrate.RecordFile)
	var found struct {
		Calibration
		Self, Cross *calibrate.Result
	}
	err := damage.At(path).ReadSealed(&found)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := found.Calibration
	read, err := ckpt.Read(filepath.Join(dir, calibrate.AttentionFile))
	if err != nil {
		return nil, err
	}
	bias, err := ckpt.Read(filepath.Join(dir, calibrate.LinesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, s := range []Site{{Name: "self", Result: found.Self}, {Name: "cross", Result: found.Cross}} {
		if s.Result == nil {
			continue
		}
		heads := len(s.Heads)
		if s.Read = tensor(read, s.Name, heads, s.Rows, s.Columns); s.Read == nil {
			return nil, fmt.Errorf("%s has no tensor %s [%d, %d, %d], which %s names: calibrate again",
				filepath.Join(dir, calibrate.AttentionFile), s.Name, heads, s.Rows, s.Columns, path)
		}
		s.Bias = tensor(bias, s.Name, heads, s.Extended[0], s.Extended[1])
		c.Sites = append(c.Sites, s)
	}
	return &c, nil
}

// tensor returns the data of a tensor in a file, or nil if the file has none of that name
// and shape.
func tensor(f ckpt.File, name string, shape ...int) []float32 {
	for _, t := range f.Tensors {
		if t.Name == name && slices.Equal(t.Shape, shape) {
			return t.Data
		}
	}
	return nil
}
