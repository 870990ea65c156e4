package plan

// uses describes how calls with gradients read the buffers of a program.
type uses struct {
	// shared buffers have a tensor that is read more than once, or by a call that a
	// launch may skip. Their gradients are sums.
	shared map[string]bool
	// chain buffers have more than two tensors, and a loop computes each from the one
	// before.
	chain map[string]bool
}

// usesOf follows each loop for its least number of runs and one more.
func usesOf(p *Program) uses {
	u := uses{shared: map[string]bool{}, chain: map[string]bool{}}
	reads := map[Ref]int{}
	read := func(c *Call, l, runs int) {
		for _, r := range c.Args {
			if reads[At(r.Buffer, r.Index(l, runs))]++; reads[At(r.Buffer, r.Index(l, runs))] > 1 || beforeNoGrad(c) {
				u.shared[r.Buffer] = true
			}
		}
	}
	for _, s := range p.Body {
		switch s := s.(type) {
		case *Call:
			read(s, 0, 2)
		case *Loop:
			if s.Runs == NoGrad {
				continue
			}
			n := s.N
			if s.Runs != Once {
				n *= 2
			}
			for _, c := range s.Body {
				for l := range n {
					read(c, l, 2)
				}
				u.chains(p, c)
			}
		}
	}
	for name := range u.shared {
		delete(u.chain, name)
	}
	return u
}

// chains notes the chain of a call in a loop that reads tensor l and stores tensor l+1.
func (u *uses) chains(p *Program, c *Call) {
	for _, r := range c.Results {
		for _, a := range c.Args {
			if a.Buffer == r.Buffer && a == AtLayer(a.Buffer, 0) && r == AtLayer(r.Buffer, 1) && p.Buffer(r.Buffer).Count > 2 {
				u.chain[r.Buffer] = true
			}
		}
	}
}

// beforeNoGrad reports whether a NoGrad loop reads a result of c.
func beforeNoGrad(c *Call) bool {
	for _, r := range c.Results {
		if r.Runs == NoGrad {
			return true
		}
	}
	return false
}
