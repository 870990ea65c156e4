package plan

// Names of the two programs that run before and after launches that share Kept buffers.
const (
	Prepare = "prepare"
	Finish  = "finish"
)

// Split moves work that is equal for all launches with shared draws out of a program with
// gradients. Calls that make Kept buffers go to Prepare. Calls that only make parameter
// gradients from Kept buffers go to Finish. It returns Prepare, the rest of p, and
// Finish, or p alone if no buffer is Kept. Prepare clears the Kept buffers that calls add
// to. Prepare and Finish run with the lengths of the longest problems.
func Split(p *Program) []*Program {
	prepare := &Program{Name: Prepare, Memory: Prepare,
		Doc: "computes values for all launches that share draws: it runs before them, and clears the buffers they add to"}
	finish := &Program{Name: Finish, Memory: Finish,
		Doc: "adds gradients of parameters to the Grads arena: it runs after all launches that share draws, and reads their sums"}
	for _, b := range p.Buffers {
		if b.Kept {
			ended := *b
			ended.Zero = false
			prepare.Buffers, finish.Buffers = append(prepare.Buffers, b), append(finish.Buffers, &ended)
		}
	}
	if len(prepare.Buffers) == 0 {
		return []*Program{p}
	}
	launch := *p
	launch.Buffers, launch.Body = nil, nil
	for _, b := range p.Buffers {
		if !b.Kept {
			launch.Buffers = append(launch.Buffers, b)
		}
	}
	launch.Buffers = append(launch.Buffers, finish.Buffers...)
	for _, s := range p.Body {
		to := &launch
		switch {
		case all(s, func(c *Call) bool { return p.keeps(c.Results) && (len(c.Args) == 0 || p.keeps(c.Args)) }):
			to = prepare
		case all(s, func(c *Call) bool { return p.keeps(c.Args) && len(c.Results) == 0 }):
			to = finish
		}
		to.Body = append(to.Body, s)
	}
	return []*Program{prepare, &launch, finish}
}

// keeps reports whether there are references, all to Kept buffers.
func (p *Program) keeps(refs map[string]Ref) bool {
	for _, r := range refs {
		if !p.Buffer(r.Buffer).Kept {
			return false
		}
	}
	return len(refs) > 0
}

// all reports whether such holds for all calls of a statement.
func all(s Stmt, such func(*Call) bool) bool {
	for _, c := range (&Program{Body: []Stmt{s}}).Calls() {
		if !such(c) {
			return false
		}
	}
	return true
}
