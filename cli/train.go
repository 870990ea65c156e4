package cli

import (
	"os"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/cli/train"
	"github.com/arithlang/mlc/mlflow"

	ranks "github.com/arithlang/mlc/runtime/comm/launch"
)

// trainCmd is the verb train.
type trainCmd struct {
	train.Line `embed:""`
}

// Help is printed below the usage.
func (trainCmd) Help() string {
	return `In a sweep, all trainings run one after another, or the ones that --point chooses: by
values of the axes, by number from 1, or by name. Each has its own run directory; with
--out DIR it is DIR/NAME, even for a single training. --resume skips finished trainings
and continues the rest, but leaves running ones to their processes. It finds runs by their
spec, seed and budget, under any name. A flag must not set an axis of the sweep, as --seed
sets train.seed. A table of all results comes last.

  --jobs N          runs N trainings at a time, each with its share of the cores
  --dry-run         trains nothing; prints what would be trained, how long, and the memory
  --collect         trains nothing; prints the table, with the progress of other trainings
  --launcher slurm  submits an array job to Slurm, of which --jobs N run at a time;
                    --sbatch '-p gpu -t 4:00:00': options for sbatch
  --launcher print  prints a command for each training, for GNU parallel and others
  --launcher kubernetes
                    prints the manifest of an Indexed Job
Launched trainings resume existing runs, and need neither Go nor mlc (docs/cluster.md).

With --device sim, mlc itself trains, on a simulated GPU, and builds nothing. Without a go
command it trains on a GPU itself, too, with --device cuda.

Without FILE, --resume --out RUN resumes a run from its own spec.

In a Go module that requires mlc, the program is written to generated/ and its binary to bin/.
Anywhere else both are kept in mlc's cache, which MLC_CACHE names.

Examples:
  mlc train specs/successor.arith
  mlc train specs/successor.arith --seed 3 --steps 500 --out runs/trial
  mlc train specs/successor.arith --set model.width=32
  mlc train specs/small/embeddings.arith --point embedding=abacus,seed=1
  mlc train specs/bias/table1.arith --resume
  mlc train specs/bias/table1.arith --launcher slurm --jobs 8 --sbatch '-t 4:00:00 -c 8'`
}

// Run builds the trainer and becomes it.
func (c *trainCmd) Run(b *build.Builder) error {
	if l, several, err := ranks.Find(os.Getenv); err == nil && several {
		return shell.Usagef("%s has started mlc as rank %d of %d, and each rank would build the trainer: run mlc build once, then start the binary as ranks: mpirun -n %d bin/NAME train …",
			l.By, l.Rank, l.Size, l.Size)
	}
	if _, err := mlflow.FromEnvironment(); err != nil {
		return shell.Misused(err)
	}
	return c.Line.Run(b)
}
