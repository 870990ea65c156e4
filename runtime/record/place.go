package record

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/config"
)

// The places of files in a run directory, and of run directories. The package that writes a
// file knows the rest of its name: track for metrics, train for checkpoints, eval for results,
// calibrate for calibrations.

// File is the name of a record in its run directory.
const File = "run.json"

// SpecFile is the name of the resolved spec in a run directory.
const SpecFile = "spec.arith"

// ResultFolder is the folder of test results in a run directory.
const ResultFolder = config.ResultFolder

// LaunchFolder is the folder where mlc train --launcher writes files for its tasks. It is in
// the folder of a sweep's runs, or in the directory of a single run.
const LaunchFolder = config.LaunchFolder

// Path returns the path of the record in a run directory.
func Path(dir string) string { return filepath.Join(dir, File) }

// Results returns the directory of a test's result. The test that the spec asks for has folder
// "", other tests have a folder each.
func Results(dir, folder string) string { return filepath.Join(dir, ResultFolder, folder) }

// Runs returns the folder of a spec's run directories when no --out names one.
func Runs(name string) string { return filepath.Join("runs", name) }

// Dated returns the name of such a run directory. Runs that begin in the same second get a
// number in addition. For a zero time it returns a glob pattern.
func Dated(started time.Time, hash string) string {
	when := "????????-??????"
	if !started.IsZero() {
		when = started.Format("20060102-150405")
	}
	return when + "-" + hash[:min(8, len(hash))]
}

// Calibrated tells a calibration about the run that it is a stage of.
type Calibrated struct {
	Dir                     string // the stage's directory
	Name, SpecHash, Version string
	Seed                    uint64 // seed of the training whose attention is read
	InitSeed                *uint64
	Stage, From             string
	Uses                    func(site string) bool // reports whether a later stage uses a site's bias
	Begin                   func() error           // makes Dir, once attention is read
}

// TellVariable is the environment variable that names a file for the program that started a
// trainer. The trainer appends the directories of the runs that it trains, one a line.
const TellVariable = "MLC_RUNS_FILE"

// Tell appends a run directory to the file named by TellVariable, if it is set. Failing to
// write does not stop training.
func Tell(dir string) {
	path := os.Getenv(TellVariable)
	if path == "" {
		return
	}
	if f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, dir)
		f.Close()
	}
}
