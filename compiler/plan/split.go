package plan

// Names of the programs beside one whose launches share Kept buffers.
const (
	Prepare = "prepare"
	Finish  = "finish"
)

// Split takes out of a program with gradients what is the same for all of its launches
// that share their draws: the calls that make Kept buffers, which begin it, and those that
// only make gradients of parameters from Kept buffers, which end it. It returns the programs Prepare, p
// and Finish, or p alone where nothing is Kept. What calls add to is cleared by Prepare.
// Launches of the two have the lengths of the longest problems.
func Split(p *Program) []*Program {
	prepare := &Program{Name: Prepare, Memory: Prepare,
		Doc: "makes what all launches share that share their draws: it runs before them, and clears what they add to"}
	finish := &Program{Name: Finish, Memory: Finish,
		Doc: "adds gradients of parameters to the Grads arena, from what launches that share their draws have added up: it runs after them"}
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

// keeps reports whether there are references, all of them to Kept buffers.
func (p *Program) keeps(refs map[string]Ref) bool {
	for _, r := range refs {
		if !p.Buffer(r.Buffer).Kept {
			return false
		}
	}
	return len(refs) > 0
}

// all reports whether all calls of a statement are such.
func all(s Stmt, such func(*Call) bool) bool {
	for _, c := range (&Program{Body: []Stmt{s}}).Calls() {
		if !such(c) {
			return false
		}
	}
	return true
}
