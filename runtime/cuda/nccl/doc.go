// Package nccl implements cuda.Collective with NVIDIA's NCCL, which moves gradients between the
// GPUs of a training. It also implements comm.World, for ranks that have no other. It opens the
// library when a program asks for it, and needs neither cgo nor the CUDA toolkit to build.
//
// Package cuda defines a Collective, and its Driver has the stream. Package libraries finds the
// library. Package world decides whether to open one, and package prove tries it. From the bottom:
// search.go has the library's names, table.go its functions by name, and api.go a method for each
// function, with the numbers of nccl.h. wait.go waits for other ranks. group.go implements package
// cuda's interface, and world.go package comm's. open.go lets the ranks meet. meet.go reads the
// place from the environment of launchers.
//
// Facts to know before changing it:
//
//   - The communicator does not block: a call may return "in progress", and then its state is
//     polled until it changes. So every wait ends, even for a rank that never comes. Only such a
//     communicator can be aborted while a call hangs.
//   - A transfer waits on the GPU for the other rank, and the driver would wait with it for
//     ever. So Synchronize is the only way to wait for the GPU.
//   - Sends and receives of a group start together. Between two ranks they keep their order. A
//     group belongs to a thread.
//   - Only bytes are sent. The library computes no sums: its order depends on the number of ranks
//     and on their connections.
//   - ncclCommInitRankConfig takes an id of 128 bytes by value. ncclCommInitRankScalable takes
//     its address, from NCCL 2.23 on.
package nccl
