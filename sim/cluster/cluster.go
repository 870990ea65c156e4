// Package cluster forecasts the cost of a training step on many GPUs. It lists the messages that
// the ranks exchange to add their gradients in the order of package device's tree. It computes a
// lower bound on the time of these messages, on links of known speed. Package counted supplies
// the compute of each GPU; package runtime prints the Plan. Nothing is measured.
//
// Times follow the LogGP model (A. Alexandrov, M. Ionescu, K. E. Schauser, C. Scheiman, "LogGP:
// Incorporating Long Messages into the LogP Model", SPAA 1995). A port sends consecutive
// messages; each occupies it for its overhead and its bytes, and the last one arrives after the
// latency. A GPU has four ports, which work at the same time: one each way within its machine,
// and one each way to other machines. The model ignores waiting for a peer's port and assumes
// switches that carry everything the ports send, so real times are longer.
package cluster

import (
	"iter"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// A Link connects a GPU to others.
type Link struct {
	Latency   time.Duration // time between the end of sending a message and its arrival
	Overhead  time.Duration // per message, for the sender and for the receiver
	Bandwidth float64       // bytes/s in each direction
}

// A Cluster is GPUs of one kind, PerMachine in each machine; the last machine may have fewer.
type Cluster struct {
	Card            card.Card
	GPUs            int // ranks
	PerMachine      int
	Within, Between Link // machines
}

// New returns a cluster of cards. Each GPU has a network port.
func New(c card.Card, gpus, perMachine int, n Network) Cluster {
	return Cluster{Card: c, GPUs: gpus, PerMachine: perMachine, Within: within(c), Between: n.Link}
}

// Machines returns the number of machines.
func (c *Cluster) Machines() int { return (c.GPUs + c.PerMachine - 1) / c.PerMachine }

// A Message is bytes that one rank sends to another.
type Message struct {
	From, To int
	Bytes    int64
}

// A load is the traffic of one port.
type load struct {
	messages int
	bytes    int64
}

func (l load) seconds(k Link) float64 {
	if l.messages == 0 {
		return 0
	}
	return (k.Latency + time.Duration(l.messages)*k.Overhead).Seconds() + float64(l.bytes)/k.Bandwidth
}

// ports are the loads of a rank: [within its machine, to others][sending, receiving].
type ports [2][2]load

// pass returns a lower bound on the time of messages that may all be sent at once. It adds their
// bytes to the count of each rank in sent.
func (c *Cluster) pass(messages iter.Seq[Message], sent []int64) (seconds float64) {
	all := make([]ports, c.GPUs)
	for m := range messages {
		between := 0
		if m.From/c.PerMachine != m.To/c.PerMachine {
			between = 1
		}
		for _, l := range []*load{&all[m.From][between][0], &all[m.To][between][1]} {
			l.messages++
			l.bytes += m.Bytes
		}
		sent[m.From] += m.Bytes
	}
	for _, p := range all {
		for direction := range 2 {
			seconds = max(seconds, p[0][direction].seconds(c.Within), p[1][direction].seconds(c.Between))
		}
	}
	return seconds
}

// add returns a lower bound on the time that a GPU takes to add so many pairs of vectors. Each
// addition is a launch that reads two vectors and writes one.
func (c *Cluster) add(times, elements int) float64 {
	launch := card.Launch
	if times >= cuda.WorthGraph {
		launch = card.Node
	}
	return float64(float64(times) * max(launch.Seconds(), 3*wordBytes*float64(elements)/c.Card.Bandwidth))
}

// share returns a lower bound on a GPU's time for its part of work that all GPUs share.
func (c *Cluster) share(seconds float64) float64 {
	return max(min(seconds, card.Launch.Seconds()), seconds/float64(c.GPUs))
}

const wordBytes = 4

// part returns how many elements are in one slice of several. Slices begin where tensors may
// begin.
func part(elements, number, of int) int {
	return bound(elements, number+1, of) - bound(elements, number, of)
}

func bound(elements, number, of int) int {
	if number == of {
		return elements
	}
	return min(elements, device.Aligned(elements*number/of))
}
