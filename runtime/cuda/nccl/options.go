package nccl

import (
	"time"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
)

// Options select the ranks that meet, and the library.
type Options struct {
	// Library is the path of the library. If it is empty, the environment variable MLC_LIBNCCL
	// names the library. If that is empty too, it is the first library found that works.
	Library string
	// Driver is the GPU of this rank.
	Driver cuda.Driver
	// World already connects the ranks and carries messages. It also numbers the ranks. nil:
	// NCCL carries messages, too.
	World comm.World
	// Rank, Size and Meet are for ranks without a World. Meet is the HOST:PORT where rank 0
	// listens, the same for all ranks: see Meeting.
	Rank, Size int
	Meet       string
	// Timeout is how long a rank waits for the others. 0: the environment variable
	// MLC_NCCL_TIMEOUT, such as 2h, or else 30 minutes.
	Timeout time.Duration
}

// A Library is an NCCL that Open can use.
type Library struct {
	Path    string // or its name, if the loader knows it
	Version string // 2.30.3
}

// A Communicator is ranks that have met.
type Communicator struct {
	World  comm.World      // the Options' World, or NCCL
	Device cuda.Collective // close it before the Driver
}
