package processor

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/sim/cluster"
)

// TestPlansWhatRanksSend compares the planned bytes with the bytes that training ranks send.
func TestPlansWhatRanksSend(t *testing.T) {
	network, err := cluster.FindNetwork("400G")
	if err != nil {
		t.Fatal(err)
	}
	for _, elems := range []int{100, 4097} {
		for chunks := 1; chunks < 20; chunks++ {
			for _, size := range []int{2, 3, 4, 7} {
				sent := make([]int64, size)
				for rank, err := range commtest.Run(size, commtest.Faults{}, func(w comm.World) error {
					m, _, err := chunkSum(w, elems, chunks, 1)
					sent[w.Rank()] = m.ranks.took.Sent / 2 // of two sums
					return err
				}) {
					if err != nil {
						t.Fatalf("rank %d: %v", rank, err)
					}
				}
				c := cluster.New(card.Card{Bandwidth: 1, Link: 1}, size, 8, network)
				if got, want := c.Direct(cluster.Sum{Elements: elems, Chunks: chunks}).Sent, slices.Max(sent); got != want {
					t.Errorf("%d elements, %d chunks, %d ranks: the plan has %d bytes, %d were sent", elems, chunks, size, got, want)
				}
			}
		}
	}
}
