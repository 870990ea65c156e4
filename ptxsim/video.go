package ptxsim

import (
	"strings"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// video is an instruction on words, or on the halves or bytes of words. It extends operands by
// their types and clamps results to the destination's type. Then it combines the parts into a
// word, adds a third operand, or compares with it.
type video struct {
	parts      int // 1, 2 or 4
	width      int // bits of a part
	a, b       ptx.Type
	to         ptx.Type
	sat        bool
	op         func(a, b int64) int64
	second     string // add, min, max or ""
	o, x, y, z int    // columns; z only with a second operation
}

func (d *decoder) video() exec {
	name := strings.TrimRight(d.in.Op, "24")
	v := &video{parts: 1, sat: d.in.Has("sat"), second: d.in.Pick("add", "min", "max")}
	if part := d.in.Op[len(name):]; part != "" {
		v.parts = int(part[0] - '0')
	}
	v.width = 32 / v.parts
	if name == "vset" {
		v.to, v.a, v.b = ptx.U32, d.typ(0), d.typ(1)
		c := comparisons[d.comparison()]
		v.op = func(a, b int64) int64 { return int64(bit(a < b && c.less || a == b && c.equal || a > b && c.greater)) }
	} else {
		v.to, v.a, v.b = d.typ(0), d.typ(1), d.typ(2)
		v.op = videoOps[name]
	}
	v.o, v.x, v.y = d.dst(0), d.src(1), d.src(2)
	if v.second != "" {
		v.z = d.src(3)
	}
	return v.run
}

var videoOps = map[string]func(a, b int64) int64{
	"vadd":     func(a, b int64) int64 { return a + b },
	"vsub":     func(a, b int64) int64 { return a - b },
	"vabsdiff": func(a, b int64) int64 { return max(a-b, b-a) },
	"vmin":     func(a, b int64) int64 { return min(a, b) },
	"vmax":     func(a, b int64) int64 { return max(a, b) },
	"vavrg": func(a, b int64) int64 { // rounds half away from zero
		if a+b >= 0 {
			return (a + b + 1) >> 1
		}
		return (a + b) >> 1
	},
}

func (v *video) run(w *warp, m uint32) {
	forLanes(m, func(lane int) {
		x, y := w.cols[v.x][lane], w.cols[v.y][lane]
		packed, sum := uint64(0), int64(0)
		for i := range v.parts {
			shift := i * v.width
			t := v.op(part(x>>shift, v.width, v.a), part(y>>shift, v.width, v.b))
			if v.sat {
				t = clamped(t, v.width, v.to)
			}
			sum += t
			packed |= uint64(t) & mask(v.width) << shift
		}
		if v.second != "" {
			z := part(w.cols[v.z][lane], 32, v.to)
			packed = uint64(map[string]int64{"add": sum + z, "min": min(sum, z), "max": max(sum, z)}[v.second]) & mask(32)
		}
		w.cols[v.o][lane] = packed
	})
}

// part returns the value of the lowest bits of a word.
func part(x uint64, width int, t ptx.Type) int64 {
	if isSigned(t) {
		return int64(num.SignExtend(width, x&mask(width)))
	}
	return int64(x & mask(width))
}

// clamped returns the nearest value in the range of a type of this width.
func clamped(x int64, width int, t ptx.Type) int64 {
	if isSigned(t) {
		return max(min(x, 1<<(width-1)-1), -1<<(width-1))
	}
	return max(min(x, 1<<width-1), 0)
}
