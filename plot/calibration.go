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

// A Calibration is what a stage has calibrated.
type Calibration struct {
	Stage   string
	From    string // the stage whose attention was read
	Samples int    // problems that it is the mean of
	Layer   int    // of the decoder, from 1
	Of      string // weights, logits
	Sites   []Site
}

// A Site is the self or cross attention of a Calibration.
type Site struct {
	Name string // self, cross
	*calibrate.Result
	Read []float32 // [heads, rows, columns], the mean over the problems
	Bias []float32 // [heads, M, N]; nil if nothing was kept, which makes no bias
}

// loadCalibration reads the directory of a stage; nil if it calibrates nothing.
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
			return nil, fmt.Errorf("%s has no tensor %s [%d, %d, %d], of which %s speaks: calibrate again",
				filepath.Join(dir, calibrate.AttentionFile), s.Name, heads, s.Rows, s.Columns, path)
		}
		s.Bias = tensor(bias, s.Name, heads, s.Extended[0], s.Extended[1])
		c.Sites = append(c.Sites, s)
	}
	return &c, nil
}

// tensor is the data of a tensor of a file, nil if there is none of that shape.
func tensor(f ckpt.File, name string, shape ...int) []float32 {
	for _, t := range f.Tensors {
		if t.Name == name && slices.Equal(t.Shape, shape) {
			return t.Data
		}
	}
	return nil
}
