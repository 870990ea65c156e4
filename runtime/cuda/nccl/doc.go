// Package nccl is NVIDIA's NCCL as a cuda.Collective, which moves gradients between the GPUs
// of a training, and as a comm.World, where there is no other. It opens the library when a
// program asks for it, and needs neither cgo nor the CUDA toolkit to build.
//
// Package cuda, before it, says what a Collective does, and gives the stream of its Driver;
// package libraries says where the library may be; package world, after it, decides whether
// to open one, and package prove tries it. From the bottom: search.go has the library's
// names, table.go its functions by name, api.go one method a function with the numbers of
// nccl.h, wait.go how to wait for others, group.go the rules of package cuda on top, world.go
// those of package comm, and open.go how ranks meet. meet.go reads where, from what launchers
// say.
//
// What one has to know to change it:
//
//   - The communicator does not block: a call may return "in progress", and then its state is
//     asked for until it is something else. So every wait has an end, also that for a rank that
//     never comes. Only such a communicator can be aborted while something hangs.
//   - A transfer waits on the GPU for the other rank, and the driver would wait with it for
//     ever. So whoever waits for the GPU does that by Synchronize.
//   - Sends and receives of a group go at once, those between two ranks in their order. A group
//     belongs to a thread.
//   - Bytes are what is sent: no sum is left to the library, whose order depends on the number
//     of ranks and on how they are connected.
//   - In ncclCommInitRankConfig an id of 128 bytes goes by value. ncclCommInitRankScalable
//     takes its address, from NCCL 2.23 on.
package nccl
