package ptxsim

// Reach is how far the threads of a launch came at a line.
type Reach struct {
	Ran  bool // a thread did what the line says
	Kept bool // its guard kept a thread from that
}

// reach is a Reach of an instruction while its launch runs.
type reach uint8

const (
	ran reach = 1 << iota
	kept
)

// reachOf is what lanes at an instruction make of it, some of which its guard lets through.
func reachOf(active, through uint32) (r reach) {
	if through != 0 {
		r |= ran
	}
	if active != through {
		r |= kept
	}
	return r
}

func (r Reach) with(other reach) Reach {
	return Reach{r.Ran || other&ran != 0, r.Kept || other&kept != 0}
}
