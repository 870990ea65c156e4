package train

import (
	"math"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/elementary"
	"github.com/arithlang/mlc/runtime/philox"
)

// initials is the table of distributions that parameters start from.
var initials = map[string]func(i device.Init, src *philox.Source) float64{
	"const": func(i device.Init, _ *philox.Source) float64 { return i.A },
	"uniform": func(i device.Init, src *philox.Source) float64 {
		return i.A + float64((i.B-i.A)*src.Float64())
	},
	"normal": func(i device.Init, src *philox.Source) float64 {
		radius := math.Sqrt(-2 * elementary.Log(1-src.Float64()))
		return i.A * radius * elementary.Cos(2*math.Pi*src.Float64())
	},
}

// initial fills x with a parameter's values before the first step. They depend on
// a seed and on the parameter's place in the list.
func initial(x []float32, p device.Param, place int, seed uint64) {
	draw := initials[p.Init.Kind]
	if draw == nil {
		panic("BUG: parameter " + p.Name + " starts as " + p.Init.Kind)
	}
	src := philox.NewSource(seed, philox.Init, uint64(place), 0)
	for e := range x {
		x[e] = float32(draw(p.Init, src))
	}
}
