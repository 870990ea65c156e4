package runtime

// runLanes trains a model for each seed of a range of --init-seed.
func (c *trainCmd) runLanes(app, program) error {
	return usagef("--init-seed %s: this program trains one model at a time: give a single seed", c.InitSeed)
}
