package train

import (
	"math"
	"runtime"
	"sync"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/elementary"
	"github.com/arithlang/mlc/runtime/philox"
)

// A distribution draws initial values. An element takes a number of random words.
type distribution struct {
	words int
	draw  func(i device.Init, src *philox.Source) float64
}

var initials = map[string]distribution{
	"const": {0, func(i device.Init, _ *philox.Source) float64 { return i.A }},
	"uniform": {2, func(i device.Init, src *philox.Source) float64 {
		return i.A + float64((i.B-i.A)*src.Float64())
	}},
	"normal": {4, func(i device.Init, src *philox.Source) float64 {
		radius := math.Sqrt(-2 * elementary.Log(1-src.Float64()))
		return i.A * radius * elementary.Cos(2*math.Pi*src.Float64())
	}},
}

// initialPiece is the fewest elements of a goroutine.
const initialPiece = 1 << 14

// initial fills x with a parameter's values before the first step. They depend on a seed and
// the parameter's place in the list.
func initial(x []float32, p device.Param, place int, seed uint64) {
	from, known := initials[p.Init.Kind]
	if !known {
		panic("BUG: parameter " + p.Name + " starts as " + p.Init.Kind)
	}
	var busy sync.WaitGroup
	piece := max(initialPiece, (len(x)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for lo := 0; lo < len(x); lo += piece {
		busy.Go(func() {
			src := philox.NewSource(seed, philox.Init, uint64(place), 0)
			src.Skip(uint64(lo) * uint64(from.words))
			for e := lo; e < min(lo+piece, len(x)); e++ {
				x[e] = float32(from.draw(p.Init, src))
			}
		})
	}
	busy.Wait()
}
