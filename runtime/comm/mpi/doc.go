// Package mpi is a comm.World on a library of MPI, as clusters have: Open MPI, MPICH and
// those that share its binary interface (Intel MPI, MVAPICH, Cray MPICH), or any library
// with the standard interface of MPI 5. It opens the library when a program asks for it,
// and needs neither cgo nor a header to build.
//
// Package comm, before it, says what a World does, and package comm/launch which processes
// are ranks; package runtime, after it, decides whether to open one. From the bottom: abi.go has
// the constants of the interfaces, search.go the names of libraries, library.go calls
// functions, and world.go the rules of package comm on top.
//
// What one has to know to change it:
//
//   - All calls come from the one thread that has called MPI_Init_thread.
//   - A blocking call of MPI spins, and takes the core from whoever computes. So all calls
//     begin something, and it is asked after until it is through: at once, then now and then.
//   - An error of MPI ends the job: the library names rank and call, and its launcher ends
//     the other ranks.
//   - Buffers are Go's heap, which does not move, and are kept alive by who calls.
package mpi
