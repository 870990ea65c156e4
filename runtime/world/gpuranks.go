package world

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"os"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/launch"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/nccl"
)

// The values of --ranks.
const (
	ranksAuto = "auto" // the launcher's MPI; between GPUs NCCL, if all ranks have it
	ranksMPI  = "mpi"
	ranksNCCL = "nccl"
	ranksNone = "none"
)

// met holds what ranks without MPI opened to find each other: the driver of a GPU, and NCCL.
type met struct {
	driver cuda.Driver
	by     *nccl.Communicator
}

// meet opens a GPU, and NCCL on it, for ranks without MPI.
func (f *Flags) meet(a App, l launch.Launch) (comm.World, error) {
	if f.Device != "auto" && f.Device != "cuda" || a.Model.GPU.PTX == "" {
		return nil, Usagef("%s has started this program as rank %d of %d, without MPI, and NCCL works only between GPUs: use --device cuda, "+
			"or start ranks that compute on processors with mpirun or srun, or let each process train by itself with --ranks none", l.By, l.Rank, l.Size)
	}
	if a.Whole != nil {
		return nil, Usagef("%s has started this program as rank %d of %d, without MPI, which specs with stages need: start it with mpirun or srun", l.By, l.Rank, l.Size)
	}
	at, err := nccl.Meeting(os.Getenv)
	if err != nil {
		return nil, err
	}
	driver, err := a.OpenGPU(max(l.Local, 0))
	if err != nil {
		return nil, err
	}
	by, err := nccl.Open(nccl.Options{Driver: driver, Rank: l.Rank, Size: l.Size, Meet: at})
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	a.Ranks.met = &met{driver, by}
	return by.World, nil
}

// gpu opens the GPU of this process. If any rank fails, all fail.
func (f *Flags) gpu(a App) (cuda.Driver, error) {
	r := a.Ranks
	switch {
	case !r.Several():
		return a.OpenGPU(0)
	case r.met != nil:
		return r.met.driver, nil
	}
	driver, err := a.OpenGPU(r.number)
	lost := []int64{0}
	if err != nil {
		lost[0] = 1
	}
	if failed := r.Max(lost); failed != nil {
		return nil, failed
	}
	if err == nil && lost[0] > 0 {
		err = errors.Join(fmt.Errorf("%w on the machine of another rank", cuda.ErrUnavailable), driver.Close())
	}
	if err != nil {
		return nil, err
	}
	return driver, r.ownGPU(driver.Info())
}

// ownGPU refuses two ranks on one GPU: each would wait while the other computes.
func (r *Ranks) ownGPU(i cuda.Info) error {
	if i.Place == 0 || os.Getenv("NCCL_MULTI_RANK_GPU_ENABLE") == "1" {
		return nil
	}
	all, err := r.each(comm.Bytes([]int64{int64(crc64.Checksum([]byte(hostname()), crc64.MakeTable(crc64.ECMA))), int64(i.Place)}))
	if err != nil {
		return err
	}
	for a := range r.Size() {
		for b := range a {
			if bytes.Equal(all[a], all[b]) {
				return fmt.Errorf("ranks %d and %d would share one GPU: start as many ranks on a machine as it has GPUs", b, a)
			}
		}
	}
	return nil
}

// collective returns the transport of gradients between the GPUs of all ranks, or nil for a
// single process.
func (f *Flags) collective(a App, driver cuda.Driver) (cuda.Collective, error) {
	r := a.Ranks
	switch {
	case !r.Several():
		return nil, nil
	case r.met != nil:
		return r.met.by.Device, nil
	case f.Ranks == ranksMPI:
		return cuda.Staged(driver, r.World), nil
	}
	by, err := nccl.Open(nccl.Options{Driver: driver, World: r.World})
	switch {
	case err == nil:
		return by.Device, nil
	case f.Ranks == ranksNCCL:
		return nil, err
	}
	a.tell("gradients pass through the host between GPUs: %v\n", err)
	return cuda.Staged(driver, r.World), nil
}

// OpenGPU opens the machine's driver and a GPU by its number, or a test's substitute. A
// launcher may show each rank only one GPU, which then has number 0.
func (a App) OpenGPU(number int) (cuda.Driver, error) {
	if a.GPU != nil {
		return a.GPU()
	}
	driver, err := libcuda.Open(libcuda.Options{Device: number})
	if number > 0 && errors.Is(err, cuda.ErrUnavailable) {
		return libcuda.Open(libcuda.Options{})
	}
	return driver, err
}
