package ptxsim

// Reach records whether the threads of a launch executed a line.
type Reach struct {
	Ran  bool // a thread executed the line
	Kept bool // its guard kept a thread from executing it
}

// reach is an instruction's Reach while its launch runs.
type reach uint8

const (
	ran reach = 1 << iota
	kept
)

// reachOf returns the reach of lanes at an instruction; its guard admits the lanes of through.
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
