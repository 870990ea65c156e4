package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
)

// A Network connects GPUs of different machines.
type Network struct {
	Name string
	Link // of each GPU
}

// Latencies and overheads are constants in NVIDIA's NCCL, used for choosing algorithms
// (src/graph/tuning.cc of version 2.20). The latencies are hwLat of rings with the protocol
// Simple. overheadNetwork is getNetOverhead on an Intel processor; on AMD's it is twice as long.
// overheadWithin is the cost of a further neighbour ("arity serialization").
const (
	latencyNVLink   = 3400 * time.Nanosecond
	latencyPCIe     = 5700 * time.Nanosecond
	latencyNetwork  = 14 * time.Microsecond
	overheadWithin  = 400 * time.Nanosecond
	overheadNetwork = time.Microsecond
)

// Networks returns the table of known networks. Rates are for one port in each direction.
// InfiniBand EDR (4 lanes of 25 Gbit/s), HDR (of 50), NDR (of 100) and XDR (of 200) follow the
// InfiniBand Trade Association's roadmap, and Ethernet of the same rate uses RoCE. A DGX A100 has
// a port of 200 Gbit/s for each of its eight GPUs. A DGX H100 or H200 has one of 400 (NVIDIA's
// user guides). Where GPUs share a port, each gets its part of the rate.
func Networks() []Network {
	return []Network{
		network("100G EDR", 100), network("200G HDR", 200), network("400G NDR", 400), network("800G XDR", 800),
	}
}

func network(name string, gbits float64) Network {
	return Network{name, Link{latencyNetwork, overheadNetwork, gbits * 1e9 / 8}}
}

// FindNetwork finds a network by a word of its name. A number makes a network of so many Gbit/s a
// GPU.
func FindNetwork(name string) (Network, error) {
	var names []string
	for _, n := range Networks() {
		for _, word := range append(strings.Fields(n.Name), n.Name) {
			if strings.EqualFold(word, name) {
				return n, nil
			}
		}
		names = append(names, n.Name)
	}
	if gbits, err := strconv.ParseFloat(name, 64); err == nil && gbits > 0 && gbits <= 1e6 {
		return network(name+" Gbit/s", gbits), nil
	}
	return Network{}, fmt.Errorf("no network is called %.60q: there are %s, and any number of Gbit/s a GPU, such as 12.5", name, strings.Join(names, ", "))
}

// within returns the link between cards of one machine.
func within(c card.Card) Link {
	latency := latencyPCIe
	if c.NVLink {
		latency = latencyNVLink
	}
	return Link{latency, overheadWithin, c.Link}
}
