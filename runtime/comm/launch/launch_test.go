package launch

import (
	"strings"
	"testing"
)

// TestFind reads the variables of Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0, Slurm 22.05 and
// PyTorch 2.
func TestFind(t *testing.T) {
	for text, want := range map[string]Launch{
		"":                       {},
		"SLURM_JOB_ID=7":         {},
		"RANK=1":                 {}, // set by another program
		"JOB_COMPLETION_INDEX=3": {}, // part of a sweep
		"SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0":                                                       {}, // in a script of sbatch
		"RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=a MASTER_PORT=1":                                                       {"torchrun", false, 3, 4, 1},
		"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_RANK=2":                             {"Open MPI's mpirun", true, 2, 8, 0},
		"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 PMI_FD=5":                                                                   {"MPICH's mpiexec or srun", true, 1, 2, 1},
		"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_LOCALID=0":                                               {"srun", true, 1, 2, 0},
		"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_LOCALID=0 PMI_RANK=1 PMI_SIZE=2":                         {"MPICH's mpiexec or srun", true, 1, 2, 0},
		"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1":                      {"MPICH's mpiexec or srun", true, 3, 4, 1}, // mpiexec, which uses srun to reach other machines
		"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=1 PMIX_RANK=1":                                                  {"srun with PMIx", true, 1, 2, 1},
		"JOB_COMPLETION_INDEX=3 WORLD_SIZE=4":                                                                                {"a Job of Kubernetes", false, 3, 4, -1},
		"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1 SLURM_LOCALID=0 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2": {"Open MPI's mpirun", true, 0, 2, -1},
	} {
		got, ok, err := Find(environment(text))
		if err != nil || got != want || ok != (want != Launch{}) {
			t.Errorf("%s: %+v, %v, %v; want %+v", text, got, ok, err, want)
		}
	}
	if _, ok, err := Find(environment("PMI_RANK=0 PMI_SIZE=1")); ok || err != nil {
		t.Errorf("a single rank: %v, %v", ok, err)
	}
	for text, want := range map[string]string{
		"PMI_RANK=x PMI_SIZE=2": `PMI_RANK is "x"`,
		"RANK=2 WORLD_SIZE=2":   "rank 2 of 2",
	} {
		if _, _, err := Find(environment(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func environment(text string) func(string) string {
	all := map[string]string{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}
