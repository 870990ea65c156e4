package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
)

// A Network is what GPUs of different machines reach each other by.
type Network struct {
	Name string
	Link // of each GPU
}

// Latencies and overheads are those that NVIDIA's NCCL chooses its algorithms by, in
// src/graph/tuning.cc of version 2.20: hwLat of rings of the protocol Simple; of a message
// to another machine the overhead of getNetOverhead on an Intel processor (on AMD's it is
// twice as long); within a machine what a further neighbour adds ("arity serialization").
const (
	latencyNVLink   = 3400 * time.Nanosecond
	latencyPCIe     = 5700 * time.Nanosecond
	latencyNetwork  = 14 * time.Microsecond
	overheadWithin  = 400 * time.Nanosecond
	overheadNetwork = time.Microsecond
)

// Networks is the table. Rates are those of one port in each direction: InfiniBand EDR (4
// lanes of 25 Gbit/s), HDR (of 50), NDR (of 100) and XDR (of 200), by the InfiniBand Trade
// Association's roadmap, and the Ethernet of the same rate with RoCE. A DGX A100 has a port
// of 200 Gbit/s for each of its eight GPUs, a DGX H100 or H200 one of 400 (NVIDIA's user
// guides of these). Where GPUs share a port, each has its part of it.
func Networks() []Network {
	return []Network{
		network("100G EDR", 100), network("200G HDR", 200), network("400G NDR", 400), network("800G XDR", 800),
	}
}

func network(name string, gbits float64) Network {
	return Network{name, Link{latencyNetwork, overheadNetwork, gbits * 1e9 / 8}}
}

// FindNetwork finds a network by a word of its name, or makes one of so many Gbit/s a GPU.
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

// within is what cards of one machine reach each other by.
func within(c card.Card) Link {
	latency := latencyPCIe
	if c.NVLink {
		latency = latencyNVLink
	}
	return Link{latency, overheadWithin, c.Link}
}
