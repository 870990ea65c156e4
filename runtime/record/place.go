package record

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/config"
)

// Where things are in a run directory, and where run directories are. Who writes a file
// knows the rest of its name: package track of metrics, train of checkpoints, eval of
// results, calibrate of what a calibration leaves.

// File is the name of a record in its run directory.
const File = "run.json"

// SpecFile is the name of the resolved spec in a run directory.
const SpecFile = "spec.arith"

// ResultFolder is the folder of what tests say, in a run directory.
const ResultFolder = config.ResultFolder

// LaunchFolder is the folder of what mlc train --launcher writes for the tasks that it leaves
// to others: in the folder of the runs of a sweep, and in a run directory that is alone.
const LaunchFolder = config.LaunchFolder

// Path is the record of a run directory.
func Path(dir string) string { return filepath.Join(dir, File) }

// Results is where the result of a test is: of what the spec asks for, or of something
// else in a folder of its own.
func Results(dir, folder string) string { return filepath.Join(dir, ResultFolder, folder) }

// Runs is the folder of the run directories of a spec that nobody has named.
func Runs(name string) string { return filepath.Join("runs", name) }

// Dated is what such a run directory is called, but for a number where several begin in
// a second. As a pattern it has the zero time.
func Dated(started time.Time, hash string) string {
	when := "????????-??????"
	if !started.IsZero() {
		when = started.Format("20060102-150405")
	}
	return when + "-" + hash[:min(8, len(hash))]
}

// Calibrated is what a calibration has to know of the run that it is a stage of.
type Calibrated struct {
	Dir                     string // of the stage
	Name, SpecHash, Version string
	Seed                    uint64 // of the training whose attention is read
	InitSeed                *uint64
	Stage, From             string
	Uses                    func(site string) bool // whether a later stage wants a site's bias
	Begin                   func() error           // makes Dir, once attention is read
}

// TellVariable names a file, for the program that has started a trainer: the trainer adds the
// directories of the runs that it trains, a line each.
const TellVariable = "MLC_RUNS_FILE"

// Tell adds a run directory to that file, if there is one. Training does not fail because of
// it.
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
