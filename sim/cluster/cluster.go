// Package cluster says what a step of training costs on many GPUs: which messages the ranks
// of one training exchange to add their gradients as package device's tree, and no less than
// how long these take on links of known speed. Before it, package counted says what each GPU
// has to compute; package runtime prints the Plan after it. Nothing is measured.
//
// Time is that of the model LogGP (A. Alexandrov, M. Ionescu, K. E. Schauser, C. Scheiman,
// "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995): a port sends one
// message after the other, each for its overhead and its bytes, and the last one is there
// after the latency. A GPU has four ports: it sends and receives, within its machine and to
// others, all at the same time. Nobody waits for a port that is free for it, and switches
// carry all that ports send, so that real times are longer.
package cluster

import (
	"iter"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// A Link is what a GPU has to reach others.
type Link struct {
	Latency   time.Duration // from when a message was sent until it is there
	Overhead  time.Duration // of each message, for who sends it and for who receives it
	Bandwidth float64       // bytes/s in each direction
}

// A Cluster is GPUs of one kind in machines, of which the last may have fewer than the others.
type Cluster struct {
	Card            card.Card
	GPUs            int // ranks
	PerMachine      int
	Within, Between Link // machines
}

// New is a cluster of cards in machines whose GPUs have a network each.
func New(c card.Card, gpus, perMachine int, n Network) Cluster {
	return Cluster{Card: c, GPUs: gpus, PerMachine: perMachine, Within: within(c), Between: n.Link}
}

// Machines is how many there are.
func (c *Cluster) Machines() int { return (c.GPUs + c.PerMachine - 1) / c.PerMachine }

// A Message is bytes that a rank sends to another.
type Message struct {
	From, To int
	Bytes    int64
}

// A load is what goes through a port.
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

// ports of a rank: within its machine and to others, sending and receiving.
type ports [2][2]load

// pass is how long messages take at least that may all be sent at once. It adds the bytes
// to those that each rank has sent.
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

// add is how long a GPU takes at least for so many additions of elements to others: a
// launch each, which reads two and writes one.
func (c *Cluster) add(times, elements int) float64 {
	launch := card.Launch
	if times >= cuda.WorthGraph {
		launch = card.Node
	}
	return float64(float64(times) * max(launch.Seconds(), 3*wordBytes*float64(elements)/c.Card.Bandwidth))
}

// share is how long a GPU takes at least for its part of work that all share.
func (c *Cluster) share(seconds float64) float64 {
	return max(min(seconds, card.Launch.Seconds()), seconds/float64(c.GPUs))
}

const wordBytes = 4

// part is how many of so many elements one of several adds: slices begin where tensors can.
func part(elements, number, of int) int {
	return bound(elements, number+1, of) - bound(elements, number, of)
}

func bound(elements, number, of int) int {
	if number == of {
		return elements
	}
	return min(elements, device.Aligned(elements*number/of))
}
