package nccl

import (
	"time"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
)

// Options say which ranks are to meet, and by which library.
type Options struct {
	// Library is the path of the library. If it is empty the environment variable MLC_LIBNCCL
	// names it, and if that is empty too it is the first that works of those that are found.
	Library string
	// Driver is the GPU of this rank.
	Driver cuda.Driver
	// World is what the ranks have met by already, and stays what carries messages; it also says
	// which rank this is. nil: NCCL carries messages, too.
	World comm.World
	// Rank, Size and Meet are for where there is no World. Meet is HOST:PORT where rank 0 is to
	// listen, the same for all ranks: see Meeting.
	Rank, Size int
	Meet       string
	// Timeout is how long a rank waits for the others. 0: what the environment variable
	// MLC_NCCL_TIMEOUT says, such as 2h, or else 30 minutes.
	Timeout time.Duration
}

// A Library is an NCCL that Open can use.
type Library struct {
	Path    string // or its name, where the loader knows it
	Version string // 2.30.3
}

// A Communicator is ranks that have met.
type Communicator struct {
	World  comm.World      // that of the Options, or NCCL
	Device cuda.Collective // to close before the Driver
}
