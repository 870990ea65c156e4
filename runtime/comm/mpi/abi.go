//go:build !nogpu && linux && (amd64 || arm64)

package mpi

// An abi holds the constants of mpi.h for one family of libraries. Handles are integers of
// words, or of half words.
type abi struct {
	name       string
	funneled   uintptr // MPI_THREAD_FUNNELED
	place      uintptr // MPI_IN_PLACE
	ignore     uintptr // MPI_STATUSES_IGNORE
	request    int     // bytes of an MPI_Request
	world      handle  // MPI_COMM_WORLD
	byte, long handle  // MPI_BYTE, MPI_INT64_T
	max        handle  // MPI_MAX
}

// A handle is a number, or the address of an object that the library exports.
type handle struct {
	value  uintptr
	symbol string
}

func number(n uintptr) handle     { return handle{value: n} }
func object(symbol string) handle { return handle{symbol: symbol} }

// The families: the standard (MPI 5.0, section 20), MPICH (its ABI Compatibility Initiative),
// and Open MPI, versions 4 and 5.
var (
	standard = abi{"the standard interface", 1024, 1, 0, 8, number(0x101), number(0x247), number(0x258), number(0x23)}
	mpich    = abi{"MPICH's interface", 1, ^uintptr(0), 1, 4, number(0x44000000), number(0x4c00010d), number(0x4c00083a), number(0x58000001)}
	openMPI  = abi{"Open MPI's interface", 1, 1, 0, 8, object("ompi_mpi_comm_world"), object("ompi_mpi_byte"), object("ompi_mpi_int64_t"), object("ompi_mpi_op_max")}
)
