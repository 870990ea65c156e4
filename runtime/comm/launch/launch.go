// Package launch finds out from the environment whether a launcher started this process as one
// of several ranks that train one model: mpirun, srun, torchrun and others set a rank and a
// number of ranks. Packages comm/mpi and cuda/nccl connect the ranks.
package launch

import (
	"fmt"
	"strconv"
)

// A Launch describes this process as its launcher does. A number that the launcher does not set
// is -1.
type Launch struct {
	By    string // the launcher, for people
	MPI   bool   // MPI libraries find the other ranks by themselves
	Rank  int
	Size  int
	Local int // number of this process among those of its machine
}

// A launcher is recognized by the variables that it sets.
type launcher struct {
	name              string
	mpi               bool
	rank, size, local []string // variables; the first that is set counts
}

// launchers are in the order in which they are tried: srun can start ranks of MPI, which then
// have MPI's variables, too.
var launchers = []launcher{
	{"torchrun", false, []string{"RANK"}, []string{"WORLD_SIZE"}, []string{"LOCAL_RANK"}},
	{"Open MPI's mpirun", true, []string{"OMPI_COMM_WORLD_RANK"}, []string{"OMPI_COMM_WORLD_SIZE"}, []string{"OMPI_COMM_WORLD_LOCAL_RANK"}},
	{"srun with PMIx", true, []string{"PMIX_RANK"}, []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, []string{"SLURM_LOCALID"}},
	{"MPICH's mpiexec or srun", true, []string{"PMI_RANK"}, []string{"PMI_SIZE"}, []string{"MPI_LOCALRANKID", "SLURM_LOCALID"}},
	{"srun", true, []string{"SLURM_PROCID"}, []string{"SLURM_STEP_NUM_TASKS"}, []string{"SLURM_LOCALID"}},
	{"a Job of Kubernetes", false, []string{"JOB_COMPLETION_INDEX"}, []string{"WORLD_SIZE"}, nil},
}

// Find reads the environment; ok is false if the process is the only one. The error names a
// variable that is not a number.
func Find(env func(string) string) (l Launch, ok bool, err error) {
	for _, k := range launchers {
		rank, given, err := number(env, k.rank)
		if err != nil {
			return l, false, err
		}
		size, sized, err := number(env, k.size)
		if err != nil {
			return l, false, err
		}
		if !given || !sized { // a script of sbatch has SLURM_PROCID but is not a rank
			continue
		}
		local, known, err := number(env, k.local)
		if err != nil {
			return l, false, err
		}
		if !known {
			local = -1
		}
		if rank >= size {
			return l, false, fmt.Errorf("%s has started rank %d of %d by %s and %s: ranks begin at 0", k.name, rank, size, k.rank[0], k.size[0])
		}
		return Launch{k.name, k.mpi, rank, size, local}, size > 1, nil
	}
	return l, false, nil
}

// number returns the value of the first variable that is set.
func number(env func(string) string, names []string) (n int, given bool, err error) {
	for _, name := range names {
		text := env(name)
		if text == "" {
			continue
		}
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			return 0, false, fmt.Errorf("%s is %.40q in the environment: want a whole number from 0 on", name, text)
		}
		return n, true, nil
	}
	return 0, false, nil
}
