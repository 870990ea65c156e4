package config

import (
	"slices"
	"strings"
)

// The folders of a run directory. Each stage has a folder by its name next to them.
const (
	CheckpointFolder = "ckpt"       // checkpoints of package train
	ResultFolder     = "eval"       // results of tests
	LaunchFolder     = "launch"     // files that mlc train --launcher writes for its tasks
	PlotFolder       = "plots"      // plots by mlc plot
	FilesFolder      = "spec-files" // files that the spec reads
)

// IsFolder reports whether a run directory has a folder of that name, ignoring case: no stage
// can have the name. Names of its files have a dot or a hyphen, which no stage name has.
func IsFolder(name string) bool {
	return slices.ContainsFunc([]string{CheckpointFolder, ResultFolder, LaunchFolder, PlotFolder, FilesFolder}, func(folder string) bool {
		return strings.EqualFold(name, folder)
	})
}
