package prove

import (
	"context"
	"errors"

	"github.com/arithlang/mlc/prove/probe"
)

func probeParts(*Env) ([]string, string) { return names(probe.Probes()), "" }

// runProbe runs one probe.
func runProbe(_ context.Context, e *Env, p *Part) error {
	d, err := e.Open()
	if err != nil {
		return err
	}
	p.Figures, err = probe.Run(p.Name, d, e.Reduced())
	if errors.Is(err, probe.ErrAbsent) {
		return errors.Join(skipf("%v", err), d.Close())
	}
	return errors.Join(err, d.Close())
}
