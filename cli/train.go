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
	return `In a sweep, all trainings run in turn, or those that --point chooses: by values of the
axes, by number from 1, or by name. Each has its own run directory, with --out DIR
DIR/NAME, also where only one is chosen. --resume skips finished trainings, even if a run
of the same spec under another name did them, continues the rest, and leaves to other
processes what they are training; runs with another seed or budget do not count. A flag
that sets what an axis sets, as --seed does train.seed, is refused. A table of all results
comes last.

  --jobs N          makes N trainings at a time, each with its share of the cores
  --collect         trains nothing: prints the table, and how far the others are
  --launcher slurm  submits one array of Slurm, of which --jobs N run at a time;
                    --sbatch '-p gpu -t 4:00:00': options for sbatch
  --launcher print  prints a command for each training, for GNU parallel and others
  --launcher kubernetes
                    prints the manifest of an Indexed Job
What is launched goes on with what is there, and needs neither Go nor mlc (docs/cluster.md).

With --device sim, mlc itself trains, on a simulated GPU, and builds nothing.

Without FILE, --resume --out RUN goes on with a run, from the spec in it.

In a Go module that has mlc, the program is written to generated/ and its binary to bin/.
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
		return shell.Usagef("%s has started mlc as rank %d of %d, and each would build the trainer: run mlc build once, then start its binary as ranks, as in mpirun -n %d bin/NAME train …",
			l.By, l.Rank, l.Size, l.Size)
	}
	if _, err := mlflow.FromEnvironment(); err != nil {
		return shell.Misused(err)
	}
	return c.Line.Run(b)
}
