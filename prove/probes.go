package prove

import (
	"context"
	"errors"

	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/runtime/interrupt"
)

func probeParts(*Env) (names []string, why string) {
	for _, p := range probe.Probes() {
		names = append(names, p.Name)
	}
	return names, ""
}

// runProbe runs one of the probes.
func runProbe(ctx context.Context, e *Env, p *Part) error {
	d, err := e.Open()
	if err != nil {
		return err
	}
	p.Figures, err = interrupt.Await(ctx, func() ([]probe.Figure, error) { return probe.Run(p.Name, d, e.Reduced()) })
	if ctx.Err() != nil {
		return err // it may be under way
	}
	return errors.Join(err, d.Close())
}
