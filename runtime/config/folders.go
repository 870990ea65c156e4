package config

import (
	"slices"
	"strings"
)

// The folders of a run directory. Its stages have folders of their own names beside them.
const (
	CheckpointFolder = "ckpt"       // what package train saves
	ResultFolder     = "eval"       // what tests say
	LaunchFolder     = "launch"     // what mlc train --launcher writes for the tasks that it leaves to others
	PlotFolder       = "plots"      // what mlc plot draws
	FilesFolder      = "spec-files" // the files that the spec reads
)

// IsFolder reports whether a run directory has a folder of that name, upper and lower case
// being the same: no stage can have the name. A name of its files has a dot or a hyphen,
// which no name of a stage has.
func IsFolder(name string) bool {
	return slices.ContainsFunc([]string{CheckpointFolder, ResultFolder, LaunchFolder, PlotFolder, FilesFolder}, func(folder string) bool {
		return strings.EqualFold(name, folder)
	})
}
