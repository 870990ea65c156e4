// Package mpi is a comm.World on a library of MPI, as clusters have: Open MPI, MPICH and
// libraries that share its binary interface (Intel MPI, MVAPICH, Cray MPICH), or any library
// with the standard interface of MPI 5. It opens the library at run time, and needs neither cgo
// nor a header to build.
//
// Package comm defines a World, and package comm/launch finds which processes are ranks. Package
// world decides whether to open one. From the bottom: abi.go has the constants of the
// interfaces, search.go the names of libraries, library.go calls functions, and world.go
// implements comm.World.
//
// Rules for changes:
//
//   - All calls come from the one thread that has called MPI_Init_thread.
//   - A blocking call of MPI spins, and takes the core from a computing thread. So all calls
//     only begin an operation, and wait polls it until it completes: at once, then now and then.
//   - An error of MPI ends the job: the library names rank and call, and its launcher ends
//     the other ranks.
//   - Buffers are in Go's heap, which does not move. The caller keeps them alive.
package mpi
