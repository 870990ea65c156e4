//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"errors"
	"fmt"
	"os"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
)

// Open meets the other ranks. Each rank calls Open.
func Open(o Options) (*Communicator, error) {
	if w := o.World; w != nil {
		o.Rank, o.Size = w.Rank(), w.Size()
	}
	g, err := open(&o)
	if w := o.World; w != nil {
		err = agree(w, g, err)
	}
	if err != nil {
		return nil, err
	}
	if err := g.meet(&o); err != nil {
		return nil, err
	}
	c := &Communicator{World: o.World, Device: g}
	if c.World == nil {
		c.World = &world{group: g}
	}
	return c, nil
}

// open opens the library.
func open(o *Options) (*group, error) {
	if o.Rank < 0 || o.Rank >= o.Size {
		return nil, fmt.Errorf("rank %d of %d: want a rank from 0 to one less than there are", o.Rank, o.Size)
	}
	stream, ok := o.Driver.(cuda.Streamer)
	if !ok {
		return nil, fmt.Errorf("NCCL needs a GPU of NVIDIA's, and the device is %s: use --ranks mpi", o.Driver.Info().Name)
	}
	wait, err := timeout(o.Timeout)
	if err != nil {
		return nil, err
	}
	t, err := find(o.Library)
	if err != nil {
		return nil, err
	}
	return &group{table: t, driver: o.Driver, stream: stream, rank: o.Rank, size: o.Size, timeout: wait}, nil
}

// agree checks that all ranks have a library of one version, before they wait for each other. If
// not, each rank returns an error, its own if it has one.
func agree(w comm.World, g *group, err error) error {
	failed, number := int64(0), int64(0)
	if err != nil {
		failed = 1
	} else {
		number = int64(g.number)
	}
	most := []int64{failed, number, -number}
	switch lost := w.Max(most); {
	case err != nil:
		return err
	case lost != nil:
		return lost
	case most[0] > 0:
		return errors.New("another rank cannot use NCCL: see its message")
	case most[1] != -most[2]:
		return fmt.Errorf("one rank has NCCL %s and another %s: give all one library, by its path in MLC_LIBNCCL", versionText(int(most[1])), versionText(int(-most[2])))
	}
	return nil
}

// meet joins the other ranks.
func (g *group) meet(o *Options) error {
	if o.World == nil {
		if o.Meet == "" {
			return errors.New("BUG: nobody says where ranks are to meet")
		}
		if err := os.Setenv("NCCL_COMM_ID", o.Meet); err != nil { // the library of each rank reads it
			return err
		}
	}
	x, err := g.invite(o.World)
	if err != nil {
		return err
	}
	return g.queue("meet the other ranks", func(uintptr) result { return g.initRank(&g.comm, &x, g.rank, g.size) })
}

// invite returns the id of the communicator. With a World rank 0 makes it.
func (g *group) invite(w comm.World) (x id, err error) {
	var r result
	if w == nil || g.rank == 0 {
		x, r = g.uniqueID()
	}
	failed := r != success
	if failed {
		err = g.failure("ask for an id", r)
	}
	if w == nil {
		return x, err
	}
	message := []int64{int64(r)}
	for _, word := range x {
		message = append(message, int64(word))
	}
	lost := w.Broadcast(comm.Bytes(message))
	for i := range x {
		x[i] = uint64(message[1+i])
	}
	switch {
	case failed:
		return x, err
	case lost == nil && message[0] != int64(success):
		lost = errors.New("rank 0 cannot begin with NCCL: see its message")
	}
	return x, lost
}
