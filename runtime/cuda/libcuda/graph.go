//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import "github.com/arithlang/mlc/runtime/cuda"

type graph struct {
	d       *driver
	exec    handle
	kernels []string
	round   uint64 // see driver.pending
}

// Capture records the work that record queues. The capture is relaxed because it may move between
// threads, and because a driver may load kernels at their first launch.
func (d *driver) Capture(record func() error) (cuda.Graph, error) {
	if err := d.wait(func() cuda.Code { return d.beginCapture(d.stream) }, "start to record a graph"); err != nil {
		return nil, err
	}
	outside := d.pending
	d.pending, d.capturing = nil, true
	d.round++
	recordErr := record()
	g := &graph{d: d, kernels: d.pending, round: d.round}
	d.pending, d.capturing = outside, false
	d.round++

	err := d.do(func() (c cuda.Code) {
		recorded, c := d.endCapture(d.stream)
		if c != 0 {
			return c
		}
		if recordErr == nil {
			g.exec, c = d.graphInstantiate(recorded)
		}
		if c2 := d.graphDestroy(recorded); c == 0 {
			c = c2
		}
		return c
	}, "record a graph of %d kernels", len(g.kernels))
	if recordErr != nil {
		return nil, recordErr
	}
	if err != nil {
		return nil, err
	}
	d.graphs[g] = true
	return g, nil
}

// Launch queues the graph.
func (g *graph) Launch() error {
	d := g.d
	err := d.wait(func() cuda.Code { return d.graphLaunch(g.exec, d.stream) }, "launch a graph of %d kernels", len(g.kernels))
	if err == nil && g.round != d.round {
		g.round = d.round
		d.pending = append(d.pending, g.kernels...)
	}
	return err
}

// Close frees the graph.
func (g *graph) Close() error {
	return drop(g.d, g.d.graphs, g, func() cuda.Code { return g.d.graphExecDestroy(g.exec) }, "free a graph")
}
